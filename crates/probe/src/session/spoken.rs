//! Results of a dialogue other than HTTP: how many segments its answer fills, and how the measured
//! flight relates to the initial window.

use super::plan::FIRST_FLIGHT_PACKETS_MAX;
use super::{Session, Settings};
use crate::dialogue::Dialogue;
use crate::topic::split::{Exchanged, InitialWindow, Observation, Reaction, Verdict, median};
use crate::topic::{Ending, Heard, Report};
use serde::Serialize;

/// The least MSS that Linux takes from a SYN (`TCP_MIN_MSS`); other systems ignore one as small.
const MSS_LEAST: u16 = 88;

/// A dialogue other than HTTP, and what its results mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spoken {
    /// Its name.
    pub name: &'static str,
    /// The server's data on one connection whose ACKs were as usual, in bytes.
    pub bytes: u64,
    /// Whether the server had no more than that.
    pub whole: bool,
    /// The MSS that the last measured connection announced, in bytes.
    pub mss: u16,
    /// The window when the measured flight left, if segments were acknowledged before it.
    pub window_after: Option<WindowAfter>,
}

/// A congestion window that ACKs may have enlarged.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WindowAfter {
    /// The segments acknowledged before it, the median of the runs.
    pub acked_segments: u32,
    /// The window then, in packets.
    pub packets: u32,
    /// Whether the window ended the flight; if not, `packets` is a lower bound.
    pub exact: bool,
}

impl Session {
    fn scouted(&self) -> Option<&Heard> {
        self.found.as_ref()?.scout.heard.as_ref()
    }

    /// All that the server sends, in bytes; 0 if it is not known.
    pub(super) fn supply(&self) -> u64 {
        self.scouted().filter(|heard| heard.whole).map_or(0, |heard| heard.bytes)
    }

    /// The largest MSS with which the answer fills a large first flight and the packets that the tests
    /// provoke; `None` if the answer is not known to be short. Each run in a row that brought nothing
    /// doubles it: some paths and systems refuse so small an MSS.
    pub(super) fn mss_supplied(&self) -> Option<u16> {
        let heard = self.scouted().filter(|heard| heard.whole)?;
        let packets = FIRST_FLIGHT_PACKETS_MAX + self.packets_provoked_max();
        let fitting = u16::try_from(heard.bytes / u64::from(packets)).unwrap_or(u16::MAX);
        let nothing = |report: &&Report| report.observation.is_none();
        let failed = self.reports.iter().rev().take_while(nothing).count() as u32;
        let doubled = u32::from(fitting.max(MSS_LEAST)) << failed.min(8);
        Some(u16::try_from(doubled).unwrap_or(u16::MAX))
    }

    /// Describes the dialogue, and corrects the verdict: a window after ACKs is no initial window, and the
    /// reason why an answer was too short has numbers.
    pub(super) fn spoken(&self, verdict: Option<&mut Verdict>) -> Option<Spoken> {
        let found = self.found.as_ref()?;
        let heard = found.scout.heard.as_ref()?;
        let Settings { user_agent, exchange, .. } = &self.settings;
        let test = self.settings.tests.first();
        let mss = test.map(|test| self.mss(found.remote, *test));
        let mut spoken = Spoken {
            name: Dialogue::of(&found.url, user_agent, exchange).ok()?.kind.name,
            bytes: heard.bytes,
            whole: heard.whole,
            mss: mss.unwrap_or_else(|| self.mss_usual(found.remote)),
            window_after: None,
        };
        if let Some(verdict) = verdict {
            spoken.window_after = after_acks(&self.reports, verdict);
            self.explain(&spoken, verdict);
        }
        Some(spoken)
    }

    fn explain(&self, spoken: &Spoken, verdict: &mut Verdict) {
        let Spoken { name, bytes, mss, .. } = spoken;
        if let Reaction::Undecided { why } = &mut verdict.reaction
            && self.reports.iter().any(ran_out)
        {
            *why +=
                &format!(" (the dialogue {name} brings {bytes} bytes, with an MSS of {mss} bytes)");
        }
        let lowered = self.mss_supplied().is_some_and(|supplied| supplied == *mss);
        if lowered && self.settings.mss.is_none() {
            verdict.notes.push(format!(
                "the answer has only {bytes} bytes, so the probe announced an MSS of {mss} bytes; a window \
                 that is limited in bytes has another number of segments with the usual MSS"
            ));
        }
        if let Some(WindowAfter { acked_segments, packets, exact }) = spoken.window_after {
            let bound = if exact { "" } else { "at least " };
            verdict.notes.push(format!(
                "the window is {bound}{packets} packets after {acked_segments} acknowledged segments of \
                 the dialogue {name}, each of which may have added one"
            ));
        }
    }
}

