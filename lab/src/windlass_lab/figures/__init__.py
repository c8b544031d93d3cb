"""The command `windlass-lab plot`: figures of runs and of studies."""
