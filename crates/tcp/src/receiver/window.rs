//! The window field of outgoing segments, and the edge beyond which `conn::validate` takes nothing.

use crate::segment::wire::MAX_WINDOW_SHIFT;

/// The window that this end announces (RFC 9293 §3.8.6, RFC 7323 §2).
#[derive(Clone, Debug)]
pub(crate) struct ReceiveWindow {
    /// Bytes that may wait for the application.
    buffer: u64,
    /// No more than this is announced beyond what has arrived.
    limit: u64,
    /// Shift of the window field; 0 until scaling is agreed.
    shift: u8,
    /// Right edge announced so far: it never moves back, and nothing beyond it is taken.
    edge: u64,
    /// The last window field and its inputs: an end that sends data repeats the field often.
    last: LastField,
}

/// A window field and the positions for which it was computed.
#[derive(Copy, Clone, Debug, Default)]
struct LastField {
    nxt: u64,
    read: u64,
    field: u16,
}

/// The smallest shift that lets a 16-bit field announce `buffer` bytes.
pub(crate) fn shift_for(buffer: u64) -> u8 {
    (0..MAX_WINDOW_SHIFT)
        .find(|shift| buffer >> shift <= u64::from(u16::MAX))
        .unwrap_or(MAX_WINDOW_SHIFT)
}

impl ReceiveWindow {
    pub(crate) fn new(buffer: u64) -> ReceiveWindow {
        let edge = 1 + buffer.min(u64::from(u16::MAX));
        // No ACK has the number 0, so the default matches none.
        ReceiveWindow { buffer, limit: u64::MAX, shift: 0, edge, last: LastField::default() }
    }

