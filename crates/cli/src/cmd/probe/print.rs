//! The text output of `windlass probe`.

use crate::stdout;
use windlass_probe::SynAck;
use windlass_probe::burst::{RUNS_MIN, SizeRow};
use windlass_probe::cca::Controller;
use windlass_probe::session::{BurstOutcome, Failure, Outcome, TestRow};
use windlass_probe::split::{InitialWindow, Verdict};

const HEADER: [&str; 12] = [
    "test",
    "split",
    "ACKs",
    "data packets",
    "if ACKs count",
    "if bytes count",
    "retransmits",
    "total",
    "bytes",
    "MSS",
    "initial window",
    "RTT",
];

const BURST_HEADER: [&str; 8] =
    ["packets", "runs", "first RTT", "last RTT", "added", "rate", "lost", "share of loss"];

/// The verdict of the tests, then their table.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut lines = Vec::new();
    let Outcome { address, server, syn_ack, .. } = outcome;
    lines.extend(outcome.url.as_ref().map(|url| about(url, address, server, syn_ack)));
    lines.extend(outcome.ecn.as_ref().map(|ecn| format!("ECN: {ecn}")));
    match (&outcome.controller, &outcome.verdict) {
        (Some(verdict), _) => lines.extend(controller(verdict)),
        (None, Some(verdict)) => lines.extend(tell(verdict)),
        (None, None) => {
            lines.push(not_measured(
                &outcome.target,
                outcome.failure.as_ref(),
                outcome.interrupted,
            ));
        }
    }
    lines.extend(interrupted(outcome.interrupted, outcome.runs.len()));
    if outcome.url.is_some() && !outcome.unanswered.is_empty() {
        let silent = outcome.unanswered.join(", ");
        lines.push(format!("note: other addresses of the name did not answer: {silent}"));
    }
    lines.extend(outcome.controller.iter().flat_map(windows));
    if !outcome.tests.is_empty() {
        lines.push(stdout::table(&HEADER, outcome.tests.iter().map(row)));
    }
    lines.join("\n")
}

