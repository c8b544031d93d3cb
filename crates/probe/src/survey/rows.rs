//! The rows of a survey's tables: one for each host, and one for each run.

use crate::name::name;
use crate::session::{Failure, Outcome};
use crate::topic::Report;
use crate::topic::cca::Controller;
use crate::topic::ecn::Capability;
use crate::topic::split::{Limit, Reaction};
use serde::{Deserialize, Serialize};
use windlass_base::printable;

/// A host and its outcome. The field names are the columns of `hosts.csv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRow {
    /// As the list of hosts names it.
    pub host: String,
    /// `measured`, `undecided`, or the reason why it was not measured: `silent`, `refused`, ...
    pub outcome: String,
    /// The reason in a sentence; may be empty.
    pub why: String,
    /// The measured URL, after redirects.
    pub url: String,
    /// The server's address and port.
    pub address: String,
    /// The status of its answer.
    pub status: Option<u16>,
    /// The Server header of its answer.
    pub server: String,
    /// Nmap's guess of the operating system, if requested.
    pub os: String,
    /// The MSS that its SYN-ACK announces, in bytes.
    pub syn_ack_mss: Option<u16>,
    /// The window field of its SYN-ACK.
    pub syn_ack_window: Option<u16>,
    /// The window scale of its SYN-ACK.
    pub syn_ack_window_scale: Option<u8>,
    /// The TTL or hop limit of its SYN-ACK on arrival.
    pub ttl: Option<u8>,
    /// Routers on the path, assuming an initial TTL of 32, 64, 128 or 255.
    pub hops: Option<u8>,
    /// The RTT of the handshakes, the median of the runs, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// `counts-acks`, `counts-acks-and-more`, `counts-bytes`, `negative`, `no-growth`,
    /// `no-congestion-window`, `undecided`.
    pub reaction: String,
    /// L of RFC 3465, from test S: `1`, `2`, `none`.
    pub limit: String,
    /// The chance that one more run fits the verdict.
    pub confidence: Option<f64>,
    /// Runs that fit the reaction.
    pub runs_fit: Option<u32>,
    /// Runs that could decide the reaction.
    pub runs_telling: Option<u32>,
    /// The initial window in packets, the median of the runs.
    pub initial_window_packets: Option<u32>,
    /// The fewest packets of a run's initial window.
    pub initial_window_packets_min: Option<u32>,
    /// The most packets of a run's initial window.
    pub initial_window_packets_max: Option<u32>,
    /// The same in full-sized segments, rounded up: the window of a server that counts bytes.
    pub initial_window_segments: Option<u32>,
    /// The initial window in bytes, the median of the runs.
    pub initial_window_bytes: Option<u64>,
    /// False: the initial window is a lower bound.
    pub initial_window_exact: Option<bool>,
    /// Payload of the longest packet, the median of the runs.
    pub mss_seen: Option<u64>,
    /// Data packets at a split over those of test A.
    pub gain: Option<f64>,
    /// The split of that gain.
    pub gain_split: Option<u16>,
    /// The number of runs.
    pub runs: u32,
    /// Remarks, such as doubts about the measurement.
    pub notes: String,
    /// The congestion controllers that it may run, `reno` or `reno or hybla`; `unknown`; empty if not asked.
    #[serde(default)]
    pub controller: String,
    /// How near that controller is, beside the next one: 0.5 to 1.
    #[serde(default)]
    pub controller_confidence: Option<f64>,
    /// How it answers CE marks: `none`, `once`, `in-proportion`; empty if it has no ECN.
    #[serde(default)]
    pub marks: String,
    /// Its answer to a SYN that asks for ECN: `accurate`, `reserved`, `classic`, `none`, `reflected`; `unknown` if
    /// no SYN was answered; empty if not asked.
    #[serde(default)]
    pub ecn: String,
    /// How it feeds back marks: `counts`, `miscounts`, `zeroed`, `echoes`, `silent`; may be empty.
    #[serde(default)]
    pub ecn_feedback: String,
    /// The codepoint of most of its packets with data once ECN was asked for, on arrival: `not-ect`, `ect-0`,
    /// `ect-1`, `ce`.
    #[serde(default)]
    pub ecn_data: String,
}

