//! What the application asks for.

use super::cached_controller::CachedController;
use super::timers::Timers;
use super::{Connection, Error, Event, Run, State, controller_params};
use crate::cc::ControllerFactory;
use crate::{Flags, Segment, SeqNumber};
use alloc::boxed::Box;
use alloc::sync::Arc;
use windlass_base::Time;

/// Below this there is hardly room for data beside options.
const MSS_MIN: u32 = 36;

/// Commands of the application.
impl Connection {
    /// Appends up to `bytes` to the outgoing stream; returns how many fit.
    ///
    /// # Errors
    /// [`Error::Closed`] after [`Connection::close`], or when the connection is over.
    pub fn write(&mut self, bytes: u64) -> Result<u64, Error> {
        if self.tx.closed || !self.state.can_send() {
            return Err(Error::Closed);
        }
        let taken = bytes.min(self.writable());
        self.tx.written += taken;
        self.tx.write_blocked = taken < bytes;
        Ok(taken)
    }

    /// The application writes whenever there is room, from now on until it closes: what a generator
    /// of bulk data does. There will be no [`Event::Writable`]. The payload of what is sent must be
    /// to be had at any position.
    ///
    /// # Errors
    /// [`Error::Closed`] if this end has closed or the connection is over.
    pub fn write_endlessly(&mut self) -> Result<(), Error> {
        self.write(u64::MAX)?;
        self.tx.endless = true;
        Ok(())
    }

    /// The application takes whatever comes as it comes, and has no use for it: what the sink of a
    /// bulk transfer does. The only [`Event::Readable`] from now on is that of the stream's end.
    pub fn discard_incoming(&mut self) {
        self.take_what_came(u64::MAX);
        self.rx.discards = true;
    }

    /// The application takes up to `bytes`; returns how many, 0 when nothing is there now.
    ///
    /// # Errors
    /// [`Error::Closed`] at the end of the stream.
    pub fn read(&mut self, bytes: u64) -> Result<u64, Error> {
        let taken = self.take_what_came(bytes);
        if taken == 0 && bytes > 0 && (self.peer_closed() || self.state == State::Closed) {
            return Err(Error::Closed);
        }
        Ok(taken)
    }

    pub(super) fn take_what_came(&mut self, bytes: u64) -> u64 {
        let taken = self.rx.reassembly.read(bytes);
        // An ACK that is due tells of the window anyway.
        let silent = taken > 0 && !self.rx.acks.is_due();
        if silent && self.state.can_receive() && self.window_update_due() {
            self.rx.acks.at_once();
        } else if silent && self.rx.reassembly.readable() == 0 {
            self.rx.acks.all_taken();
        }
        taken
    }

    /// No more data: FIN after what was written (half-close). Reading goes on.
    pub fn close(&mut self, _now: Time) {
        match self.state {
            State::Listen => self.finish(None),
            // The FIN waits for the handshake: what was written before it is still sent.
            State::SynSent | State::SynReceived => {
                self.tx.closed = true;
                self.tx.endless = false;
            }
            State::Established => self.close_sending(State::FinWait1),
            State::CloseWait => self.close_sending(State::LastAck),
            _ => {}
        }
    }

    fn close_sending(&mut self, state: State) {
        self.tx.closed = true;
        self.tx.endless = false;
        self.state = state;
    }

    /// Resets the connection: the peer is told, what was not sent is lost.
    pub fn abort(&mut self) {
        if self.state.is_synchronized() && self.state != State::TimeWait {
            self.pending.reset = Some(Box::new(Segment {
                seq: self.tx.isn.at(self.tx.bare_position()),
                ack: self.rx.isn.at(self.rx.reassembly.nxt()),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            }));
        }
        self.finish(Some(Error::Aborted));
    }

    /// True if its SYN had that sequence number.
    pub fn began_with(&self, seq: SeqNumber) -> bool {
        self.tx.isn == seq
    }

    /// The carrier has learnt that the peer cannot be reached, by ICMP: a connection that is being
    /// opened fails with that error, others take it for a passing trouble (RFC 9293 §3.9.2.2).
    pub fn fail_opening(&mut self, error: Error) {
        if self.state == State::SynSent {
            self.finish(Some(error));
        }
    }

