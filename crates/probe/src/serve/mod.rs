//! Simulated web servers for tests of the probe, without I/O: the engine with the slow start of a named
//! stack, hosts that do not answer, and a network of any number of them.
//! [`linux::serve`](crate::linux::serve) puts one behind a TUN device.

mod answer;
mod engine;
mod network;
mod page;
mod population;
mod raw;
mod stack;

pub use answer::{Answer, Outgoing};
pub use engine::EngineServer;
pub use network::Network;
pub use page::{Says, Speaker, page, says};
pub use population::{Spec, draw_controllers, generate, read, write};
pub use raw::Raw;
pub use stack::{FREEBSD_7_PACKETS, Stack, WINDOWS_2003_FLIGHT};

use windlass_base::Time;

/// A simulated host, driven by packets and time.
pub trait Server {
    /// Takes a packet that has arrived.
    fn handle_packet(&mut self, now: Time, packet: &[u8]);
    /// The next packet that it sends.
    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>>;
    /// The time of the next call of [`Server::handle_timeout`].
    fn poll_timeout(&self) -> Option<Time>;
    /// To be called when the time that [`Server::poll_timeout`] returned has come.
    fn handle_timeout(&mut self, now: Time);
}

impl<S: Server + ?Sized> Server for Box<S> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        (**self).handle_packet(now, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        (**self).poll_packet(now)
    }

    fn poll_timeout(&self) -> Option<Time> {
        (**self).poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        (**self).handle_timeout(now);
    }
}
