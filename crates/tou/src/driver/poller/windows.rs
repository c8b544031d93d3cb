//! Windows: the thread waits for all ports with poll, and a datagram wakes it. Other ways to wait
//! for many sockets there require asynchronous reads and writes.

use super::Readiness;
use crate::loopback;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;

/// All ports.
pub(in super::super) const POLLED_MAX: usize = usize::MAX;

/// Wakes the thread.
pub(in super::super) struct Registry(UdpSocket);

/// The thread's side of it.
pub(in super::super) struct Rest(UdpSocket);

/// Both sides.
pub(in super::super) fn rest() -> io::Result<(Registry, Rest)> {
    let (sender, receiver) = loopback::pair()?;
    Ok((Registry(sender), Rest(receiver)))
}

impl Registry {
    pub(in super::super) fn add(&self, _: &UdpSocket, index: usize) -> io::Result<()> {
        unreachable!("port {index} is waited for with poll")
    }

    pub(in super::super) fn set_wants_writable(
        &self,
        _: &UdpSocket,
        index: usize,
        _: bool,
    ) -> io::Result<()> {
        unreachable!("port {index} is waited for with poll")
    }

    pub(in super::super) fn remove(&self, _: &UdpSocket) -> io::Result<()> {
        Ok(())
    }

    pub(in super::super) fn wake(&self) -> io::Result<()> {
        self.0.send(&[0]).map(|_| ())
    }
}

impl Rest {
    /// Readable if the thread is to wake up.
    pub(super) fn pollable(&self) -> &UdpSocket {
        &self.0
    }

    /// Takes what woke the thread. No port is here.
    pub(super) fn collect(&mut self, _: &mut Vec<Readiness>) -> io::Result<()> {
        let mut byte = [0];
        loop {
            match self.0.recv(&mut byte) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}
