//! One connection of the command that is carried to its far end. The loop (`driver`) lets it move bytes
//! when either end may have changed.

use crate::far::FarEnd;
use crate::stack::{FlowId, Refusal, Stack};
use std::io::{self, ErrorKind};
use std::task::{Poll, Waker};
use windlass_base::Time;

/// Bytes to move in one direction before the loop serves other connections.
const TURN_BYTES: usize = 1 << 20;

/// A connection and its far end.
pub(super) struct Carried {
    pub(super) flow: FlowId,
    far: Box<dyn FarEnd>,
    waker: Waker,
    phase: Phase,
    /// The last read, or write, of the far end did not have to wait.
    readable: bool,
    writable: bool,
    /// The far end's stream has ended.
    down_closed: bool,
    /// The loop has to advance it.
    pub(super) due: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    /// The command may still send.
    Up,
    /// The command has closed; the far end does not know it yet.
    Closing,
    /// The far end knows that the command has closed.
    UpClosed,
}

/// Bytes moved by [`Carried::advance`] in each direction, and how the connection ended, if it did.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Advance {
    pub(super) up: usize,
    pub(super) down: usize,
    pub(super) end: Option<End>,
    /// There is more to move at once.
    pub(super) unfinished: bool,
}

/// How a connection has ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Orderly,
    /// The far end did not accept it.
    Refused,
    /// The far end has reset it.
    Failed,
}

impl Carried {
    pub(super) fn new(flow: FlowId, far: Box<dyn FarEnd>, waker: Waker) -> Carried {
        Carried {
            flow,
            far,
            waker,
            phase: Phase::Connecting,
            readable: true,
            writable: true,
            down_closed: false,
            due: false,
        }
    }

    pub(super) fn far(&self) -> &dyn FarEnd {
        &*self.far
    }

    /// Notes that the far end is worth a call.
    pub(super) fn far_is_ready(&mut self) {
        (self.readable, self.writable) = (true, true);
    }

    /// Whether the far end does not have all bytes and the end of the stream that the command sends.
    pub(super) fn is_undelivered(&self) -> bool {
        self.phase != Phase::UpClosed
    }

    pub(super) fn is_connecting(&self) -> bool {
        self.phase == Phase::Connecting
    }

    /// Resets the far end.
    pub(super) fn abort(self) {
        self.far.abort();
    }

    /// Resets the far end after the command has reset its own. Bytes that arrived before the reset go
    /// first, as far as the far end takes them at once: a command that closes with an answer unread
    /// resets, and its question should arrive.
    pub(super) fn abort_after_reset(mut self, stack: &mut Stack) {
        let _ = self.move_up(stack, &mut Advance::default());
        self.far.abort();
    }

    /// Moves bytes and ends in both directions as far as possible.
    pub(super) fn advance(&mut self, stack: &mut Stack, now: Time, buffer: &mut [u8]) -> Advance {
        let mut advance = Advance::default();
        match self.try_advance(stack, now, buffer, &mut advance) {
            Ok(()) if self.phase == Phase::UpClosed && self.down_closed => {
                stack.release(self.flow);
                advance.end = Some(End::Orderly);
            }
            Ok(()) => {}
            // The command's connect(2) gets the far end's error.
            Err(error) if self.phase == Phase::Connecting => {
                stack.refuse(self.flow, refusal(&error));
                advance.end = Some(End::Refused);
            }
            Err(_) => {
                stack.abort(self.flow);
                advance.end = Some(End::Failed);
            }
        }
        advance
    }

    fn try_advance(
        &mut self,
        stack: &mut Stack,
        now: Time,
        buffer: &mut [u8],
        advance: &mut Advance,
    ) -> io::Result<()> {
        if self.phase == Phase::Connecting {
            match self.far.poll_connected(&self.waker) {
                Poll::Pending => return Ok(()),
                Poll::Ready(result) => result?,
            }
            stack.accept(now, self.flow);
            self.phase = Phase::Up;
        }
        self.move_down(stack, now, buffer, advance)?;
        self.move_up(stack, advance)?;
        // After the last byte: the end must not overtake it.
        if self.phase == Phase::Closing && self.writable {
            match self.far.poll_close(&self.waker) {
                Poll::Pending => self.writable = false,
                Poll::Ready(result) => {
                    result?;
                    self.phase = Phase::UpClosed;
                }
            }
        }
        Ok(())
    }

    fn move_down(
        &mut self,
        stack: &mut Stack,
        now: Time,
        buffer: &mut [u8],
        advance: &mut Advance,
    ) -> io::Result<()> {
        while self.readable && !self.down_closed {
            let room = stack.writable(self.flow).min(buffer.len());
            // The command does not read: the far end's own window stops its sender.
            if room == 0 {
                return Ok(());
            }
            // Other connections get their turn.
            if advance.down >= TURN_BYTES {
                advance.unfinished = true;
                return Ok(());
            }
            match self.far.poll_read(&self.waker, &mut buffer[..room]) {
                Poll::Pending => self.readable = false,
                Poll::Ready(Ok(0)) => {
                    stack.close(now, self.flow);
                    self.down_closed = true;
                }
                Poll::Ready(Ok(len)) => {
                    stack.write(self.flow, &buffer[..len]);
                    advance.down += len;
                }
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        Ok(())
    }

    fn move_up(&mut self, stack: &mut Stack, advance: &mut Advance) -> io::Result<()> {
        while self.writable && self.phase == Phase::Up {
            let [first, _] = stack.peek(self.flow);
            if first.is_empty() {
                if stack.is_read_to_the_end(self.flow) {
                    self.phase = Phase::Closing;
                }
                return Ok(());
            }
            if advance.up >= TURN_BYTES {
                advance.unfinished = true;
                return Ok(());
            }
            match self.far.poll_write(&self.waker, first) {
                Poll::Pending => self.writable = false,
                Poll::Ready(Ok(0)) => return Err(ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(len)) => {
                    stack.consume(self.flow, len);
                    advance.up += len;
                }
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The error that the command's connect returns for an error of the far end.
pub(super) fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Refusal::Refused,
        ErrorKind::NetworkUnreachable => Refusal::NetworkUnreachable,
        ErrorKind::PermissionDenied => Refusal::Prohibited,
        _ => Refusal::HostUnreachable,
    }
}
