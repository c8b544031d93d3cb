//! The receiver and the bottleneck in one: decides when, and whether, a packet is acknowledged.
//!
//! A packet that the path itself lost is acknowledged as if it had come, since the probe needs none of its
//! bytes. So the server sees the losses of the script and no others.

use super::script::{Event, Script, Stage};
use super::trace::{Round, TRAIN, Trace};
use crate::topic::ecn::Mode;
use std::collections::VecDeque;
use std::ops::Range;
use windlass_base::{Span, Time};
use windlass_tcp::RangeSet;

/// SACK blocks in an ACK; three are the most beside timestamps.
const BLOCKS_MAX: usize = 3;
/// The longest run of the script.
pub(crate) const TIME_MAX: Span = Span::from_secs(32);
/// The most bytes that a script takes.
const BYTES_MAX: u64 = 10_000_000;
/// The most packets that are taken.
const PACKETS_MAX: u32 = 60_000;
/// The script ends on a path that loses more packets than this share, beyond one burst: to hide that would
/// leave its other users with them.
const PATH_LOSS_MAX: f64 = 0.05;
const PATH_LOSSES_FREE: u32 = 250;
/// A server that sends nothing for so long will not go on.
const SILENCE_MAX: Span = Span::from_secs(4);
/// Bytes that may be missing at once. More is no loss but another stream.
const GAP_BYTES_MAX: u64 = 1 << 20;

/// An ACK to send, in offsets of the server's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) number: u64,
    pub(crate) sack: Vec<Range<u64>>,
    /// Feeds back a CE mark.
    pub(crate) marked: bool,
}

/// A data packet as it arrives.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Data {
    pub(crate) start: u64,
    pub(crate) len: u32,
    /// The sender says that it has reduced its window (RFC 3168).
    pub(crate) cwr: bool,
    /// The path has marked it.
    pub(crate) marked: bool,
    /// The sender's stream ends with it.
    pub(crate) fin: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    script: Script,
    path_rtt: Span,
    begun: Time,
    stage: usize,
    /// Steady rounds of this stage.
    steady: u32,
    /// Ranges of the stream that have passed the bottleneck.
    delivered: RangeSet,
    /// The position after the highest byte that has arrived.
    highest: u64,
    /// Ranges that later packets have overtaken. The probe acknowledges them all the same.
    missing: RangeSet,
    /// The range that the script dropped, until its retransmission comes.
    lost: Option<Range<u64>>,
    /// When it was lost.
    lost_at: Time,
    lose_next: bool,
    /// The recovery is over once everything below is acknowledged.
    recovery: Option<u64>,
    queue: VecDeque<Queued>,
    /// When the bottleneck is free again.
    free: Time,
    acks_sent: VecDeque<(Time, u64)>,
    /// The last ACK number of which the server's packets can know.
    known_acked: u64,
    /// The round ends with the ACK of this position; not known until the server's answer to the ACK that
    /// began the round arrives.
    round_end: Option<u64>,
    /// The ACK number that began the round.
    round_begin: u64,
    round_window: u64,
    /// ACKs of this round that fed back a mark.
    round_marks: u32,
    /// A loss of the script was not repaired during the whole of this round.
    round_recovering: bool,
    /// When the first ACK left that shows the loss.
    loss_shown: Option<Time>,
    /// Losses of the script so far.
    losses: usize,
    echo: Echo,
    /// A mark of the path has been fed back. The server's response to it is no answer to the
    /// script, which ends with the round.
    path_mark_fed_back: bool,
    packets: u32,
    delivered_packets: u32,
    trace: Trace,
    /// The end of the server's stream, once its FIN has come.
    end: Option<u64>,
    /// When the last packets with data came.
    train: VecDeque<Time>,
    last_arrival: Time,
    done: bool,
}

