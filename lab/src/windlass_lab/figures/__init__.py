"""The commands `windlass-lab plot` and `windlass-lab compare`."""