/// The comparison of the sizes, then their table.
pub(super) fn burst(outcome: &BurstOutcome) -> String {
    let mut lines = Vec::new();
    let BurstOutcome { address, server, syn_ack, .. } = outcome;
    lines.extend(outcome.url.as_ref().map(|url| about(url, address, server, syn_ack)));
    let verdict = &outcome.verdict;
    if verdict.sizes.is_empty() {
        lines.push(not_measured(&outcome.target, outcome.failure.as_ref(), outcome.interrupted));
        return lines.join("\n");
    }
    lines.push(match &verdict.difference {
        Some(difference) => format!("result: {difference}"),
        None => format!("undecided: fewer than two sizes have {RUNS_MIN} measured runs"),
    });
    lines.extend(verdict.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(interrupted(outcome.interrupted, outcome.runs.len()));
    lines.push(stdout::table(&BURST_HEADER, verdict.sizes.iter().map(size)));
    lines.join("\n")
}

fn size(row: &SizeRow) -> Vec<String> {
    let ms = |number: Option<f64>| number.map_or("-".to_owned(), |ms| format!("{ms:.2} ms"));
    let (made, measured) = row.runs;
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let loss = &row.loss;
    let interval = format!("{} to {} %", percent(loss.low), percent(loss.high));
    vec![
        row.packets.to_string(),
        format!("{measured} of {made}"),
        ms(row.rtt_first_ms),
        ms(row.rtt_last_ms),
        ms(row.added_ms),
        row.rate_mbit.map_or("-".to_owned(), |rate| format!("{rate:.2} Mbit/s")),
        format!("{} of {}", row.lost, row.sent),
        if row.sent > 0 { interval } else { "-".to_owned() },
    ]
}

fn not_measured(target: &str, failure: Option<&Failure>, interrupted: bool) -> String {
    match failure {
        // Its own text names the host, which a redirect may have given.
        Some(Failure::NoSuchHost { host, why }) if target.contains(host.as_str()) => {
            format!("{target}: not measured: no such host: {why}")
        }
        Some(failure) => format!("{target}: not measured: {failure}"),
        None if interrupted => format!("{target}: not measured: interrupted"),
        None => format!("{target}: not measured"),
    }
}

/// A note, if Ctrl-C ended the measurement after some runs.
fn interrupted(was: bool, runs: usize) -> Option<String> {
    (was && runs > 0).then(|| format!("note: interrupted after {runs} runs, on which this rests"))
}

fn about(
    url: &str,
    address: &Option<String>,
    server: &Option<String>,
    syn_ack: &Option<SynAck>,
) -> String {
    let address = address.as_deref().unwrap_or("?");
    let server = server.as_deref().unwrap_or("a server without a name");
    let announced = syn_ack.and_then(|syn_ack| syn_ack.mss);
    let announced =
        announced.map_or("no MSS announced".to_owned(), |mss| format!("MSS {mss} announced"));
    let hops = syn_ack.map_or(0, |syn_ack| syn_ack.hop_limit);
    // The name comes from the server and goes to a terminal: no control characters.
    let server: String = server.chars().filter(|c| !c.is_control()).take(80).collect();
    format!("{url} at {address}: {server}, {announced}, TTL {hops}")
}

fn row(row: &TestRow) -> Vec<String> {
    let predicted = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
    let total = row.data_packets.median + row.retransmissions.median;
    vec![
        row.test.to_string(),
        row.split.to_string(),
        row.acks.to_string(),
        row.data_packets.to_string(),
        predicted(row.predicted.map(|models| models.counts_acks)),
        predicted(row.predicted.map(|models| models.counts_bytes)),
        row.retransmissions.to_string(),
        total.to_string(),
        row.bytes.to_string(),
        row.mss_seen.to_string(),
        row.initial_window.to_string(),
        row.rtt_ms.map_or("-".to_owned(), |ms| format!("{ms:.2} ms")),
    ]
}

/// The controller, and its answer to marks.
fn controller(verdict: &Controller) -> Vec<String> {
    let marks = match verdict.marks {
        Some(marks) => format!("marks: {marks}"),
        None => "marks: no ECN, or the answer was not seen".to_owned(),
    };
    vec![format!("congestion controller: {verdict}"), marks]
}

/// The nearest controllers, and the windows on which the verdict rests.
fn windows(verdict: &Controller) -> Vec<String> {
    let near = verdict.identity.nearest.iter();
    let near =
        near.map(|near| format!("{} {:.3} ({:.1})", near.controller, near.distance, near.score));
    let near = near.collect::<Vec<_>>().join(", ");
    let mut lines = vec![format!("distances (in units of its own): {near}")];
    for part in &verdict.signature.parts {
        let factor =
            |log: &Option<f64>| log.map_or("-".to_owned(), |log| format!("{:.2}", log.exp()));
        let factors = part.logs.iter().map(factor);
        lines.push(format!("{}: {}", part.show, factors.collect::<Vec<_>>().join(" ")));
    }
    let (trials, seen) = verdict.trials;
    let megabytes = verdict.bytes as f64 / 1e6;
    lines.push(format!("{seen} of {trials} trials at {} ms, {megabytes:.1} MB", verdict.rtt_ms));
    lines
}

fn tell(verdict: &Verdict) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(verdict.initial_window.as_ref().map(initial_window));
    let gain = verdict.gain.map(|(split, gain)| format!(" (gain {gain:.1}x at {split})"));
    let mut reaction = verdict.reaction.to_string();
    if verdict.is_decided() {
        let (of, fit) = verdict.runs;
        reaction += &gain.unwrap_or_default();
        reaction += &format!("; {fit} of {of} runs fit, confidence {:.2}", verdict.confidence);
    }
    lines.push(format!("reaction: {reaction}"));
    lines.extend(verdict.notes.iter().map(|note| format!("note: {note}")));
    lines
}

/// Packets and bytes; where some packets are short, what they are if the server counts bytes.
fn initial_window(window: &InitialWindow) -> String {
    let (packets, bytes, segments) = (window.packets, window.bytes, window.segments);
    let (low, high) = window.spread;
    let spread =
        if low == high { String::new() } else { format!(", {low} to {high} over the runs") };
    let bound = if window.exact { "" } else { "at least " };
    let short = match segments < packets {
        true => format!(" ({bound}{segments} segments if it counts bytes: some packets are short)"),
        false => String::new(),
    };
    format!("initial window: {bound}{packets} packets, {bytes} bytes{spread}{short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_packets_leave_two_readings_of_the_initial_window() {
        let window =
            InitialWindow { packets: 4, segments: 3, spread: (4, 4), bytes: 4100, exact: false };
        assert_eq!(
            initial_window(&window),
            "initial window: at least 4 packets, 4100 bytes (at least 3 segments if it counts bytes: \
             some packets are short)"
        );
        let full = InitialWindow { segments: 4, bytes: 5840, exact: true, ..window };
        assert_eq!(initial_window(&full), "initial window: 4 packets, 5840 bytes");
    }
}
