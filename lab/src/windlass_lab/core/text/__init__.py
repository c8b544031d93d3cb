"""Numbers, tables and verdicts as text."""
