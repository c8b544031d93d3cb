//! One end's outgoing data: written as the connection takes it.

use windlass_base::Time;
use windlass_tcp::Connection;

/// Data that the application has not yet written to its connection.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Writer {
    /// Bytes; `None` for no end.
    left: Option<u64>,
    /// Whether more may come when nothing is left.
    keeps_open: bool,
    closed: bool,
    stopped: bool,
}

impl Writer {
    /// Writes so many bytes and closes; without a number it never ends.
    pub(crate) fn of(bytes: Option<u64>) -> Writer {
        Writer { left: bytes, keeps_open: false, closed: false, stopped: false }
    }

    /// Writes what [`Writer::add`] gives it, until it is stopped.
    pub(crate) fn waiting() -> Writer {
        Writer::giving(0)
    }

    /// The same, with so many bytes to write already.
    pub(crate) fn giving(bytes: u64) -> Writer {
        Writer { keeps_open: true, ..Writer::of(Some(bytes)) }
    }

    /// More bytes to write.
    pub(crate) fn add(&mut self, bytes: u64) {
        if let Some(left) = &mut self.left {
            *left += bytes;
        }
    }

    /// Writes as much as the connection takes, and closes it behind the last byte.
    pub(crate) fn fill(&mut self, now: Time, connection: &mut Connection) {
        if self.closed {
            return;
        }
        match &mut self.left {
            None => drop(connection.write_endlessly()),
            Some(left) => {
                if *left > 0 {
                    *left -= connection.write(*left).unwrap_or(0);
                }
                if *left == 0 && !self.keeps_open {
                    self.closed = true;
                    connection.close(now);
                }
            }
        }
    }

    /// Nothing more is to be written.
    pub(crate) fn stop(&mut self) {
        self.stopped = !self.closed;
        self.left = Some(0);
        self.keeps_open = false;
    }

    /// True if the writer came to its own end.
    pub(crate) fn wrote_all(&self) -> bool {
        self.closed && !self.stopped
    }
}
