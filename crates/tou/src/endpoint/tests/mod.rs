//! Endpoints in virtual time, over a network of the test's own.

mod cookies;
mod life;
mod network;
mod random;
mod strangers;
