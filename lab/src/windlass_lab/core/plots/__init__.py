"""Plots of results: what is drawn, and its CSV."""
