"""ToU and the kernel's TCP on one link: how they share it."""
