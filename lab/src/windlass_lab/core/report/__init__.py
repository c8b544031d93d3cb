"""The pages of a result."""
