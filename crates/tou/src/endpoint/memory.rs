//! What the buffers of all connections take together. A window is a promise of a buffer, and counts
//! as one.

use super::Endpoint;

impl<Data: Default> Endpoint<Data> {
    /// Bytes that the buffers of all connections take, or must take if all peers use their windows.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// There is none left: nothing grows, and no connection begins.
    pub(super) fn is_short_of_memory(&self) -> bool {
        self.memory >= self.limits.memory
    }

    /// A connection may be about to grow: not while memory is short.
    pub(super) fn limit_growth(&mut self, key: usize) {
        let short = self.is_short_of_memory();
        let slot = &mut self.slots[key];
        if short || slot.growth_held {
            slot.stream.hold_buffers(short);
            slot.growth_held = short;
        }
    }

    /// A connection has perhaps grown. Buffers in which nothing is go, where they are needed or the
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
