"""Surveys of `windlass probe survey`: read, compared and shown on a page."""
