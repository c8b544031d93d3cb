"""Pairs of congestion controllers on one bottleneck: their shares, and the harm they do."""
