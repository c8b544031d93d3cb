//! Where the engine does not do what a case demands, on purpose, and why.

/// Cases that controllers of the engine fail.
const ENGINE: &[(&str, &[&str], &str)] = &[
    (
        "restart-after-idle",
        &["prague"],
        "pacing takes the place of the restart, as for all controllers of Linux that pace by themselves; the clause \
         is a SHOULD against bursts",
    ),
    (
        "limited-transmit-with-sack",
        &["prague"],
        "Prague's reference lets all data grow the window that has arrived, also what SACK reports",
    ),
];

/// Cases that they also fail with the options of Linux.
const LINUX: &[(&str, &[&str], &str)] = &[
    (
        "slow-start-counts-an-ack-as-one-segment",
        &["tahoe", "reno", "newreno", "cubic", "dctcp", "new-ecn"],
        "Linux counts all bytes that an ACK covers; RFC 9406 section 4.2 permits it with pacing, and eight segments \
         without",
    ),
    (
        "ssthresh-follows-flightsize",
        &["reno", "newreno"],
        "Linux reduces cwnd and not FlightSize, and validates cwnd while it grows; RFC 9438 section 4.6 permits it \
         to CUBIC",
    ),
    (
        "rto-is-a-second-at-least",
        &[
            "tahoe", "reno", "newreno", "vegas", "cubic", "dctcp", "prague", "bbr", "bbr3",
            "new-ecn", "none",
        ],
        "Linux has a minimum of 200 ms; RFC 8961 has none",
    ),
];

/// The reason of those of RFC 9406.
const NO_HYSTART: &str = "the profile has no HyStart++; RFC 9406 binds those that have it, RFC 9438 section 4.10 recommends it";

/// Cases that they also fail with the options of RFC 5681.
const RFC5681: &[(&str, &[&str], &str)] = &[
    ("a-delay-increase-slows-growth", &["cubic"], NO_HYSTART),
    ("the-threshold-is-an-eighth-of-the-rtt", &["cubic"], NO_HYSTART),
    ("the-threshold-is-four-milliseconds-at-least", &["cubic"], NO_HYSTART),
    ("the-threshold-is-sixteen-milliseconds-at-most", &["cubic"], NO_HYSTART),
    ("fewer-than-eight-samples-decide-nothing", &["cubic"], NO_HYSTART),
    ("conservative-slow-start-grows-by-a-half-at-most", &["cubic"], NO_HYSTART),
    ("conservative-slow-start-grows-by-a-quarter", &["cubic"], NO_HYSTART),
    ("five-rounds-later-congestion-avoidance-begins", &["cubic"], NO_HYSTART),
    ("the-same-rtt-does-not-resume-slow-start", &["cubic"], NO_HYSTART),
    (
        "delayed-acks-count-all-their-segments",
        &["cubic"],
        "an ACK counts for one segment at most, RFC 5681 section 3.1",
    ),
    (
        "the-first-window-is-paced",
        &["bbr3"],
        "the initial window has three segments, not the ten of RFC 6928 that the case counts",
    ),
    (
        "exiting-startup-on-loss-when-application-limited",
        &["bbr3"],
        "behind an initial window of three segments data piles up; while it is sent, the path limits the sender and not the \
         application, and Startup ends",
    ),
    (
        "handling-spurious-rto-recovery",
        &["bbr3"],
        "the pause is shorter than the RTO, whose minimum is a second (RFC 6298 section 2.4)",
    ),
];

/// Cases that kernels of Linux fail, whatever the controller, with what docs/results/judge-kernels.md says of them.
const KERNEL: &[(&str, &str)] = &[
    (
        "initial-window-after-a-lost-syn-ack",
        "Linux begins with one segment only after a second lost SYN, since the RTO of the first is one second",
    ),
    ("slow-start-counts-an-ack-as-one-segment", "an ACK counts for all segments that it covers"),
    (
        "ssthresh-follows-flightsize",
        "Linux takes half of cwnd and not of FlightSize, and PRR sets the window by the data that was delivered",
    ),
    (
        "lost-retransmission-reduces-again",
        "a recovery of Linux has one reduction, however often a retransmission is lost",
    ),
    (
        "a-lost-retransmission-reduces-again",
        "a recovery of Linux has one reduction, however often a retransmission is lost",
    ),
    ("rto-is-a-second-at-least", "Linux has a minimum of 200 ms; RFC 8961 has none"),
    ("the-first-rto-is-a-second", "from 6.5 on SYNs have equal intervals before the RTO doubles"),
    ("two-sacked-segments-show-no-loss", "from 6.17 on Linux finds losses by RACK alone"),
    ("one-ack-of-two-segments-shows-no-loss", "from 6.17 on Linux finds losses by RACK alone"),
    ("one-rescue-in-a-recovery", "from 6.17 on Linux finds losses by RACK alone"),
    ("the-pipe-stays-within-half-the-flight", "Linux always has PRR (RFC 9937)"),
    ("an-echo-at-one-segment-waits-for-the-timer", "the window of Linux has two segments at least"),
    ("echoes-reduce-the-window-to-one-segment", "the window of Linux has two segments at least"),
    (
        "a-lost-cwr-is-sent-with-other-data",
        "the echo that goes on until CWR has arrived reduces once more",
    ),
];

