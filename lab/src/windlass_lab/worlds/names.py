"""The names of the worlds."""

SIM, KERNEL, TOU = "sim", "kernel", "tou"
WORLDS = (SIM, KERNEL, TOU)
TITLES = {SIM: "simulator", KERNEL: "kernel", TOU: "ToU"}
