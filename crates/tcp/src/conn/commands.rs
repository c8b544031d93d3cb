//! Commands of the application and the carrier.

use super::cached_controller::CachedController;
use super::timers::Timers;
use super::{Connection, Error, Event, Run, State, controller_params};
use crate::cc::ControllerFactory;
use crate::config::OptionUse;
use crate::deadline::Deadline;
use crate::{Flags, Options, Segment, SeqNumber, Timestamps};
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
        if !self.can_write() {
            return Err(Error::Closed);
        }
        self.check_app_limit();
        let taken = bytes.min(self.writable());
        self.tx.written += taken;
        self.tx.write_blocked = taken < bytes;
        Ok(taken)
    }

    /// Requests [`Event::Writable`], as a write that does not fit does.
    pub fn request_room(&mut self) {
        self.tx.write_blocked = true;
    }

    /// Lets the connection write by itself whenever there is room, until the application closes it:
    /// for a generator of bulk data. No [`Event::Writable`] follows. The carrier must be able to
    /// produce the payload at any stream position.
    ///
    /// # Errors
    /// [`Error::Closed`] if this end has closed or the connection is over.
    pub fn write_endlessly(&mut self) -> Result<(), Error> {
        self.write(u64::MAX)?;
        self.tx.endless = true;
        Ok(())
    }

    /// Discards incoming data as it arrives, from now on: for the sink of a bulk transfer. The only
    /// further [`Event::Readable`] is the one at the end of the stream.
    pub fn discard_incoming(&mut self) {
        self.read_available(u64::MAX);
        self.rx.discards = true;
    }

    /// Reads up to `bytes` from the incoming stream; returns how many were read, 0 if none are
    /// readable now.
    ///
    /// # Errors
    /// [`Error::Closed`] at the end of the stream.
    pub fn read(&mut self, bytes: u64) -> Result<u64, Error> {
        let taken = self.read_available(bytes);
        if taken == 0 && bytes > 0 && (self.peer_closed() || self.state == State::Closed) {
            return Err(Error::Closed);
        }
        Ok(taken)
    }

    /// Removes up to `bytes` from the data in order, and returns their number. Schedules the ACK that
    /// announces the larger window.
    #[inline(always)]
    pub(super) fn read_available(&mut self, bytes: u64) -> u64 {
        let taken = self.rx.reassembly.read(bytes);
        // An ACK that is due announces the window anyway.
        let silent = taken > 0 && !self.rx.acks.is_due();
        if silent && self.state.can_receive() && self.window_update_due() {
            self.rx.acks.send_ack_now();
        } else if silent && self.rx.reassembly.readable() == 0 {
            self.rx.acks.all_taken();
        }
        taken
    }

    /// Closes the outgoing direction: a FIN follows the data written so far. Reading stays
    /// possible.
    pub fn close(&mut self, _now: Time) {
        // RFC 9293 §3.10.4: CLOSE, by state.
        match self.state {
            State::Listen => self.finish(None),
            // The FIN waits for the handshake: data written before the close is still sent.
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

    /// Aborts the connection: sends a reset to the peer and discards data not sent yet.
    pub fn abort(&mut self) {
        // RFC 9293 §3.10.5: ABORT sends a reset in synchronized states; TIME-WAIT needs none.
        if self.state.is_synchronized() && self.state != State::TimeWait {
            let position = self.tx.bare_position();
            // A peer that took a window probe beyond its window expects the number after it, and
            // ignores a reset before that.
            self.pending.second_reset = self.tx.max > position;
            self.pending.reset = Some(Box::new(Segment {
                seq: self.tx.isn.at(position),
                ack: self.rx.isn.at(self.rx.reassembly.nxt()),
                flags: Flags::RST | Flags::ACK,
                // RFC 7323 §3.2: TSopt should be sent in an RST. It gets its value when it leaves.
                options: Options {
                    timestamps: self.agreed.timestamps.then(Timestamps::default),
                    ..Options::default()
                },
                ..Segment::default()
            }));
        }
        self.finish(Some(Error::Aborted));
    }

    /// True if this end's SYN has the sequence number `seq`.
    pub fn began_with(&self, seq: SeqNumber) -> bool {
        self.tx.isn == seq
    }

    /// True if a byte or control flag with the sequence number `seq` was sent and is not acknowledged.
    pub fn is_unacknowledged(&self, seq: SeqNumber) -> bool {
        let una = self.tx.isn.at(self.tx.una);
        u64::from(seq.0.wrapping_sub(una.0)) < self.tx.max - self.tx.una
    }

    /// Reports that the peer cannot be reached, as the carrier learnt by ICMP. A connection that is
    /// being opened fails with `error`; others ignore it as transient (RFC 9293 §3.9.2.2).
    pub fn fail_opening(&mut self, error: Error) {
        if self.state == State::SynSent {
            self.finish(Some(error));
        }
    }

    /// Ends the connection with `error` and without a reset, because the carrier has lost the peer for
    /// good.
    pub fn fail(&mut self, error: Error) {
        if self.state != State::Closed {
            self.finish(Some(error));
        }
    }

    /// The carrier has found another path to the peer. The RTT is measured again. Ends the back-off of
    /// the timers, and makes those due at `now` that were backed off: their losses belong to the old
    /// path (RFC 6069 §3 gives the reasons). The caller then calls [`Connection::handle_timeout`].
    pub fn path_restored(&mut self, now: Time) {
        if self.timers.retries > 0 {
            self.retry_at_once(now);
            self.timers.retries = 0;
        }
        self.rtt.restart(now);
    }

    /// The path that the carrier has found is another one, not the old one again. As
    /// [`Connection::path_restored`], and the congestion controller restarts with its initial
    /// window (RFC 9000 §9.4, RFC 9002 §7.2): what it knows is of the old path, and so are losses and
    /// marks of data that is in flight now.
    pub fn path_replaced(&mut self, now: Time) {
        self.path_restored(now);
        self.forget_undo();
        self.end_reduction();
        let params = controller_params(&self.config, self.agreed.mss);
        self.congestion = CachedController::of(&self.config, &params);
        self.set_up_rates();
        self.recovery.leave_path(self.tx.max);
        self.reset_pacer();
    }

    /// Makes the timers of retransmissions and window probes due at `now`, if they run: the carrier
    /// knows that it could not send. The caller then calls [`Connection::handle_timeout`].
    pub fn retry_at_once(&mut self, now: Time) {
        for timer in [&mut self.timers.retransmit, &mut self.timers.persist] {
            if timer.is_set() {
                *timer = Deadline::at(now);
            }
        }
    }

    /// Sets the payload of a full segment to `mss` bytes, options of every segment subtracted. For
    /// a carrier that searches for the path's MTU (RFC 8899). `mss` must not exceed the value of
    /// [`Connection::mss`] right after the handshake, the largest that the peer accepts. During a
    /// reduction by PRR the window continues at the controller's cwnd.
    pub fn set_mss(&mut self, mss: u32) {
        let mss = mss.max(MSS_MIN);
        if mss != self.agreed.mss {
            self.agreed.mss = mss;
            self.congestion.on_mss_change(mss);
        }
    }

    /// True if a probe of the path's MTU may be sent: the connection can still send data, and the
    /// peer supports SACK, by which it reports the probe.
    pub fn may_probe_path(&self) -> bool {
        let open = match self.state {
            State::Established | State::CloseWait => true,
            State::FinWait1 | State::Closing | State::LastAck => self.tx.has_unsent(),
            _ => false,
        };
        open && self.agreed.sack
    }

    /// A segment by which a carrier tests whether `len` payload bytes pass the path. It repeats the
    /// last `len` acknowledged bytes, so its loss costs no data, and the peer reports its arrival
    /// by a DSACK (RFC 2883). The payload may be any bytes, as the peer discards it. `None` while
    /// fewer than `len` bytes are acknowledged, or where [`Connection::may_probe_path`] is false.
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

    /// Limits the announced window to `bytes`, whatever room the buffer has: for a carrier that
    /// drops packets it cannot hold. A larger window announced before stays valid and shrinks as
    /// the peer uses it up (RFC 9293 §3.8.6: a receiver does not shrink its window).
    pub fn limit_window(&mut self, bytes: u64) {
        let begins = matches!(self.state, State::Listen | State::SynSent) && self.tx.max == 0;
        if begins {
            self.rx.window.begin_with_limit(bytes);
        } else {
            self.rx.window.set_limit(bytes);
        }
    }

    /// Limits the buffers to `send` and `receive` bytes, and to their sizes in the config: for a
    /// carrier that is short of memory. Buffered data and the window announced so far are not
    /// affected.
    pub(crate) fn limit_buffers(&mut self, send: u64, receive: u64) {
        self.options.send_buffer = self.config.buffers.send.min(send);
        self.rx.window.set_buffer(self.config.buffers.receive.min(receive));
    }

    /// Acknowledges data that has arrived at once, if its ACK was delayed.
    pub fn acknowledge_now(&mut self) {
        if self.rx.acks.deadline().is_set() {
            self.rx.acks.send_ack_now();
        }
    }

    /// Switches Nagle's algorithm, which holds small segments back while data is in flight (RFC
    /// 9293 §3.7.4).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.config.sending.nagle = nagle;
    }

    /// Changes which segments carry the AccECN option from now on ([`AccEcnConfig::option`]).
    ///
    /// [`AccEcnConfig::option`]: crate::config::AccEcnConfig::option
    pub fn set_accurate_option(&mut self, option: OptionUse) {
        self.config.accecn.option = option;
        if let Some(state) = &mut self.accurate {
            state.set_option(option);
        }
    }

    /// Replaces the congestion controller by a new one in its initial state: for an end that
    /// negotiates the controller with its peer before data flows.
    pub fn set_congestion(&mut self, congestion: Arc<dyn ControllerFactory>) {
        self.config.congestion = congestion;
        self.options.pacing = self.config.paces();
        let params = controller_params(&self.config, self.agreed.mss);
        let window = self.congestion.cwnd_bytes();
        self.congestion = CachedController::of(&self.config, &params);
        self.set_up_rates();
        // After a lost SYN the initial window is smaller (RFC 5681 §3.1), and stays so.
        self.congestion.on_idle_restart(window);
    }

    /// Not inlined: it is called seldom, and inlining it would slow loops that read.
    #[inline(never)]
    fn window_update_due(&self) -> bool {
        let reassembly = &self.rx.reassembly;
        self.rx.window.update_due(reassembly.nxt(), reassembly.read_position(), self.agreed.mss)
    }

    /// Ends the connection, with an error or in an orderly way.
    pub(super) fn finish(&mut self, error: Option<Error>) {
        if self.state == State::Closed {
            return;
        }
        // The application got `Event::Closed` when TIME-WAIT began.
        let silent = self.state == State::TimeWait;
        self.state = State::Closed;
        self.timers = Timers::default();
        match error {
            _ if silent => {}
            Some(error) => self.events.push(Event::Failed(error)),
            None => self.events.push(Event::Closed),
        }
    }
}
