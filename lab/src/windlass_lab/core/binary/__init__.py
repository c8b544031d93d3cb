"""The binary `windlass`: its place, its command line, its output."""
