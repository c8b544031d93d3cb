//! An application: writes a known stream, checks the one it reads, closes or aborts.

use crate::setup::{Abort, AppSetup, Close};
use windlass_base::{Rng, Time};
use windlass_tcp::stream::Stream;
use windlass_tcp::{Error, Event};

/// The byte at `offset` of the stream that end `sender` writes.
pub(crate) fn pattern(sender: usize, offset: u64) -> u8 {
    let mixed = (offset as u32 ^ (sender as u32) << 31).wrapping_mul(0x9e37_79b1);
    (mixed >> 23) as u8
}

pub(crate) struct App {
    setup: AppSetup,
    /// The end that it uses: 0 or 1.
    index: usize,
    rng: Rng,
    pub(crate) connected: bool,
    written: u64,
    all_written: bool,
    /// The last write found the buffer full; only [`Event::Writable`] ends that.
    blocked: bool,
    next_write: Option<Time>,
    close_planned: bool,
    close_at: Option<Time>,
    pub(crate) closed: bool,
    pub(crate) aborted: bool,
    read: u64,
    /// Something came that was not looked at yet.
    unread: bool,
    next_read: Option<Time>,
    /// The end of the incoming stream was read.
    pub(crate) at_end: bool,
    pub(crate) over: Option<Result<(), Error>>,
    abort_at: Option<Time>,
    scratch: Vec<u8>,
}

impl App {
    pub(crate) fn new(setup: AppSetup, index: usize, start: Time, rng: Rng) -> App {
        let abort_at = match setup.abort {
            Some(Abort::After(span)) => Some(start + span),
            _ => None,
        };
        App {
            next_write: setup.early_start.then_some(start),
            next_read: Some(start + setup.read_stall),
            setup,
            index,
            rng,
            connected: false,
            written: 0,
            all_written: false,
            blocked: false,
            close_planned: false,
            close_at: None,
            closed: false,
            aborted: false,
            read: 0,
            unread: false,
            at_end: false,
            over: None,
            abort_at,
            scratch: Vec::new(),
        }
    }