impl HostRow {
    /// The row of a host named `host` in the list.
    pub fn of(host: &str, outcome: &Outcome) -> HostRow {
        let syn_ack = outcome.syn_ack;
        let verdict = outcome.verdict.as_ref();
        let window = verdict.and_then(|verdict| verdict.initial_window);
        let reaction = verdict.map(|verdict| &verdict.reaction);
        let (result, why) = ending(outcome);
        let controller = outcome.controller.as_ref();
        let marks = controller.and_then(|verdict| verdict.marks);
        let ecn = outcome.ecn.as_ref();
        let trial = ecn.and_then(Capability::trial);
        HostRow {
            host: plain(host),
            outcome: result,
            why: plain(&why),
            url: plain(outcome.url.as_deref().unwrap_or_default()),
            address: outcome.address.clone().unwrap_or_default(),
            status: outcome.status,
            server: plain(outcome.server.as_deref().unwrap_or_default()),
            os: String::new(),
            syn_ack_mss: syn_ack.and_then(|syn_ack| syn_ack.mss),
            syn_ack_window: syn_ack.map(|syn_ack| syn_ack.window),
            syn_ack_window_scale: syn_ack.and_then(|syn_ack| syn_ack.window_scale),
            ttl: syn_ack.map(|syn_ack| syn_ack.hop_limit),
            hops: syn_ack.map(|syn_ack| hops(syn_ack.hop_limit)),
            rtt_ms: outcome.tests.iter().find_map(|row| row.rtt_ms),
            reaction: reaction.map(name).unwrap_or_default(),
            limit: reaction.map(limit).unwrap_or_default().to_owned(),
            confidence: verdict.map(|verdict| verdict.confidence),
            runs_fit: verdict.map(|verdict| verdict.runs.1),
            runs_telling: verdict.map(|verdict| verdict.runs.0),
            initial_window_packets: window.map(|window| window.packets),
            initial_window_packets_min: window.map(|window| window.spread.0),
            initial_window_packets_max: window.map(|window| window.spread.1),
            initial_window_segments: window.map(|window| window.segments),
            initial_window_bytes: window.map(|window| window.bytes),
            initial_window_exact: window.map(|window| window.exact),
            mss_seen: outcome.tests.first().map(|row| row.mss_seen.median),
            gain: verdict.and_then(|verdict| verdict.gain).map(|(_, gain)| gain),
            gain_split: verdict.and_then(|verdict| verdict.gain).map(|(split, _)| split),
            runs: outcome.runs.len() as u32,
            notes: verdict.map(|verdict| plain(&verdict.notes.join("; "))).unwrap_or_default(),
            controller: controller.map(Controller::names).unwrap_or_default(),
            controller_confidence: controller.map(|verdict| verdict.identity.confidence),
            marks: marks.map(|marks| name(&marks.answer)).unwrap_or_default(),
            ecn: ecn
                .map(|ecn| ecn.answer.map_or_else(|| "unknown".to_owned(), |answer| name(&answer)))
                .unwrap_or_default(),
            ecn_feedback: ecn
                .and_then(|ecn| ecn.feedback)
                .map(|echo| name(&echo))
                .unwrap_or_default(),
            ecn_data: trial.map(|trial| trial.arrived.most()).unwrap_or_default().to_owned(),
        }
    }
}

/// A run. The field names are the columns of `runs.csv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// As the list of hosts names it.
    pub host: String,
    /// The number of the run, from 1, in the order of the runs.
    pub run: u32,
    /// The test's letter, or its split as `1:16`.
    pub test: String,
    /// The end of the run: `measured`, `reset`, ...
    pub ending: String,
    /// From the SYN to the SYN-ACK, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// SYNs sent until the SYN-ACK arrived.
    pub syns: Option<u32>,
    /// Payload of the longest packet, in bytes.
    pub mss_seen: Option<u32>,
    /// The receive window offered, in bytes.
    pub window: Option<u32>,
    /// Packets of the first flight, missing ones included.
    pub first_flight_packets: Option<u32>,
    /// Bytes of it that arrived.
    pub first_flight_bytes: Option<u64>,
    /// Packets of it that are missing.
    pub first_flight_missing: Option<u32>,
    /// Segments that were acknowledged.
    pub segments_acked: Option<u32>,
    /// The number of ACKs for these segments.
    pub acks: Option<u32>,
    /// New packets in response to these ACKs.
    pub grown: Option<u32>,
    /// All packets with new data.
    pub data_packets: Option<u32>,
    /// All new data.
    pub data_bytes: Option<u64>,
    /// Packets with nothing new.
    pub retransmissions: Option<u32>,
    /// Packets overtaken by others.
    pub reordered: Option<u32>,
    /// Copies that the path made.
    #[serde(default)]
    pub duplicated: Option<u32>,
}

