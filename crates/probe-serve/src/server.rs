//! A simulated host.

use crate::ended::Ended;
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
    /// The next of its connections that has ended. A host without connections of its own keeps no account.
    fn poll_ended(&mut self) -> Option<Ended> {
        None
    }
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

    fn poll_ended(&mut self) -> Option<Ended> {
        (**self).poll_ended()
    }
}
