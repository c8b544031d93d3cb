//! The bytes that the program has written and the engine has not: held by TCP_CORK and MSG_MORE, or behind the end
//! of a record (MSG_EOR).
//!
//! The engine forgets where writes end. Linux does not send a record together with what follows it, so the host
//! hands the engine the next record once the engine has sent the one before.

use std::collections::{BTreeSet, VecDeque};
use windlass_tcp::Connection;

/// Bytes of one or more writes, up to the end of a record.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Piece {
    len: u64,
    ends_record: bool,
}

/// The flags of a write.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Write {
    /// MSG_MORE: further data follows soon.
    pub(super) more: bool,
    /// MSG_EOR: its end is the end of a record.
    pub(super) ends_record: bool,
}

/// Why less than a full segment may leave now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Flush {
    /// It may not: only full segments leave.
    Hold,
    /// All may.
    All,
}

/// The queue.
#[derive(Clone, Debug, Default)]
pub(super) struct SendQueue {
    pieces: VecDeque<Piece>,
    /// The last write had MSG_MORE.
    more: bool,
    /// The last bytes that the engine has got end a record.
    after_record: bool,
    /// Ends of data, as stream offsets, at which Linux sets no PSH.
    silent: BTreeSet<u64>,
    /// A FIN follows.
    pub(super) fin: bool,
}

impl SendQueue {
    /// Bytes that the engine has not got.
    pub(super) fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len).sum()
    }

    /// True while the last write asks to wait for more.
    pub(super) fn expects_more(&self) -> bool {
        self.more
    }

    /// Adds `len` bytes.
    pub(super) fn push(&mut self, len: u64, write: Write) {
        self.more = write.more;
        match self.pieces.back_mut() {
            Some(last) if !last.ends_record => {
                last.len += len;
                last.ends_record = write.ends_record;
            }
            _ => self.pieces.push_back(Piece { len, ends_record: write.ends_record }),
        }
    }

    /// The program wants what it has written to leave.
    pub(super) fn end_more(&mut self) {
        self.more = false;
    }

    /// Hands the engine what may leave: true if that was anything. `pushes`: its end has PSH.
    pub(super) fn feed(&mut self, connection: &mut Connection, flush: Flush, pushes: bool) -> bool {
        let mut any = false;
        while let Some(piece) = self.pieces.front().copied() {
            let unsent = unsent(connection);
            if self.after_record && unsent > 0 {
                break;
            }
            let mss = u64::from(connection.mss()).max(1);
            let last = self.pieces.len() == 1 && !piece.ends_record;
            let len = match flush {
                Flush::Hold if last => ((unsent + piece.len) / mss * mss).saturating_sub(unsent),
                _ => piece.len,
            };
            let len = len.min(piece.len);
            if len == 0 || connection.write(len).is_err() {
                break;
            }
            any = true;
            self.take(len, piece);
            // Between records small segments do not wait for the data before them (`tcp_nagle_test` asks of the last
            // only).
            if !pushes || len < piece.len {
                self.silent.insert(connection.bytes_written());
            }
        }
        any
    }

    fn take(&mut self, len: u64, piece: Piece) {
        if len < piece.len {
            if let Some(front) = self.pieces.front_mut() {
                front.len -= len;
            }
            self.after_record = false;
        } else {
            self.pieces.pop_front();
            self.after_record = piece.ends_record;
        }
    }

    /// True if a record waits behind one that is not sent yet, which then is not held back by Nagle's algorithm.
    pub(super) fn is_behind_record(&self) -> bool {
        self.after_record && !self.pieces.is_empty()
    }

    /// True if data up to `end` leaves without PSH, though nothing was written behind it.
    pub(super) fn is_silent(&self, end: u64) -> bool {
        self.silent.contains(&end)
    }
}

/// Bytes that the engine has got and not sent.
pub(super) fn unsent(connection: &Connection) -> u64 {
    (connection.bytes_written() - connection.bytes_acked()).saturating_sub(connection.in_flight())
}
