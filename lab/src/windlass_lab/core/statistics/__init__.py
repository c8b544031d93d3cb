"""Measured quantities: estimates, intervals, bounds, ratios."""
