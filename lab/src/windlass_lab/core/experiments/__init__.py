"""Experiments as data, their reference figures, and how they are judged."""
