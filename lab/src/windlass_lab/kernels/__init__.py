"""How kernels answer split ACKs: each controller, and each setting of their TCP."""
