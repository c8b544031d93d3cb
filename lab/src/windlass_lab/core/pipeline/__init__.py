"""A run of `windlass-lab reproduce`: options, runs, the result document."""
