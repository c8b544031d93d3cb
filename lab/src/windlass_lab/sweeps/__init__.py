"""Sweeps: one scenario with many values of some of its keys."""
