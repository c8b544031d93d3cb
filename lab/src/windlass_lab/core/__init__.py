"""Shared by all experiments: the model, runs of the binary, verdicts, plots, the report."""
