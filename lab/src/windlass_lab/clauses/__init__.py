"""Judges congestion controllers in Python by the clauses of RFCs and drafts."""