fn find(
    list: &[(&'static str, &[&str], &'static str)],
    case: &str,
    controller: &str,
) -> Option<&'static str> {
    let found = list.iter().find(|(name, by, _)| *name == case && by.contains(&controller));
    found.map(|(_, _, why)| *why)
}

/// Why a kernel of Linux fails a case on purpose.
pub fn of_the_kernel(case: &str) -> Option<&'static str> {
    KERNEL.iter().find(|(name, _)| *name == case).map(|(_, why)| *why)
}

/// Why this controller of the engine fails a case, whatever the options.
pub fn of_the_engine(case: &str, controller: &str) -> Option<&'static str> {
    find(ENGINE, case, controller)
}

/// Why it fails the case with the options of Linux.
pub fn with_linux(case: &str, controller: &str) -> Option<&'static str> {
    of_the_engine(case, controller).or_else(|| find(LINUX, case, controller))
}

/// Why it fails the case with the options of RFC 5681.
pub fn with_rfc5681(case: &str, controller: &str) -> Option<&'static str> {
    of_the_engine(case, controller).or_else(|| find(RFC5681, case, controller))
}

#[cfg(test)]
mod tests {
    use crate::suites::transport::tests::engines_of;
    use crate::suites::{Suite, rfc5681, rfc6582, rfc6675, rfc8985, rfc9937};
    use crate::{Engine, Outcome, Subject};
    use windlass_tcp::Profile;

    fn fails_as_listed(suite: &Suite) {
        for engine in engines_of(Profile::Linux) {
            engine_fails_as_listed(suite, &engine);
        }
    }

    /// The lists are exact: what they do not name passes, and what they name fails.
    fn engine_fails_as_listed(suite: &Suite, engine: &Engine) {
        for case in suite.concerning(engine) {
            let outcome = case.judge(engine).outcome;
            let listed = engine.explains(case.name).is_some();
            let (name, by) = (case.name, engine.name());
            assert_eq!(matches!(outcome, Outcome::Failed(_)), listed, "{name} {by}: {outcome:?}");
        }
    }

    #[test]
    fn of_rfc5681_with_linux() {
        fails_as_listed(&rfc5681::SUITE);
    }

    #[test]
    fn of_rfc6582_with_linux() {
        fails_as_listed(&rfc6582::SUITE);
    }

    #[test]
    fn of_rfc6675_with_linux() {
        fails_as_listed(&rfc6675::SUITE);
    }

    #[test]
    fn of_rfc8985_with_linux() {
        fails_as_listed(&rfc8985::SUITE);
    }

    #[test]
    fn of_rfc9937_with_linux() {
        fails_as_listed(&rfc9937::SUITE);
    }

    #[test]
    fn of_the_other_suites_with_linux() {
        let apart = ["rfc5681", "rfc6582", "rfc6675", "rfc8985", "rfc9937"];
        for suite in crate::suites::SUITES.iter().filter(|suite| !apart.contains(&suite.name)) {
            // Whoever fills each path without end takes half a minute, and has no reaction to judge.
            for engine in engines_of(Profile::Linux).filter(|engine| engine.controller() != "none")
            {
                engine_fails_as_listed(suite, &engine);
            }
        }
    }

    #[test]
    fn of_each_suite_with_the_options_of_rfc5681() {
        for suite in crate::suites::SUITES {
            for engine in
                engines_of(Profile::Rfc5681).filter(|engine| engine.controller() != "none")
            {
                engine_fails_as_listed(suite, &engine);
            }
        }
    }
}
