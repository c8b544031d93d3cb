"""Split ACKs: R. E. G. Normann, A Client-side Split ACK Tool, 2011; web servers probed."""
