//! Evaluates a congestion controller by the criteria of RFC 9743, in the simulator.
