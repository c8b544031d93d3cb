//! Events that wake the daemon: signals, changes of interfaces, requests to stop. A thread waits for
//! each kind.

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::sys::signal::{SigSet, Signal};
use std::io;
use std::sync::mpsc::Sender;
use std::thread;

/// An event for the main thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// SIGTERM or SIGINT arrived.
    Terminate,
    /// SIGHUP arrived: reload the configuration.
    Reload,
    /// An interface was added, removed or changed.
    LinksChanged,
    /// A client asked the daemon to stop.
    Stop,
}

/// RTMGRP_LINK of linux/rtnetlink.h.
const LINK_GROUP: u32 = 1;

/// Blocks the signals, so that they do not end the process. Call it before starting threads, which
/// inherit the mask.
pub(super) fn block_signals() -> io::Result<()> {
    Ok(signals().thread_block()?)
}

fn signals() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect()
}

/// Sends an event for each signal.
pub(super) fn watch_signals(events: Sender<Event>) -> io::Result<()> {
    let watch = move || {
        while let Ok(signal) = signals().wait() {
            let event = match signal {
                Signal::SIGHUP => Event::Reload,
                _ => Event::Terminate,
            };
            if events.send(event).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(watch).map(drop)
}

/// Sends an event when interfaces of this network namespace change.
pub(super) fn watch_links(events: Sender<Event>) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind(&SocketAddr::new(0, LINK_GROUP))?;
    let watch = move || {
        let mut buffer = Vec::with_capacity(1 << 16);
        loop {
            buffer.clear();
            match socket.recv(&mut buffer, 0) {
                // ENOBUFS: messages were lost, so something has changed.
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {}
                Err(_) => return,
            }
            if events.send(Event::LinksChanged).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("links".into()).spawn(watch).map(drop)
}
