//! A connection of the host: the engine's connection, the program's writes, and the host's timers.

use super::burst::Burst;
use super::chrono::Chrono;
use super::queue::{Flush, SendQueue, unsent};
use super::socket::Options;
use super::wire::{Ends, Marking, emit};
use crate::call::Fd;
use std::collections::BTreeSet;
use windlass_base::{Span, Time};
use windlass_tcp::{Connection, Ecn, State};

/// The socket that has a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A listening socket, until `accept`.
    Listener(Fd),
    /// A socket.
    Socket(Fd),
    /// None any more: its socket is closed.
    Orphan,
}

/// Linux holds data back for TCP_CORK and MSG_MORE for 200 ms at most, if nothing is in flight.
const CORK_AT_MOST: Span = Span::from_millis(200);

/// The most bytes of a packet with several segments (GSO_LEGACY_MAX_SIZE less the longest headers).
const PACKET_BYTES_MAX: u64 = 65_215;

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) ends: Ends,
    pub(super) connection: Connection,
    pub(super) options: Options,
    pub(super) owner: Owner,
    pub(super) queue: SendQueue,
    /// Ends of the packets of data that have left, as stream offsets.
    packet_ends: BTreeSet<u64>,
    /// The error that the next call returns (sk_err).
    pub(super) error: Option<i32>,
    /// A softer error, for the case that the connection times out (sk_err_soft).
    pub(super) soft_error: Option<i32>,
    /// `shutdown` for reading.
    pub(super) reads_nothing: bool,
    pub(super) seen: Seen,
    pub(super) chrono: Chrono,
    /// The program waits for room to write.
    pub(super) wants_room: bool,
    /// When data that is held back leaves nevertheless.
    pub(super) cork_until: Option<Time>,
    /// When a closed connection in FIN-WAIT-2 is given up.
    pub(super) fin_until: Option<Time>,
    /// When the connection fails if nothing is acknowledged (TCP_USER_TIMEOUT).
    pub(super) user_until: Option<Time>,
    /// Bytes acknowledged when `user_until` was set.
    pub(super) acked: u64,
}

/// When and how much, for `tcp_info`.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) data_sent: Time,
    pub(super) data_received: Time,
    pub(super) ack_received: Time,
    pub(super) segments_out: u64,
    pub(super) data_segments_in: u64,
    pub(super) bytes_sent: u64,
    pub(super) bytes_retransmitted: u64,
    /// The largest payload of a segment that arrived, in bytes (`rcv_mss`).
    pub(super) largest: u32,
    pub(super) out_of_order: u64,
    /// The largest window that the peer has announced, in bytes.
    pub(super) window: u64,
}

impl Link {
    pub(super) fn new(now: Time, ends: Ends, connection: Connection, options: Options) -> Link {
        let seen =
            Seen { data_sent: now, data_received: now, ack_received: now, ..Seen::default() };
        Link {
            ends,
            connection,
            options,
            owner: Owner::Orphan,
            queue: SendQueue::default(),
            packet_ends: BTreeSet::new(),
            error: None,
            soft_error: None,
            reads_nothing: false,
            seen,
            chrono: Chrono::default(),
            wants_room: false,
            cork_until: None,
            fin_until: None,
            user_until: None,
            acked: 0,
        }
    }

