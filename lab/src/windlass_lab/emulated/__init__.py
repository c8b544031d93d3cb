"""Programs of the lab in an emulated machine with another kernel: scripts/with-kernel."""
