"""Web servers on real TCP stacks, measured with `windlass probe`."""