    /// Bytes written and not acknowledged, wherever they wait.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.connection.bytes_written() - self.connection.bytes_acked() + self.queue.len()
    }

    /// Bytes that were not sent.
    pub(super) fn unsent(&self) -> u64 {
        unsent(&self.connection) + self.queue.len()
    }

    /// True if written data must wait for more, or for the 200 ms.
    fn is_corked(&self) -> bool {
        self.options.cork || self.queue.expects_more()
    }

    /// The program has written, or wants its data to leave.
    pub(super) fn push(&mut self, now: Time) {
        let flush = if self.is_corked() && !self.queue.fin { Flush::Hold } else { Flush::All };
        self.queue.feed(&mut self.connection, flush, true);
        self.hold(now);
    }

    /// Sends the data that is held back. `pushes`: with PSH.
    pub(super) fn release(&mut self, now: Time, pushes: bool) {
        self.queue.feed(&mut self.connection, Flush::All, pushes);
        self.hold(now);
    }

    /// An ACK has arrived. Data that MSG_MORE alone held back leaves, as `tcp_data_snd_check` does not know of the flag.
    pub(super) fn release_after_ack(&mut self, now: Time) {
        let quiet = self.connection.in_flight() == 0;
        if self.queue.len() > 0 && !self.options.cork && (self.options.nodelay || quiet) {
            self.release(now, !self.queue.expects_more());
        }
    }

    /// Starts or stops the timer of data that is held back, and closes once there is none.
    fn hold(&mut self, now: Time) {
        let held = self.queue.len() > 0 && self.is_corked();
        self.cork_until = match self.cork_until {
            _ if !held => None,
            Some(until) => Some(until),
            None => Some(now + CORK_AT_MOST),
        };
        if self.queue.fin && self.queue.len() == 0 {
            self.queue.fin = false;
            self.connection.close(now);
        }
    }

    /// Puts every packet that is to leave now into `out`.
    pub(super) fn transmit(&mut self, now: Time, least: u64, out: &mut Vec<Vec<u8>>) {
        loop {
            self.connection.set_nagle(!self.options.nodelay && !self.queue.is_behind_record());
            let most = self.segments_of_packet(least);
            let acked = self.connection.bytes_acked();
            self.packet_ends = self.packet_ends.split_off(&acked);
            let mut burst = Burst::default();
            while let Some(run) = self.connection.poll_transmit(now, most, &mut ()) {
                self.account(now, &run);
                burst.add(&run, |end| self.queue.is_silent(end));
            }
            // cwnd may have restarted with the first segment after idle time.
            let most = self.segments_of_packet(least);
            for (segment, ecn) in burst.packets(most, &mut self.packet_ends) {
                out.extend(emit(self.ends, &segment, self.marking(ecn)));
            }
            if !self.queue.is_behind_record() || unsent(&self.connection) > 0 {
                break;
            }
            self.push(now);
        }
    }

    fn marking(&self, ecn: Ecn) -> Marking {
        Marking { ecn, tos: self.options.tos, hop_limit: self.options.ttl }
    }

    fn account(&mut self, now: Time, run: &windlass_tcp::Run) {
        let bytes = u64::from(run.first.payload_len) * u64::from(run.count);
        self.seen.segments_out += u64::from(run.count);
        self.seen.bytes_sent += bytes;
        if bytes > 0 {
            self.seen.data_sent = now;
        }
        if run.retransmission {
            self.seen.bytes_retransmitted += bytes;
        }
    }

    /// How many full segments leave in one packet: a millisecond's worth of the rate, more on a path with a very short
    /// RTT, and `least` at least (`tcp_tso_autosize`), but no more than half of cwnd (`tcp_cwnd_test`).
    fn segments_of_packet(&self, least: u64) -> u32 {
        let connection = &self.connection;
        let mss = u64::from(connection.mss()).max(1);
        let half = connection.cwnd() as u64 / mss / 2;
        let most = (PACKET_BYTES_MAX / mss).min(half).max(1);
        let Some(srtt) = connection.smoothed_rtt() else { return most as u32 };
        let cwnd = connection.cwnd();
        let ratio = if cwnd < connection.ssthresh() as f64 / 2.0 { 2.0 } else { 1.2 };
        let rate = ratio * cwnd / srtt.as_secs_f64().max(1e-6);
        let min_rtt_us = connection.min_rtt().map_or(0, |rtt| rtt.as_nanos() / 1000);
        let near = 65_536u64.checked_shr((min_rtt_us >> 9).min(64) as u32).unwrap_or(0);
        let bytes = (rate / 1024.0) as u64 + near;
        (bytes / mss).clamp(least.min(most), most) as u32
    }

    /// The next time at which the connection has something to do.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        let timers = [self.cork_until, self.fin_until, self.user_until];
        timers.into_iter().flatten().chain(self.connection.poll_timeout()).min()
    }

    /// Runs the timers that are due.
    pub(super) fn wake(&mut self, now: Time) {
        self.connection.handle_timeout(now, &mut ());
        let due = |timer: &mut Option<Time>| timer.take_if(|at| *at <= now).is_some();
        if due(&mut self.cork_until) {
            self.release(now, true);
        }
        if due(&mut self.fin_until) && self.connection.state() == State::FinWait2 {
            self.connection.fail(windlass_tcp::Error::TimedOut);
        }
        if due(&mut self.user_until) {
            self.connection.fail(windlass_tcp::Error::TimedOut);
        }
    }

    /// Watches TCP_USER_TIMEOUT: it runs while something is unacknowledged, and starts anew with each progress.
    pub(super) fn watch_user_timeout(&mut self, now: Time) {
        let outstanding = self.connection.in_flight() > 0 || self.unacknowledged() > 0;
        let progress = self.connection.bytes_acked() != self.acked;
        self.acked = self.connection.bytes_acked();
        if self.options.user_timeout_ms == 0 || !outstanding {
            self.user_until = None;
        } else if self.user_until.is_none() || progress {
            let span = Span::from_millis(self.options.user_timeout_ms.into());
            self.user_until = Some(now + span);
        }
    }

    /// True if less than half of the send buffer is in use, so that a program that waits for room gets it
    /// (`sk_stream_write_space`), or any is free for one that asks (`sk_stream_memory_free`).
    pub(super) fn has_room(&self, send_buffer: u64, woken: bool) -> bool {
        let used = self.memory();
        if woken { send_buffer.saturating_sub(used) >= used / 2 } else { used < send_buffer }
    }

    /// The bytes that Linux would count for the data in the buffer (sk_wmem_queued).
    fn memory(&self) -> u64 {
        /// An sk_buff without payload, and its shared part.
        const OVERHEAD: u64 = 1280;
        let bytes = self.unacknowledged();
        bytes + bytes.div_ceil(self.size_goal()) * OVERHEAD
    }

    /// The bytes that a write adds to the buffer at once: as many full segments as a packet may have, and no more than
    /// half of the peer's largest window (`tcp_send_mss`, `tcp_bound_to_half_wnd`).
    pub(super) fn size_goal(&self) -> u64 {
        let mss = u64::from(self.connection.mss()).max(1);
        (PACKET_BYTES_MAX.min(self.seen.window / 2) / mss).max(1) * mss
    }

    /// Remembers the window that the peer announces.
    pub(super) fn note_window(&mut self) {
        let connection = &self.connection;
        let window = connection.peer_window_edge().saturating_sub(connection.bytes_acked());
        self.seen.window = self.seen.window.max(window);
    }
}
