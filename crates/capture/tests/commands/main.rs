//! Real commands in a capture, whose far ends are sockets of a namespace of the test's own. Needs root,
//! as the rootless tests do to make a device that every user may open.

#![cfg(target_os = "linux")]

mod bed;
mod connections;
mod life;
mod programs;
mod rootless;
