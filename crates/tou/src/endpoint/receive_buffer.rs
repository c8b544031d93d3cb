//! Shares the UDP socket's receive buffer among the connections that use it.
//!
//! A full buffer drops datagrams although the path is not congested. Therefore no connection
//! advertises a larger window than its share. On a long path most of a window is in flight and not
//! in the buffer. The buffer only has to hold the data that arrives while the I/O thread is delayed.

use windlass_base::{Span, Time};
use windlass_tcp::Connection;

/// A peer that sent in the current or the previous epoch counts as a user of the buffer.
const EPOCH: Span = Span::from_millis(100);
/// The longest expected delay of the I/O thread, which empties the buffer.
const IO_DELAY_MAX: Span = Span::from_millis(2);
/// The smallest share in segments, even if the buffer is too small for all shares. Windows of a few
/// segments cost several times the CPU time per byte.
const SHARE_SEGMENTS_MIN: u64 = 16;
/// A share in bytes that costs little more CPU time per byte than a large one.
const SHARE_WANTED: u64 = 32 << 10;
/// The advertised window in segments before any data has arrived: twice an initial window of ten, as
/// in Linux. Thousands of idle connections may begin to send together.
const INITIAL_SEGMENTS: u64 = 20;

/// The receive buffer and the number of its users.
#[derive(Debug)]
pub(super) struct SharedReceiveBuffer {
    bytes: u64,
    epoch: u32,
    began: Time,
    users: u32,
    users_before: u32,
}

/// A connection's share of the buffer.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Share {
    /// The epoch in which its peer last sent data.
    epoch: u32,
    /// The number of users for which the share was computed.
    users: u32,
}

impl SharedReceiveBuffer {
    /// A buffer without a limit.
    pub(super) fn unlimited() -> SharedReceiveBuffer {
        SharedReceiveBuffer {
            bytes: u64::MAX,
            epoch: 1,
            began: Time::ZERO,
            users: 0,
            users_before: 0,
        }
    }

    pub(super) fn set_bytes(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// The buffer size in bytes that would give each user a good share.
    pub(super) fn wanted_bytes(&self) -> u64 {
        u64::from(self.user_count()) * SHARE_WANTED
    }

    /// Limits the window that the handshake advertises.
    pub(super) fn limit_initial_window(&self, connection: &mut Connection) {
        let first = INITIAL_SEGMENTS * u64::from(connection.mss());
        connection.limit_window(self.share(connection).min(first));
    }

    /// Records that data has arrived, and adapts the window to the number of users.
    pub(super) fn note_payload(
        &mut self,
        now: Time,
        share: &mut Share,
        connection: &mut Connection,
    ) {
        self.advance(now);
        let first = share.epoch != self.epoch;
        self.users += u32::from(first);
        let users = self.user_count();
        if first || share.users != users {
            *share = Share { epoch: self.epoch, users };
            connection.limit_window(self.share(connection));
        }
    }

    fn advance(&mut self, now: Time) {
        let over = now.saturating_since(self.began).as_nanos() / EPOCH.as_nanos();
        if over > 0 {
            self.users_before = if over == 1 { self.users } else { 0 };
            self.users = 0;
            self.epoch = self.epoch.wrapping_add(over as u32);
            self.began += EPOCH * over;
        }
    }

    fn user_count(&self) -> u32 {
        self.users.max(self.users_before).max(1)
    }

    fn share(&self, connection: &Connection) -> u64 {
        let share = self.bytes / u64::from(self.user_count());
        let rtt = connection.min_rtt().unwrap_or(IO_DELAY_MAX).max(IO_DELAY_MAX);
        let spread =
            u128::from(share) * u128::from(rtt.as_nanos()) / u128::from(IO_DELAY_MAX.as_nanos());
        let least = SHARE_SEGMENTS_MIN * u64::from(connection.mss());
        u64::try_from(spread).unwrap_or(u64::MAX).max(least)
    }
}
