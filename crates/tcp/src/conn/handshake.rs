//! LISTEN and SYN-SENT (RFC 9293 §3.10.7.2, §3.10.7.3), and the negotiation of options.

use super::cached_controller::CachedController;
use super::{Agreed, Connection, Error, Established, Event, State, controller_params};
use crate::cc::Params;
use crate::deadline::Deadline;
use crate::receiver::{ReceiveWindow, shift_for};
use crate::recovery::Timed;
use crate::segment::wire::MAX_WINDOW_SHIFT;
use crate::{Flags, Segment};
use alloc::boxed::Box;
use windlass_base::{Ecn, Time};

/// Bytes of options in every segment once timestamps are agreed (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;
/// The peer's MSS if its SYN has no MSS option (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;
/// The smallest MSS in use, even if the peer announces less: below it, options would leave no room
/// for data.
const MIN_MSS: u32 = 48;

impl Connection {
    pub(super) fn handle_in_listen(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        // RFC 9293 §3.10.7.2: first RST, second ACK, third SYN.
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.pending.reset = segment.reset_reply().map(Box::new);
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            self.take_syn(now, segment, ecn);
            self.state = State::SynReceived;
        }
    }

    pub(super) fn handle_in_syn_sent(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let acknowledges_syn = segment.ack == self.tx.isn.at(1) && self.tx.max == 1;
        let flags = segment.flags;
        // RFC 9293 §3.10.7.3: first ACK, second RST, fourth SYN.
        if flags.contains(Flags::ACK) && !acknowledges_syn {
            self.pending.reset = segment.reset_reply().map(Box::new);
        } else if flags.contains(Flags::RST) {
            if flags.contains(Flags::ACK) {
                self.finish(Some(Error::Refused));
            }
        } else if flags.contains(Flags::SYN) {
            self.take_syn(now, segment, ecn);
            if flags.contains(Flags::ACK) {
                self.syn_acknowledged(now);
                self.rx.acks.send_ack_now();
                self.take_syn_ack_feedback(segment);
            } else {
                // Simultaneous open: this end sends its SYN again, now with an ACK.
                self.state = State::SynReceived;
                self.tx.nxt = 0;
                self.tx.timing.forget();
            }
        }
    }

    /// Learns the peer's sequence number, window and options from its SYN.
    fn take_syn(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        self.heard(now);
        self.rx.isn = segment.seq;
        self.agree(segment, ecn);
        if let Some(timestamps) = segment.options.timestamps {
            self.note_timestamp(now, timestamps);
        }
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        self.tx.set_window(1, u64::from(segment.window));
    }

    fn agree(&mut self, segment: &Segment, ecn: Ecn) {
        let classic = self.agree_on_feedback(segment.flags, ecn);
        let (config, options) = (&self.config, &segment.options);
        let scaling = options.window_scale.filter(|_| config.extensions.window_scaling);
        self.agreed = Agreed {
            mss: 0,
            scaling: scaling.map(|shift| shift.min(MAX_WINDOW_SHIFT)),
            timestamps: config.extensions.timestamps && options.timestamps.is_some(),
            sack: config.extensions.sack && options.sack_permitted,
            ecn: classic,
            mss_announced: options.mss.is_some(),
        };
        self.agree_on_mss(options.mss.unwrap_or(DEFAULT_MSS));
        if self.agreed.scaling.is_some() {
            self.rx.window.set_shift(shift_for(self.config.buffers.receive));
        }
    }

    /// True if a SYN offers ECN. With fallback, a retransmitted SYN does not: a middlebox may have
    /// dropped the first one because of its ECN flags (RFC 3168 §6.1.1.1).
    pub(super) fn offers_ecn(&self) -> bool {
        self.config.ecn.enabled && (self.timers.retries == 0 || !self.config.ecn.fallback)
    }

    fn agree_on_mss(&mut self, peer_mss: u16) {
        let options = if self.agreed.timestamps { TIMESTAMPS_LEN } else { 0 };
        // RFC 9293 §3.7.1: Eff.snd.MSS, less the options of every segment.
        let mss = u32::from(peer_mss.min(self.config.mss)).max(MIN_MSS) - options;
        self.agreed.mss = mss;
        let params = controller_params(&self.config, mss);
        self.congestion = CachedController::of(&self.config, &params);
    }

    /// Completes the handshake: the peer has acknowledged this end's SYN.
    pub(super) fn syn_acknowledged(&mut self, now: Time) {
        self.tx.una = 1;
        self.tx.nxt = self.tx.nxt.max(1);
        if let Timed::Sent(sent) = self.tx.timing.acknowledge(1) {
            self.rtt.sample(sent, now);
        }
        if self.timers.retries > 0 {
            self.rtt.restart_after_lost_syn();
            // RFC 5681 §3.1: after a lost SYN or SYN-ACK the initial window is one segment. A controller that paces
            // may ignore a restart, so it begins anew; one with an initial window of its own heeds a restart alone.
            let mss = self.agreed.mss;
            let initial_window = u64::from(mss);
            let params = Params { initial_window, ..controller_params(&self.config, mss) };
            self.congestion = CachedController::of(&self.config, &params);
            self.congestion.on_idle_restart(initial_window);
        }
        self.timers.retries = 0;
        self.timers.retransmit = Deadline::NEVER;
        self.state = if self.tx.closed { State::FinWait1 } else { State::Established };
        self.events.push(Event::Connected);
        if self.tx.write_blocked && self.writable() > 0 {
            self.tx.write_blocked = false;
            self.events.push(Event::Writable);
        }
    }

    pub(super) fn establish_without_handshake(&mut self, now: Time, agreed: &Established) {
        let accurate = self.assume_accurate();
        let config = &self.config;
        let shift = shift_for(config.buffers.receive);
        self.agreed = Agreed {
            mss: 0,
            scaling: config.extensions.window_scaling.then_some(shift_for(agreed.peer_window)),
            timestamps: config.extensions.timestamps,
            sack: config.extensions.sack,
            ecn: config.ecn.enabled && !accurate,
            mss_announced: true,
        };
        self.agree_on_mss(agreed.peer_mss);
        self.rx.isn = agreed.remote_isn;
        self.rx.last_ack_sent = 1;
        self.rx.window = ReceiveWindow::new(self.config.buffers.receive);
        if self.agreed.scaling.is_some() {
            self.rx.window.set_shift(shift);
        }
        self.rx.window.field(1, 1, self.agreed.mss);
        let largest = u64::from(u16::MAX) << self.agreed.scaling.unwrap_or(0);
        (self.tx.una, self.tx.nxt, self.tx.max) = (1, 1, 1);
        self.tx.set_window(1, agreed.peer_window.min(largest));
        self.pending.ect_unconfirmed = self.config.ecn.enabled;
        self.heard(now);
    }
}
