"""The papers that the lab repeats, a package each."""