    /// When it wants to act next.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let write = self.next_write.filter(|_| !self.blocked && self.may_write() > 0);
        [write, self.next_read, self.close_at, self.abort_at].into_iter().flatten().min()
    }

    /// Bytes that it may write now: in turns only up to the end of its message.
    fn may_write(&self) -> u64 {
        let left = self.setup.total - self.written;
        match self.setup.turns {
            None => left.max(u64::from(!self.all_written)),
            Some(turns) => {
                let messages = u64::from(turns.first) + self.read / turns.peer;
                left.min((turns.own * messages).saturating_sub(self.written))
            }
        }
    }

    /// Bytes written and bytes read so far.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.written, self.read)
    }

    pub(crate) fn take_event(&mut self, now: Time, event: Event) -> Result<(), String> {
        match event {
            Event::Connected if self.connected => return Err("connected twice".into()),
            Event::Connected => {
                self.connected = true;
                if self.next_write.is_none() && !self.all_written {
                    self.next_write = Some(now);
                }
            }
            Event::Readable => self.unread = true,
            Event::Writable if !self.blocked => {
                return Err("Writable without an application that waits".into());
            }
            Event::Writable => self.blocked = false,
            Event::Closed => self.end(Ok(()))?,
            Event::Failed(error) => self.end(Err(error))?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, how: Result<(), Error>) -> Result<(), String> {
        if let Some(before) = self.over {
            return Err(format!("ended twice: {before:?}, then {how:?}"));
        }
        self.over = Some(how);
        // Data that has arrived may still be read.
        (self.next_write, self.close_at, self.abort_at) = (None, None, None);
        Ok(())
    }

    /// Does what is due; true if it did anything to the connection.
    pub(crate) fn act(&mut self, now: Time, stream: &mut Stream) -> Result<bool, String> {
        if due(self.abort_at, now) {
            return Ok(self.abort(stream));
        }
        let mut acted = self.write_if_due(now, stream)?;
        acted |= self.read_if_due(now, stream)?;
        self.plan_close(now);
        acted |= self.close_if_due(now, stream);
        acted |= self.abort_if_far_enough(stream);
        Ok(acted)
    }

    fn abort(&mut self, stream: &mut Stream) -> bool {
        (self.next_write, self.close_at, self.abort_at, self.next_read) = (None, None, None, None);
        self.aborted = true;
        stream.connection_mut().abort();
        true
    }

    fn abort_if_far_enough(&mut self, stream: &mut Stream) -> bool {
        let far = match self.setup.abort {
            Some(Abort::OnceWritten(bytes)) => self.written >= bytes && self.connected,
            Some(Abort::OnceRead(bytes)) => self.read >= bytes,
            _ => false,
        };
        far && !self.aborted && self.over.is_none() && self.abort(stream)
    }

    fn write_if_due(&mut self, now: Time, stream: &mut Stream) -> Result<bool, String> {
        let mut acted = false;
        while due(self.next_write, now) && !self.blocked && self.may_write() > 0 {
            self.write_once(now, stream)?;
            acted = true;
        }
        Ok(acted)
    }

    fn write_once(&mut self, now: Time, stream: &mut Stream) -> Result<(), String> {
        let (least, most) = self.setup.write;
        let len = self.rng.between(least, most).min(self.setup.total - self.written);
        let len = if self.setup.turns.is_some() { len.min(self.may_write()) } else { len };
        let offsets = self.written..self.written + len;
        self.scratch.clear();
        self.scratch.extend(offsets.map(|offset| pattern(self.index, offset)));
        let taken = stream.write(&self.scratch).map_err(|e| format!("write refused: {e}"))? as u64;
        self.written += taken;
        self.blocked = taken < len;
        self.all_written = self.written == self.setup.total;
        self.next_write = (!self.all_written).then(|| now + self.setup.write_gap);
        Ok(())
    }

    fn plan_close(&mut self, now: Time) {
        let may_close = self.at_end || !self.setup.close_after_peer;
        if !self.all_written || !may_close || self.close_planned || self.over.is_some() {
            return;
        }
        self.close_planned = true;
        self.close_at = Some(match self.setup.close {
            Close::WithLastWrite => now,
            Close::After(span) => now + span,
        });
    }

    fn close_if_due(&mut self, now: Time, stream: &mut Stream) -> bool {
        if !due(self.close_at, now) {
            return false;
        }
        self.close_at = None;
        self.closed = true;
        stream.connection_mut().close(now);
        true
    }

    fn read_if_due(&mut self, now: Time, stream: &mut Stream) -> Result<bool, String> {
        if self.at_end || self.aborted {
            self.next_read = None;
            return Ok(false);
        }
        if self.next_read.is_none() && self.unread {
            self.next_read = Some(now + self.setup.read_gap.unwrap_or_default());
        }
        if !due(self.next_read, now) {
            return Ok(false);
        }
        self.unread = false;
        self.next_read = None;
        while self.read_once(stream)? {
            if let Some(gap) = self.setup.read_gap {
                self.next_read = Some(now + gap);
                break;
            }
        }
        Ok(true)
    }

    /// False once nothing is there.
    fn read_once(&mut self, stream: &mut Stream) -> Result<bool, String> {
        let (least, most) = self.setup.read;
        self.scratch.resize(self.rng.between(least, most) as usize, 0);
        match stream.read(&mut self.scratch) {
            Ok(taken) => {
                self.check_read(taken)?;
                Ok(taken > 0)
            }
            Err(Error::Closed) => {
                self.at_end = true;
                Ok(false)
            }
            Err(other) => Err(format!("read failed: {other}")),
        }
    }

    fn check_read(&mut self, taken: usize) -> Result<(), String> {
        for (index, byte) in self.scratch[..taken].iter().enumerate() {
            let offset = self.read + index as u64;
            if *byte != pattern(1 - self.index, offset) {
                return Err(format!("the byte at offset {offset} is another one than was written"));
            }
        }
        self.read += taken as u64;
        Ok(())
    }
}

fn due(at: Option<Time>, now: Time) -> bool {
    at.is_some_and(|at| at <= now)
}