fn ran_out(report: &Report) -> bool {
    let ended = |run: &Observation| run.answer_ended;
    report.ending == Ending::TooShort || report.observation.as_ref().is_some_and(ended)
}

/// Takes the window of flights that followed ACKs out of the verdict. Its bound for the initial window
/// stays there: each acknowledged segment added at most one.
pub(super) fn after_acks(reports: &[Report], verdict: &mut Verdict) -> Option<WindowAfter> {
    let runs = reports.iter().flat_map(|report| &report.observation);
    // Those that the window is of: a run that followed a silent one has a larger MSS, which another number of
    // segments before the flight goes with.
    let largest = runs.clone().map(|run| run.mss_offered).max()?;
    let runs = runs.filter(|run| run.mss_offered == largest);
    let exchanged = runs.clone().flat_map(|run| &run.exchanged);
    let acked = |exchanged: &Exchanged| u64::from(exchanged.acked_segments);
    let acked_segments = median(exchanged.map(acked).collect())? as u32;
    let mss = median(runs.map(|run| u64::from(run.mss_seen)).collect())?;
    let window = verdict.initial_window.as_mut().filter(|_| acked_segments > 0)?;
    let after = WindowAfter { acked_segments, packets: window.packets, exact: window.exact };
    let less = |packets: u32| packets.saturating_sub(acked_segments).max(1);
    *window = InitialWindow {
        packets: less(window.packets),
        segments: less(window.segments),
        spread: (less(window.spread.0), less(window.spread.1)),
        bytes: window.bytes.saturating_sub(u64::from(acked_segments) * mss),
        exact: false,
    };
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topic::split::{Model, Test, classify, run_of};

    /// Reports of a byte counter with a window of 12 in its measured flight.
    fn reports(exchanged: Exchanged) -> Vec<Report> {
        let report = |test: Test| Report {
            observation: Some(Observation {
                exchanged: Some(exchanged),
                ..run_of(Model::PerByteUnlimited, test, 12, 3)
            }),
            ..Report::new(Ending::Measured)
        };
        vec![report(Test::Split(1)), report(Test::Split(4))]
    }

    fn window(exchanged: Exchanged) -> (InitialWindow, Option<WindowAfter>) {
        let reports = reports(exchanged);
        let mut verdict = classify(&reports, false);
        let after = after_acks(&reports, &mut verdict);
        (verdict.initial_window.expect("seen"), after)
    }

    #[test]
    fn a_window_after_acks_bounds_the_initial_window() {
        let exchanged = Exchanged { acked_segments: 2, window_ended_flight: true };
        let (initial, after) = window(exchanged);
        let seen = (initial.packets, initial.segments, initial.bytes, initial.exact);
        assert_eq!(seen, (10, 10, 10 * 1460, false));
        assert_eq!(after, Some(WindowAfter { acked_segments: 2, packets: 12, exact: true }));
        let (initial, after) = window(Exchanged { acked_segments: 0, ..exchanged });
        assert_eq!((initial.packets, initial.exact, after), (12, true, None));
    }

    #[test]
    fn a_run_with_another_mss_is_corrected_by_its_own_acks() {
        let exchanged = |acked_segments| Exchanged { acked_segments, window_ended_flight: true };
        let mut all = [0, 0, 0, 2].map(|acked| reports(exchanged(acked)).remove(0));
        for observation in all[..3].iter_mut().flat_map(|report| &mut report.observation) {
            observation.mss_offered /= 2;
        }
        let mut verdict = classify(&all, false);
        let after = after_acks(&all, &mut verdict).map(|after| after.acked_segments);
        assert_eq!((verdict.initial_window.map(|one| one.packets), after), (Some(10), Some(2)));
    }

    #[test]
    fn a_short_end_that_waited_for_an_ack_makes_no_window_exact() {
        let (initial, _) = window(Exchanged { acked_segments: 0, window_ended_flight: false });
        assert_eq!((initial.packets, initial.exact), (12, false));
    }
}
