"""Experiments on real kernels: topologies of network namespaces, programs in them, the kernel's
TCP state sampled, results as the files that the simulator writes.
"""