impl RunRow {
    /// The rows of a host's runs.
    pub fn all(host: &str, outcome: &Outcome) -> Vec<RunRow> {
        let rows = outcome.runs.iter().zip(1..).map(|(report, run)| RunRow::of(host, run, report));
        rows.collect()
    }

    fn of(host: &str, run: u32, report: &Report) -> RunRow {
        let seen = report.observation.as_ref();
        RunRow {
            host: plain(host),
            run,
            test: seen.map(|seen| seen.test.to_string()).unwrap_or_default(),
            ending: name(&report.ending),
            rtt_ms: report.rtt_ms,
            syns: report.syn_ack.map(|syn_ack| syn_ack.syns),
            mss_seen: seen.map(|seen| seen.mss_seen),
            window: seen.map(|seen| seen.window),
            first_flight_packets: seen.map(|seen| seen.first_flight.sent()),
            first_flight_bytes: seen.map(|seen| seen.first_flight.bytes),
            first_flight_missing: seen.map(|seen| seen.first_flight.missing),
            segments_acked: seen.map(|seen| seen.acked.len() as u32),
            acks: seen.map(|seen| seen.acks_sent),
            grown: seen.map(|seen| seen.grown),
            data_packets: seen.map(|seen| seen.data_packets),
            data_bytes: seen.map(|seen| seen.data_bytes),
            retransmissions: seen.map(|seen| seen.retransmissions),
            reordered: seen.map(|seen| seen.reordered),
            duplicated: seen.map(|seen| seen.duplicated),
        }
    }
}

/// The column `outcome`, and the reason.
fn ending(outcome: &Outcome) -> (String, String) {
    let (result, why) = match (&outcome.controller, &outcome.verdict, &outcome.failure) {
        (Some(controller), ..) if controller.why.is_some() => ("undecided", controller.to_string()),
        (None, Some(verdict), _) if !verdict.is_decided() => {
            ("undecided", verdict.reaction.to_string())
        }
        (None, None, Some(Failure::Ended { ending })) => return (name(ending), ending.to_string()),
        (None, None, Some(failure)) => return (name(failure), failure.to_string()),
        (None, None, None) => ("not-measured", String::new()),
        _ => ("measured", String::new()),
    };
    (result.to_owned(), why)
}

fn limit(reaction: &Reaction) -> &'static str {
    match reaction {
        Reaction::CountsBytes { limit: Some(Limit::One) } => "1",
        Reaction::CountsBytes { limit: Some(Limit::Two) } => "2",
        Reaction::CountsBytes { limit: Some(Limit::None) } => "none",
        _ => "",
    }
}

/// The routers that a packet has passed, assuming a common initial TTL.
fn hops(ttl: u8) -> u8 {
    let first = [32, 64, 128, 255].into_iter().find(|first| ttl <= *first).unwrap_or(255);
    first - ttl
}

/// The beginning of a server's text on one line, escaped.
fn plain(text: &str) -> String {
    let begin: String = text.chars().take(500).collect();
    printable(&begin).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ttl_implies_the_hops() {
        let hops: Vec<u8> = [64, 63, 50, 128, 117, 255, 243, 32, 0].map(hops).into();
        assert_eq!(hops, [0, 1, 14, 0, 11, 0, 12, 0, 32]);
    }

    #[test]
    fn text_of_a_server_stays_in_its_row() {
        assert_eq!(
            plain("a\r\nb\u{1b}[31m,\"c\u{9b}\u{202e}"),
            r#"a\r\nb\u001b[31m,"c\u009b\u202e"#
        );
        assert_eq!(plain(&"x".repeat(9000)).len(), 500);
    }
}
