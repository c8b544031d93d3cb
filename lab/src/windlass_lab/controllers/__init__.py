"""Traces of the congestion controllers of kernels, for `windlass probe --cca`."""
