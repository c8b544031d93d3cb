//! What the UDP socket's receive buffer holds, shared among the connections that use it.
//!
//! A datagram that finds the buffer full is lost, and the path had nothing to do with it. So no
//! connection announces a larger window than its share; but on a long path most of a window is on
//! its way and not in the buffer, which only has to hold what comes while the thread that empties it
//! is kept from running.

use windlass_base::{Span, Time};
use windlass_tcp::Connection;

/// Who has sent in this time, or in the one before it, uses the buffer.
const EPOCH: Span = Span::from_millis(100);
/// How long the thread that empties the buffer may be kept from running.
const IO_DELAY_MAX: Span = Span::from_millis(2);
/// The least share, though all of them may not fit then: windows of a few segments cost several times
/// the CPU time for the same bytes.
const SHARE_SEGMENTS_MIN: u64 = 16;
/// A share that costs little more than a large one, in bytes.
const SHARE_WANTED: u64 = 32 << 10;
/// What is announced before anything has come, in segments: twice an initial window of ten, as Linux
/// has it. Thousands may be idle and begin together.
const INITIAL_SEGMENTS: u64 = 20;

/// The buffer, and how many use it.
#[derive(Debug)]
pub(super) struct SharedReceiveBuffer {
    bytes: u64,
    epoch: u32,
    began: Time,
    users: u32,
    users_before: u32,
}

/// What a connection knows of its share.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Share {
    /// When it last sent.
    epoch: u32,
    /// Among how many it was computed.
    users: u32,
}

impl SharedReceiveBuffer {
    /// As much as anybody wants.
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

    /// What would be a good share for all who use it, in bytes.
    pub(super) fn wanted_bytes(&self) -> u64 {
        u64::from(self.user_count()) * SHARE_WANTED
    }

    /// Before the handshake.
    pub(super) fn limit_initial_window(&self, connection: &mut Connection) {
        let first = INITIAL_SEGMENTS * u64::from(connection.mss());
        connection.limit_window(self.share(connection).min(first));
    }

    /// Payload has come.
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
