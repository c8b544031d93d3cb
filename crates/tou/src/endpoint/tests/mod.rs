//! Endpoints in virtual time, over a simulated network.

mod accecn;
mod acks;
mod cookies;
mod half_close;
mod life;
mod memory;
mod network;
mod path_mtu;
mod random;
mod receive_buffer;
mod rtt_samples;
mod sessions;
mod unmatched;
