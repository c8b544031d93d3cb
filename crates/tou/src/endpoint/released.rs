//! Connections that the application has released: whether they still deliver, and whether their port
//! can be used again. `driver::drain` and the port ask.

use super::Endpoint;
use windlass_tcp::State;

impl<Data: Default> Endpoint<Data> {
    /// Whether a [released](Endpoint::release) connection has data or a FIN that the peer has not
    /// acknowledged.
    pub(crate) fn is_delivering(&self) -> bool {
        self.slots.iter().filter(|(_, slot)| slot.released).any(|(_, slot)| {
            let connection = slot.stream.connection();
            match connection.state() {
                State::FinWait2 | State::TimeWait | State::Closed => false,
                State::SynSent => connection.bytes_written() > 0,
                _ => true,
            }
        })
    }

    /// Whether all connections are released, in TIME-WAIT, and use timestamps. Timestamps
    /// distinguish their segments from those of a later connection.
    pub(crate) fn is_in_time_wait(&self) -> bool {
        self.slots.iter().all(|(_, slot)| {
            let connection = slot.stream.connection();
            let waits = connection.state() == State::TimeWait;
            slot.released && waits && connection.timestamps_negotiated()
        })
    }

    /// Removes all released connections, in any state, without notifying their peers.
    pub(crate) fn forget_released(&mut self) {
        let released = self.slots.iter().filter(|(_, slot)| slot.released);
        for key in released.map(|(key, _)| key).collect::<Vec<_>>() {
            self.ready.retain(|other| *other != key);
            self.remove(key);
        }
    }
}
