//! The trials by which a session identifies the server's congestion controller.

use super::library::Library;
use super::marks::Answer;
use super::order::ScriptOrder;
use super::trace::Trace;
use super::verdict::{Controller, is_marked, judge};
use crate::topic::Report;
use crate::topic::ecn::{Ask, Capability, Mode};
use windlass_base::Span;

/// Trials of a server. The second one is made if the first one does not decide its controller or its answer to marks.
pub(crate) const TRIALS_MAX: usize = 2;
/// Small segments make a large window of few bytes.
pub(crate) const MSS: u16 = 256;
/// The receive window: more than any script lets a server fill.
pub(crate) const WINDOW_BYTES: u32 = 1 << 20;
/// The pause before a trial. The last flight of the connection before it, 15 kB or more, may still
/// stand in the path's queue; it drains meanwhile on links of 128 kbit/s and more.
pub(crate) const PAUSE: Span = Span::from_secs(1);
/// A second trial is made only if the first one took no more.
const BYTES_MAX: u64 = 4_500_000;
/// The bytes that a trial takes of a server with the largest windows.
const BYTES_WANTED: u64 = 6_000_000;
/// Requests on one connection: servers often end it after a hundred.
const REQUESTS_MAX: u64 = 100;
/// Requests for a page of unknown length.
const REQUESTS_OF_UNKNOWN: u64 = 20;

/// The verdict after these trials; `None` before the first.
pub(crate) fn verdict(trials: &[Report], library: &Library) -> Option<Controller> {
    let traces: Vec<&Trace> = trials.iter().filter_map(|report| report.trace.as_ref()).collect();
    judge(&traces, library)
}

/// The next trial after these, and after connections that asked for ECN; `None` if another one shows no more.
/// `handshakes` are all connections to the server.
pub(crate) fn next<'a>(
    trials: &[Report],
    ecn: &[Report],
    handshakes: impl Iterator<Item = &'a Report>,
    library: &Library,
) -> Option<ScriptOrder> {
    // The handshake of one connection may find a queue.
    let path_rtt = handshakes.filter_map(|report| report.rtt_ms).min_by(f64::total_cmp);
    wants_another(trials, library).then(|| ScriptOrder {
        ecn: ask(ecn, trials),
        path_rtt: path_rtt.map(|ms| Span::from_nanos((ms * 1e6) as u64)),
    })
}

/// Whether another trial could tell more.
fn wants_another(trials: &[Report], library: &Library) -> bool {
    let Some(verdict) = verdict(trials, library) else { return trials.is_empty() };
    let undecided = verdict.identity.controllers.is_empty();
    let undecided = undecided && (verdict.trials.1 > 0 || path_marks(trials));
    let unclear = verdict.marks.is_some_and(|marks| marks.answer == Answer::Unclear);
    (undecided || unclear) && trials.len() < TRIALS_MAX && verdict.bytes <= BYTES_MAX
}

/// The request of a trial's SYN: the kind that the server negotiates, as far as it is known.
/// `None` on a path that marks.
fn ask(ecn: &[Report], trials: &[Report]) -> Option<Ask> {
    let capability = Capability::of(ecn).filter(|capability| capability.mode != Mode::None);
    let trial = capability.as_ref().and_then(Capability::trial);
    let ask = trial.map_or(Ask::Accurate, |trial| trial.negotiation.ask);
    (!path_marks(trials)).then_some(ask)
}

/// Whether marks of the path ended a trial. The next one asks for no ECN: a mark that is fed back, as it has to
/// be (RFC 3168 section 6.1.3), changes the window at a time that is not the script's.
fn path_marks(trials: &[Report]) -> bool {
    trials.iter().filter_map(|report| report.trace.as_ref()).any(is_marked)
}

/// The requests for the same page of `length` bytes that bring enough data for a trial.
pub(crate) fn requests(length: Option<u64>) -> usize {
    let count = match length {
        Some(bytes) => BYTES_WANTED.div_ceil(bytes.max(1)).clamp(1, REQUESTS_MAX),
        None => REQUESTS_OF_UNKNOWN,
    };
    count as usize
}
