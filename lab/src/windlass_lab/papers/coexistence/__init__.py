"""Pairs of congestion controllers on one bottleneck: who shares with whom."""
