//! Memory of the buffers of all connections. An advertised window counts as memory, since the peer
//! may fill it.

use super::Endpoint;

impl<Data: Default> Endpoint<Data> {
    /// Bytes in the buffers of all connections, counting advertised windows as if they were full.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The limit is reached: no buffer grows, and no connection begins.
    pub(super) fn is_short_of_memory(&self) -> bool {
        self.memory >= self.limits.memory
    }

    /// Stops the buffers of a connection from growing while memory is short, and releases them after.
    pub(super) fn limit_growth(&mut self, key: usize) {
        let short = self.is_short_of_memory();
        let slot = &mut self.slots[key];
        if short || slot.growth_held {
            slot.stream.hold_buffers(short);
            slot.growth_held = short;
        }
    }

    /// Updates the memory count of a connection. Frees its empty buffers if memory is short or the
    /// connection is over.
    pub(super) fn account(&mut self, key: usize) {
        let short = self.is_short_of_memory();
        let slot = &mut self.slots[key];
        if short || slot.is_over() {
            slot.stream.release_buffers();
        }
        let memory = slot.stream.memory();
        self.memory = self.memory - slot.memory + memory;
        slot.memory = memory;
        self.limit_growth(key);
    }
}