    /// Sets the shift of the window field, once both ends have offered scaling.
    pub(crate) fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
        self.last = LastField::default();
    }

    /// Limits the announced window to `bytes`; a larger one announced before stays valid.
    pub(crate) fn set_limit(&mut self, bytes: u64) {
        if self.limit != bytes {
            self.limit = bytes;
            self.last = LastField::default();
        }
    }

    /// Sets the limit before this end has announced a window, so that the first window obeys it
    /// too.
    pub(crate) fn begin_with_limit(&mut self, bytes: u64) {
        self.set_limit(bytes);
        self.edge = 1 + u64::from(self.syn_field());
    }

    /// Sets the buffer to `bytes`; the window announced so far stays valid.
    pub(crate) fn set_buffer(&mut self, bytes: u64) {
        if self.buffer != bytes {
            self.buffer = bytes;
            self.last = LastField::default();
        }
    }

    /// The right edge: the first position that the peer may not send.
    pub(crate) fn edge(&self) -> u64 {
        self.edge
    }

    /// The window field of a SYN, which is never scaled (RFC 7323 §2.2).
    pub(crate) fn syn_field(&self) -> u16 {
        self.buffer.min(self.limit).min(u64::from(u16::MAX)) as u16
    }

    /// The window field of an ACK for `nxt` while the application has read up to `read`; moves the
    /// edge if the step is large enough to announce.
    pub(crate) fn field(&mut self, nxt: u64, read: u64, mss: u32) -> u16 {
        if self.last.nxt != nxt || self.last.read != read {
            self.last = LastField { nxt, read, field: self.new_field(nxt, read, mss) };
        }
        self.last.field
    }

    fn new_field(&mut self, nxt: u64, read: u64, mss: u32) -> u16 {
        if let Some(edge) = self.worthwhile_edge(nxt, read, mss) {
            self.edge = edge;
            return ((edge - nxt) >> self.shift) as u16;
        }
        // Rounded up, since rounding down would shrink the announced window. But not
        // beyond the buffer: a peer that sends a few bytes at a time would move the edge ever
        // further beyond it. There the window falls by less than a unit, as RFC 7323 §2.4 allows.
        let window = self.edge.saturating_sub(nxt);
        let unit = 1u64 << self.shift;
        let rounded_up = (window + (unit - 1)) >> self.shift << self.shift;
        let fits = nxt + rounded_up <= read + self.buffer;
        let field = if fits { rounded_up } else { window } >> self.shift;
        let field = field.min(u64::from(u16::MAX));
        self.edge = self.edge.max(nxt + (field << self.shift));
        field as u16
    }

    /// True if the window can open enough to justify an ACK that is sent for this purpose alone.
    pub(crate) fn update_due(&self, nxt: u64, read: u64, mss: u32) -> bool {
        let announced = self.edge.saturating_sub(nxt);
        // RFC 9293 §3.8.6.2.2: half of the buffer, or a full segment.
        let threshold = (self.buffer.min(self.limit) / 2).max(u64::from(mss));
        self.worthwhile_edge(nxt, read, mss)
            .is_some_and(|edge| announced < u64::from(mss) || edge - self.edge >= threshold)
    }

    /// The edge that the buffer allows, if it is ahead of the announced one by a segment or half
    /// the buffer: receiver's avoidance of silly windows (RFC 9293 §3.8.6.2.2).
    fn worthwhile_edge(&self, nxt: u64, read: u64, mss: u32) -> Option<u64> {
        let free = (read + self.buffer).saturating_sub(nxt).min(self.limit);
        let edge = nxt + ((free >> self.shift).min(u64::from(u16::MAX)) << self.shift);
        let step = u64::from(mss).min(self.buffer / 2).max(1);
        (edge >= self.edge + step).then_some(edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shifts_of_rfc7323() {
        assert_eq!([shift_for(0), shift_for(65535), shift_for(65536)], [0, 0, 1]);
        assert_eq!(shift_for(4 << 20), 7);
        assert_eq!(shift_for(u64::MAX), MAX_WINDOW_SHIFT);
    }

    #[test]
    fn a_reader_of_small_bites_opens_no_silly_window() {
        let mut window = ReceiveWindow::new(1000);
        let full = 1001;
        assert_eq!(window.field(full, 1, 100), 0);
        assert_eq!(window.field(full, 60, 100), 0, "less than a segment");
        assert!(!window.update_due(full, 60, 100));
        assert!(window.update_due(full, 101, 100));
        assert_eq!(window.field(full, 101, 100), 100);
    }

    /// A window of less than a segment keeps most senders from sending (RFC 9293 section 3.8.6.2.1),
    /// so it is worth an ACK to open it by a segment, though half the buffer is not free.
    #[test]
    fn a_window_below_a_segment_is_opened_as_soon_as_a_segment_fits() {
        let mut window = ReceiveWindow::new(10_000);
        assert_eq!(window.field(1, 1, 1000), 10_000);
        assert_eq!(window.field(9501, 1, 1000), 500);
        assert!(!window.update_due(9501, 600, 1000), "less than a segment more");
        assert!(window.update_due(9501, 1001, 1000));
        // With room for a segment the sender goes on, and half the buffer is waited for.
        assert_eq!(window.field(9501, 1001, 1000), 1500);
        assert!(!window.update_due(9501, 3001, 1000));
        assert!(window.update_due(9501, 6001, 1000));
    }

    #[test]
    fn half_of_a_buffer_smaller_than_two_segments_is_worth_announcing() {
        let mut window = ReceiveWindow::new(1000);
        let full = 1001;
        assert_eq!(window.field(full, 1, 2000), 0);
        assert_eq!(window.field(full, 500, 2000), 0);
        assert_eq!(window.field(full, 501, 2000), 500);
    }

    #[test]
    fn a_scaled_window_closes_even_if_nothing_is_read() {
        let mut window = ReceiveWindow::new(100_000);
        window.set_shift(7);
        window.field(1, 1, 1000);
        let mut nxt = 1;
        while nxt < window.edge() {
            nxt = (nxt + 1).min(window.edge());
            window.field(nxt, 1, 1000);
            assert!(nxt <= 200_000, "every ACK announces more");
        }
        assert_eq!((nxt, window.field(nxt, 1, 1000)), (100_001, 0));
    }

    #[test]
    fn a_limit_shrinks_the_window_only_as_data_arrives() {
        let mut window = ReceiveWindow::new(60_000);
        assert_eq!(window.field(1, 1, 1000), 60_000);
        window.set_limit(5000);
        assert_eq!(window.field(1, 1, 1000), 60_000, "what was announced may be on its way");
        assert_eq!(window.field(50_001, 50_001, 1000), 10_000);
        assert_eq!(window.field(58_001, 58_001, 1000), 5000);
        // The application has read data, but the limit leaves no larger window to announce.
        assert!(!window.update_due(58_001, 58_001, 1000));
        window.set_limit(u64::MAX);
        assert_eq!(window.field(58_001, 58_001, 1000), 60_000);
    }

    #[test]
    fn a_limit_before_the_handshake_holds_for_its_window() {
        let mut window = ReceiveWindow::new(1 << 20);
        window.begin_with_limit(20_000);
        assert_eq!((window.syn_field(), window.edge()), (20_000, 20_001));
    }

    proptest! {
        #[test]
        fn the_right_edge_never_moves_back(
            buffer in 0u64..300_000, shift in 0u8..5,
            steps in proptest::collection::vec((0u64..5000, 0u64..5000, 200u64..9000), 1..50),
        ) {
            let mut window = ReceiveWindow::new(buffer);
            window.set_shift(shift);
            let (mut nxt, mut read) = (1, 1);
            for (arrived, taken, limit) in steps {
                window.set_limit(limit);
                nxt = (nxt + arrived).min(window.edge());
                read = (read + taken).min(nxt);
                let before = window.edge();
                let field = window.field(nxt, read, 100);
                prop_assert!(window.edge() >= before);
                let again = window.new_field(nxt, read, 100);
                prop_assert_eq!(again, field, "the same field may be announced again");
                // Rounding a scaled window shrinks it by less than its granularity.
                let announced = nxt + (u64::from(field) << shift);
                prop_assert!(announced <= window.edge().max(nxt));
                prop_assert!(announced + (1 << shift) > window.edge());
                prop_assert!(window.edge() <= read + buffer);
            }
        }
    }
}
