"""The ECN proxy paper: all tests of its section 4.2.1, simulated or on real kernels."""
