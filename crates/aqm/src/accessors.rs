//! Methods of [`Queue`](crate::Queue) that disciplines with one FIFO have in common.

/// The accessors of [`Queue`](crate::Queue) for a discipline with one FIFO: a `Fifo` in the field
/// `fifo` and `Stats` in the field `stats`.
macro_rules! fifo_accessors {
    () => {
        fn len_packets(&self) -> usize {
            self.fifo.len()
        }

        fn len_bytes(&self) -> u64 {
            self.fifo.bytes()
        }

        fn stats(&self) -> &crate::Stats {
            &self.stats
        }
    };
}

/// The `dequeue` of [`Queue`](crate::Queue) for a discipline that decides on arrival only, with the
/// same fields.
macro_rules! fifo_dequeue {
    () => {
        fn dequeue(
            &mut self,
            _now: Time,
            _rng: &mut Rng,
            _dropped: &mut impl FnMut(P, DropReason),
        ) -> Option<P> {
            let packet = self.fifo.pop()?;
            self.stats.dequeue(&packet);
            Some(packet)
        }
    };
}
