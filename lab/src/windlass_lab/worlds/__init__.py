"""One scenario in several worlds: the simulator, this kernel's TCP, and ToU."""
