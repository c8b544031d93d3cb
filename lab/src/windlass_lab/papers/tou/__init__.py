"""The ToU paper: its section 5.2, ToU beside the kernel's TCP on the same path."""