/// Bytes in the bottleneck or on their way through it.
#[derive(Clone, Debug)]
struct Queued {
    /// When they are acknowledged.
    due: Time,
    range: Range<u64>,
    /// The path has marked the packet.
    marked: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Echo {
    Never,
    /// On every ACK, until the sender answers by CWR.
    UntilCwr,
    /// On the next ACK.
    Once,
    /// On the ACK of every packet of this many.
    Every(u32),
}

impl Shaper {
    pub(crate) fn new(script: Script, path_rtt: Span, ecn: Mode, now: Time) -> Shaper {
        let trace = Trace {
            rtt_ms: script.rtt.as_millis_f64(),
            path_rtt_ms: path_rtt.as_millis_f64(),
            ecn: ecn != Mode::None,
            accurate: ecn == Mode::Accurate,
            ..Trace::default()
        };
        Shaper {
            script,
            path_rtt,
            begun: now,
            stage: 0,
            steady: 0,
            delivered: RangeSet::new(),
            highest: 0,
            missing: RangeSet::new(),
            lost: None,
            lost_at: now,
            lose_next: false,
            recovery: None,
            queue: VecDeque::new(),
            free: now,
            acks_sent: VecDeque::new(),
            known_acked: 0,
            round_end: None,
            round_begin: 0,
            round_window: 0,
            round_marks: 0,
            round_recovering: false,
            loss_shown: None,
            losses: 0,
            echo: Echo::Never,
            path_mark_fed_back: false,
            packets: 0,
            delivered_packets: 0,
            trace,
            end: None,
            train: VecDeque::with_capacity(TRAIN + 1),
            last_arrival: now,
            done: false,
        }
    }

    /// The handshake of this connection took so much longer than the path's round-trip time.
    pub(crate) fn queued(mut self, queued: Span) -> Shaper {
        self.trace.queued_ms = queued.as_millis_f64();
        self
    }

