//! Connections that their application has left.

use super::Endpoint;
use windlass_tcp::State;

impl<Data: Default> Endpoint<Data> {
    /// Some of what was written to a [released](Endpoint::release) connection, or its FIN, has not
    /// been acknowledged.
    pub fn is_delivering(&self) -> bool {
        self.slots.iter().filter(|(_, slot)| slot.released).any(|(_, slot)| {
            let connection = slot.stream.connection();
            match connection.state() {
                State::FinWait2 | State::TimeWait | State::Closed => false,
                State::SynSent => connection.bytes_written() > 0,
                _ => true,
            }
        })
    }

    /// All there is are released connections in TIME-WAIT whose timestamps tell their segments from
    /// those of a next one.
    pub fn is_in_time_wait(&self) -> bool {
        self.slots.iter().all(|(_, slot)| {
            let connection = slot.stream.connection();
            let waits = connection.state() == State::TimeWait;
            slot.released && waits && connection.timestamps_negotiated()
        })
    }

    /// Forgets all released connections, TIME-WAIT or not. Their peers hear nothing of it.
    pub fn forget_released(&mut self) {
        let released = self.slots.iter().filter(|(_, slot)| slot.released);
        for key in released.map(|(key, _)| key).collect::<Vec<_>>() {
            self.ready.retain(|other| *other != key);
            self.remove(key);
        }
    }
}
