"""Experiments behind Windlass: run them, hold them against what was published, write a report."""

__version__ = "0.2.0"
