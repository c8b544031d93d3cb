//! The trials by which a session identifies the server's congestion controller.

use super::{Failure, Session};
use crate::cca::{self, Answer, Controller, Trace};
use crate::dialogue::Dialogue;
use crate::http;
use url::Url;
use windlass_base::Span;

/// Trials of a server. The second one is made if the first one does not decide its controller or its answer to marks.
pub(super) const TRIALS_MAX: usize = 2;
/// Small segments make a large window of few bytes.
pub(super) const MSS: u16 = 256;
/// The receive window: more than any script lets a server fill.
pub(super) const WINDOW_BYTES: u32 = 1 << 20;
/// The pause before a trial. The last flight of the connection before it, 15 kB or more, may still
/// stand in the path's queue; it drains meanwhile on links of 128 kbit/s and more.
pub(super) const PAUSE: Span = Span::from_secs(1);
/// A second trial is made only if the first one took no more.
const BYTES_MAX: u64 = 4_500_000;
/// The bytes that a trial takes of a server with the largest windows.
const BYTES_WANTED: u64 = 6_000_000;
/// Requests on one connection: servers often end it after a hundred.
const REQUESTS_MAX: u64 = 100;
/// Requests for a page of unknown length.
const REQUESTS_OF_UNKNOWN: u64 = 20;

impl Session {
    /// The verdict after the trials so far; `None` before the first, or if controllers are not
    /// asked for.
    pub(super) fn controller(&self) -> Option<Controller> {
        let library = self.settings.controllers.as_ref()?;
        let traces: Vec<&Trace> =
            self.reports.iter().filter_map(|report| report.trace.as_ref()).collect();
        cca::judge(&traces, library)
    }

    /// Why no trial has shown anything.
    pub(super) fn no_trace(&self) -> Option<Failure> {
        self.settings.controllers.as_ref()?;
        let last = self.reports.last().filter(|_| self.controller().is_none())?;
        Some(Failure::Ended { ending: last.ending.clone() })
    }

    /// Whether marks of the path ended a trial. The next one asks for no ECN: a mark that is fed back, as it has to
    /// be (RFC 3168 section 6.1.3), changes the window at a time that is not the script's.
    pub(super) fn path_marks(&self) -> bool {
        self.reports.iter().filter_map(|report| report.trace.as_ref()).any(cca::is_marked)
    }

    /// The path's own round-trip time as far as it is known. The handshake of one connection may find a queue.
    pub(super) fn path_rtt(&self) -> Option<Span> {
        let found = self.found.as_ref()?;
        let all = [&found.scout].into_iter().chain(&self.ecn_reports).chain(&self.reports);
        let least = all.filter_map(|report| report.rtt_ms).min_by(f64::total_cmp)?;
        Some(Span::from_nanos((least * 1e6) as u64))
    }

    /// Whether another trial could tell more.
    pub(super) fn wants_trial(&self) -> bool {
        let Some(verdict) = self.controller() else { return self.reports.is_empty() };
        let undecided = verdict.identity.controllers.is_empty();
        let undecided = undecided && (verdict.trials.1 > 0 || self.path_marks());
        let unclear = verdict.marks.is_some_and(|marks| marks.answer == Answer::Unclear);
        (undecided || unclear) && self.reports.len() < TRIALS_MAX && verdict.bytes <= BYTES_MAX
    }

    /// A dialogue that brings enough data for a trial: the same page, asked for again and again.
    pub(super) fn supplied(&self, dialogue: Dialogue, url: &Url) -> Dialogue {
        let Dialogue::Http { .. } = dialogue else { return dialogue };
        let head = self.found.as_ref().and_then(|found| found.scout.head.as_ref());
        let length = head.and_then(|head| head.content_length);
        let count = match length {
            Some(bytes) => BYTES_WANTED.div_ceil(bytes.max(1)).clamp(1, REQUESTS_MAX),
            None => REQUESTS_OF_UNKNOWN,
        };
        let request = http::requests(url, &self.settings.user_agent, count as usize);
        Dialogue::Http { request }
    }
}
