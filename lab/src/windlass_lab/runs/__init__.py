"""Runs of the reader's own scenarios: simulated from Python, or read from `--out` directories."""
