//! Draws the plan of an application; [`app`](crate::app) carries it out.

use super::spread;
use windlass_base::{Rng, Span};

/// The plan of an application at its end: writes, reads, close or abort.
#[derive(Clone, Debug)]
pub(crate) struct AppSetup {
    /// Bytes to write before it closes.
    pub(crate) total: u64,
    /// Writes are of so many bytes, from and to.
    pub(crate) write: (u64, u64),
    /// Between two writes.
    pub(crate) write_gap: Span,
    /// It writes before the connection is there.
    pub(crate) early_start: bool,
    /// Reads are of so many bytes, from and to.
    pub(crate) read: (u64, u64),
    /// Between two reads; `None`: reads whenever there is something.
    pub(crate) read_gap: Option<Span>,
    /// It does not read before this long after the start.
    pub(crate) read_stall: Span,
    /// It closes only once the peer has.
    pub(crate) close_after_peer: bool,
    /// When it closes after the last write.
    pub(crate) close: Close,
    pub(crate) abort: Option<Abort>,
    /// Both ends take turns, as with requests and responses.
    pub(crate) turns: Option<Turns>,
}

/// Messages of both ends in turn: an end writes its next one when it has read the other's whole.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    /// It writes the first message.
    pub(crate) first: bool,
    /// How many each writes.
    pub(crate) count: u64,
    /// Bytes of each of its own.
    pub(crate) own: u64,
    /// Bytes of each of the peer's.
    pub(crate) peer: u64,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    WithLastWrite,
    After(Span),
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Abort {
    After(Span),
    OnceWritten(u64),
    OnceRead(u64),
}

/// More reads or writes than this make a seed slow.
const MAX_PACED_STEPS: u64 = 60;

impl AppSetup {
    /// `unit`: bytes that go into a segment under the ends' buffers and MSS.
    pub(super) fn draw(rng: &mut Rng, unit: u64) -> AppSetup {
        let total = draw_total(rng, unit);
        let largest = spread(rng, 1, 20_000).max(total / 500 + 1);
        let write = (1 + rng.below(largest), largest);
        let paced_writes = rng.chance(0.25) && total / write.0 < MAX_PACED_STEPS;
        AppSetup {
            total,
            write,
            write_gap: if paced_writes { short_span(rng) } else { Span::ZERO },
            early_start: rng.chance(0.5),
            read: draw_read(rng),
            read_gap: rng.chance(0.25).then(|| short_span(rng)),
            read_stall: if rng.chance(0.2) { long_span(rng) } else { Span::ZERO },
            close_after_peer: rng.chance(0.2),
            close: if rng.chance(0.6) {
                Close::WithLastWrite
            } else {
                Close::After(long_span(rng))
            },
            abort: rng.chance(0.08).then(|| draw_abort(rng, total)),
            turns: None,
        }
    }

    /// Lets both ends take turns: their totals become whole numbers of messages.
    pub(super) fn take_turns(apps: &mut [AppSetup; 2], rng: &mut Rng) {
        let count = rng.between(1, 20);
        let first = rng.below(2) as usize;
        let sizes = [0, 1].map(|end: usize| (apps[end].total / count).max(1));
        for (end, app) in apps.iter_mut().enumerate() {
            let (own, peer) = (sizes[end], sizes[1 - end]);
            app.turns = Some(Turns { first: end == first, count, own, peer });
            app.total = own * count;
        }
    }

    /// Enough to fill large windows.
    pub(super) fn fatten(&mut self, rng: &mut Rng) {
        self.total = rng.between(100_000, 250_000);
        self.write = (50_000, 300_000);
        self.write_gap = Span::ZERO;
    }

    /// Reads are not so small that a seed takes long.
    pub(super) fn read_in_few_steps(&mut self, incoming: u64) {
        let most = if self.read_gap.is_some() { MAX_PACED_STEPS } else { 1000 };
        self.read.0 = self.read.0.max(incoming / most);
        self.read.1 = self.read.1.max(self.read.0);
    }
}

fn draw_total(rng: &mut Rng, unit: u64) -> u64 {
    match rng.below(10) {
        0 => 0,
        1 => rng.below(3 * unit + 1),
        // Long enough to fill windows and overflow queues.
        2 => rng.between(50_000, 200_000).min(unit * 300),
        _ => spread(rng, 1, 100_000.min(unit * 100)),
    }
}

fn draw_read(rng: &mut Rng) -> (u64, u64) {
    let largest = spread(rng, 1, 65_536);
    (1 + rng.below(largest), largest)
}

fn draw_abort(rng: &mut Rng, total: u64) -> Abort {
    match rng.below(4) {
        0 | 1 => Abort::After(long_span(rng)),
        2 => Abort::OnceWritten(rng.below(total + 1)),
        _ => Abort::OnceRead(spread(rng, 1, 20_000)),
    }
}

fn short_span(rng: &mut Rng) -> Span {
    Span::from_micros(spread(rng, 10, 1_000_000))
}

fn long_span(rng: &mut Rng) -> Span {
    Span::from_micros(spread(rng, 10, 100_000_000))
}
