//! Servers for the tests: those of the library, and some that only tests need.

use std::sync::Arc;
use windlass_tcp::cc::Reno;
use windlass_tcp::{Config, Profile};

pub(crate) fn redirect(to: &str) -> Vec<u8> {
    let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    head.into_bytes()
}

/// A server's configuration: a profile with this initial window, in segments.
pub(crate) fn config(profile: Profile, initial_window: u32) -> Config {
    profile.config(1460, Arc::new(Reno)).with(|c| {
        c.window.initial = initial_window;
        c.sending.nagle = false;
        c.buffers.send = 1 << 20;
        c.buffers.receive = 64 << 10;
    })
}