    /// Full segments have `mss` payload bytes from now on, options of every segment subtracted. For a
    /// carrier that looks for the path's MTU (RFC 8899); not more than [`Connection::mss`] told when
    /// the handshake was complete, since the peer takes no more. In the middle of a reduction the
    /// window goes on from where the controller has it.
    pub fn set_mss(&mut self, mss: u32) {
        let mss = mss.max(MSS_MIN);
        if mss != self.agreed.mss {
            self.agreed.mss = mss;
            self.congestion.on_mss_change(mss);
        }
    }

    /// It is worth while to look what the path takes: more is to come, or may be.
    pub fn may_probe_path(&self) -> bool {
        let open = match self.state {
            State::Established | State::CloseWait => true,
            State::FinWait1 | State::Closing | State::LastAck => self.tx.has_unsent(),
            _ => false,
        };
        open && self.agreed.sack
    }

    /// The segment by which a carrier looks whether `len` payload bytes pass the path: it repeats
    /// that many of those that the peer has acknowledged, so that nothing is lost with it, and an ACK
    /// with a DSACK (RFC 2883) tells that it arrived. Its payload is any, as nobody reads it. `None`
    /// where so much has not been acknowledged yet, or where it
    /// [may not](Connection::may_probe_path).
    pub fn path_probe(&mut self, now: Time, len: u32) -> Option<Segment> {
        let from = self.tx.una.checked_sub(u64::from(len)).filter(|from| *from > 0)?;
        if !self.may_probe_path() {
            return None;
        }
        if let Some(undo) = &mut self.recovery.undo {
            undo.distrust_reports();
        }
        let mut run = Run::default();
        self.fill_header(now, from, &mut run);
        Some(Segment { payload_len: len, ..run.first })
    }

    /// Announces no more than `bytes` beyond what has arrived, whatever the buffer has room for: for
    /// a carrier that loses what it cannot hold. What was announced before stays so, and the window
    /// shrinks as it is used up (RFC 9293 §3.8.6: a window is not taken back).
    pub fn limit_window(&mut self, bytes: u64) {
        let begins = matches!(self.state, State::Listen | State::SynSent) && self.tx.max == 0;
        if begins {
            self.rx.window.begin_with_limit(bytes);
        } else {
            self.rx.window.set_limit(bytes);
        }
    }

    /// The buffers are no larger than this from now on, nor than the config has them: for a carrier
    /// that is short of memory. What they hold, or the peer was allowed to send, stays.
    pub fn limit_buffers(&mut self, send: u64, receive: u64) {
        self.options.send_buffer = self.config.buffers.send.min(send);
        self.rx.window.set_buffer(self.config.buffers.receive.min(receive));
    }

    /// Holds small segments back while data is in flight, or not any more (RFC 9293 §3.7.4).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.config.sending.nagle = nagle;
    }

    /// Another controller from now on, which begins as on a new connection: for an end that learns
    /// from its peer, before data flows, which one to take.
    pub fn set_congestion(&mut self, congestion: Arc<dyn ControllerFactory>) {
        let params = controller_params(&self.config, self.agreed.mss);
        let window = self.congestion.cwnd_bytes();
        self.congestion = CachedController::new(congestion.build(&params));
        // After a lost SYN the initial window is smaller (RFC 5681 §3.1), and stays so.
        self.congestion.on_idle_restart(window);
        self.config.congestion = congestion;
    }

    /// Out of line: seldom asked, and costly to hoist out of a loop that reads.
    #[inline(never)]
    fn window_update_due(&self) -> bool {
        let reassembly = &self.rx.reassembly;
        self.rx.window.update_due(reassembly.nxt(), reassembly.read_position(), self.agreed.mss)
    }

    /// The connection is over: orderly, or with an error.
    pub(super) fn finish(&mut self, error: Option<Error>) {
        if self.state == State::Closed {
            return;
        }
        let told_already = self.state == State::TimeWait;
        self.state = State::Closed;
        self.timers = Timers::default();
        match error {
            _ if told_already => {}
            Some(error) => self.events.push(Event::Failed(error)),
            None => self.events.push(Event::Closed),
        }
    }
}