    /// When the ACK of the handshake may leave: the server then sees the script's round-trip time from the
    /// beginning.
    pub(crate) fn opens_at(&self) -> Time {
        self.begun + self.script.rtt.saturating_sub(self.path_rtt)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    pub(crate) fn into_trace(self) -> Trace {
        self.trace
    }

    fn stage(&self) -> Option<&Stage> {
        self.script.stages.get(self.stage)
    }

    /// Takes a data packet.
    pub(crate) fn take(&mut self, now: Time, data: Data) {
        let range = data.start..data.start + u64::from(data.len);
        self.last_arrival = now;
        self.packets = self.packets.saturating_add(1);
        if data.fin {
            self.end = Some(range.end);
        }
        if range.is_empty() {
            return;
        }
        self.time_train(now);
        self.trace.bytes += u64::from(data.len);
        self.trace.mss = self.trace.mss.max(data.len);
        self.trace.path_marks += u32::from(data.marked);
        if data.cwr && self.echo == Echo::UntilCwr {
            self.echo = Echo::Never;
        }
        if range.start > self.highest + GAP_BYTES_MAX {
            return;
        }
        if range.end <= self.highest {
            return self.take_again(now, range, data.marked);
        }
        if range.start > self.highest {
            let gap = self.highest..range.start;
            self.trace.path_losses += self.packets_of(gap.end - gap.start);
            self.missing.insert(gap.clone());
            self.enqueue(now, gap, false);
        }
        self.measure(now, range.end);
        self.highest = range.end;
        if std::mem::take(&mut self.lose_next) {
            (self.lost, self.lost_at) = (Some(range), now);
            self.losses += 1;
            self.loss_shown = None;
            self.round_recovering = true;
        } else {
            self.enqueue(now, range, data.marked);
        }
    }

    /// Notes how fast the last packets came.
    fn time_train(&mut self, now: Time) {
        self.train.push_back(now);
        if self.train.len() > TRAIN
            && let Some(first) = self.train.pop_front()
        {
            // Packets that are read at once have the same time.
            let took = now.saturating_since(first).max(Span::from_micros(1));
            let packets_per_s = TRAIN as f64 / took.as_secs_f64();
            self.trace.packets_per_s = self.trace.packets_per_s.max(packets_per_s);
        }
    }

    /// Packets of full size for so many bytes.
    fn packets_of(&self, bytes: u64) -> u32 {
        let mss = u64::from(self.trace.mss.max(1));
        u32::try_from(bytes.div_ceil(mss)).unwrap_or(u32::MAX)
    }

    /// Takes a packet that has no new bytes: a retransmission, a copy, or one that was overtaken.
    fn take_again(&mut self, now: Time, range: Range<u64>, marked: bool) {
        let overtaken = self.missing.remove(range.clone());
        if overtaken > 0 {
            let packets = self.packets_of(overtaken);
            self.trace.path_losses = self.trace.path_losses.saturating_sub(packets);
            self.trace.reordered += 1;
            // It is acknowledged already, as if it had come in its place.
            if marked {
                self.enqueue(now, range, marked);
            }
            return;
        }
        let is_lost = |lost: &Range<u64>| lost.start >= range.start && lost.start < range.end;
        // The server cannot have learnt of the loss: the path has copied the packet before.
        let too_soon = now.saturating_since(self.lost_at) < self.script.rtt / 2;
        let copies_lost = too_soon && self.lost.as_ref().is_some_and(is_lost);
        // Nor has it cause to send again what is not acknowledged yet, and is on its way to be.
        let is_pending =
            !self.lost.as_ref().is_some_and(is_lost) && !self.delivered.contains(&range);
        if copies_lost || is_pending && !marked {
            self.trace.duplicated += 1;
            return;
        }
        match self.lost.take_if(|lost| is_lost(lost)) {
            Some(lost) => {
                self.note_loss(lost.start);
                self.recovery = Some(self.highest);
                self.enqueue(now, lost.start..range.end.max(lost.end), marked);
            }
            None => {
                self.trace.repeated += 1;
                self.enqueue(now, range, marked);
            }
        }
    }

    fn enqueue(&mut self, now: Time, range: Range<u64>, marked: bool) {
        let spacing = Span::from_nanos(1_000_000_000 / u64::from(self.script.packets_per_s.max(1)));
        self.free = self.free.max(now) + spacing;
        let factor = self.stage().map_or(1.0, |stage| stage.rtt_factor);
        let rtt = Span::from_nanos((self.script.rtt.as_nanos() as f64 * factor) as u64);
        let due = self.free + rtt.saturating_sub(self.path_rtt);
        // A path does not reorder when its delay falls.
        let due = self.queue.back().map_or(due, |last| due.max(last.due));
        self.queue.push_back(Queued { due, range, marked });
    }

    /// Notes how much is in flight, as a packet up to `end` shows it, which has just arrived.
    fn measure(&mut self, now: Time, end: u64) {
        while let Some((at, number)) = self.acks_sent.front().copied()
            && at + self.path_rtt <= now
        {
            self.known_acked = number;
            self.acks_sent.pop_front();
        }
        // Before, the server does not know of the ACK that began the round.
        if self.known_acked >= self.round_begin {
            self.round_end.get_or_insert(end);
            self.round_window = self.round_window.max(end.saturating_sub(self.known_acked));
        }
        if let (Some(lost), Some(at)) = (&self.lost, self.loss_shown)
            && at + self.path_rtt <= now
        {
            self.note_loss(lost.start);
        }
    }

    /// Notes, once for each loss, what is in flight when the server learns of it.
    fn note_loss(&mut self, lost: u64) {
        if self.trace.losses.len() < self.losses {
            let flight = self.highest.saturating_sub(lost) as f64;
            self.trace.losses.push(flight / f64::from(self.trace.mss.max(1)));
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let silent = self.last_arrival + SILENCE_MAX;
        (!self.done).then(|| self.queue.front().map_or(silent, |first| first.due.min(silent)))
    }

    /// The next ACK that is due.
    pub(crate) fn poll_ack(&mut self, now: Time) -> Option<Ack> {
        let all_in = self.queue.is_empty() && self.end.is_some_and(|end| self.highest >= end);
        let arrived = self.trace.bytes as f64 / f64::from(self.trace.mss.max(1));
        let lost = f64::from(self.trace.path_losses.saturating_sub(PATH_LOSSES_FREE));
        self.trace.lossy |= lost > PATH_LOSS_MAX * arrived;
        let too_much = self.trace.bytes > BYTES_MAX || self.packets > PACKETS_MAX;
        let too_much = too_much || self.trace.lossy;
        self.done |= all_in || too_much || now >= self.last_arrival + SILENCE_MAX;
        self.queue.front().filter(|first| first.due <= now)?;
        let Queued { range, marked: path_marked, .. } = self.queue.pop_front()?;
        self.delivered.insert(range.clone());
        self.delivered_packets = self.delivered_packets.wrapping_add(1);
        let number = self.delivered.range_at(0).map_or(0, |first| first.end);
        if path_marked && self.trace.ecn {
            self.feed_back_path_mark();
        }
        let marked = match self.echo {
            Echo::Never => false,
            Echo::UntilCwr => true,
            Echo::Once => {
                self.echo = Echo::Never;
                true
            }
            Echo::Every(n) => self.delivered_packets.is_multiple_of(n.max(1)),
        };
        self.round_marks += u32::from(marked);
        self.acks_sent.push_back((now, number));
        if self.lost.as_ref().is_some_and(|lost| range.start >= lost.end) {
            self.loss_shown.get_or_insert(now);
        }
        if self.round_end.is_some_and(|end| number >= end) {
            self.end_round(now, number);
        }
        Some(Ack { number, sack: self.blocks(number, &range), marked })
    }

    /// RFC 3168 section 6.1.3: a mark of the path is fed back like one of the script. Its ACK feeds it back, and
    /// in classic ECN all others until CWR.
    fn feed_back_path_mark(&mut self) {
        self.path_mark_fed_back = true;
        self.echo = if self.trace.accurate { Echo::Once } else { Echo::UntilCwr };
    }

    /// The SACK blocks: first the one with the newest packet (RFC 2018 section 4).
    fn blocks(&self, number: u64, newest: &Range<u64>) -> Vec<Range<u64>> {
        let above = |range: &&Range<u64>| range.start > number;
        let newest = self.delivered.range_at(newest.start).filter(|range| range.start > number);
        let others = self.delivered.as_slice().iter().rev().filter(above).cloned();
        let others = others.filter(|range| Some(range) != newest.as_ref());
        newest.iter().cloned().chain(others).take(BLOCKS_MAX).collect()
    }

    fn end_round(&mut self, now: Time, number: u64) {
        let Some(stage) = self.stage().cloned() else { return };
        if self.path_mark_fed_back {
            self.done = true;
            return;
        }
        let window = self.round_window as f64 / f64::from(self.trace.mss.max(1));
        self.trace.rounds.push(Round {
            show: stage.show,
            at_ms: now.saturating_since(self.begun).as_millis_f64(),
            window,
            recovering: self.round_recovering,
            marked: self.round_marks > 0,
            marks: self.round_marks,
        });
        self.recovery = self.recovery.filter(|point| number < *point);
        let recovering = self.lost.is_some() || self.recovery.is_some() || self.lose_next;
        let steady = !std::mem::replace(&mut self.round_recovering, recovering);
        (self.round_end, self.round_begin) = (None, number);
        (self.round_window, self.round_marks) = (0, 0);
        self.steady += u32::from(steady);
        let enough = stage.until_window.is_some_and(|segments| window >= f64::from(segments));
        if steady && (enough || self.steady >= stage.rounds) {
            self.next_stage();
        }
    }

    fn next_stage(&mut self) {
        self.stage += 1;
        self.steady = 0;
        let Some(stage) = self.script.stages.get(self.stage) else {
            self.trace.complete = true;
            self.done = true;
            return;
        };
        self.echo = match stage.event {
            // Accurate feedback counts the one mark; classic feedback lasts until CWR.
            Event::MarkOne if self.trace.accurate => Echo::Once,
            Event::MarkOne => Echo::UntilCwr,
            Event::MarkEvery(n) => Echo::Every(n),
            Event::None | Event::LoseOne => Echo::Never,
        };
        self.lose_next = stage.event == Event::LoseOne;
    }
}
