//! The outcome of a session, for JSON and for tables.

use super::spoken::{Spoken, after_acks};
use super::{Found, Session, Stage};
use crate::topic::cca::Controller;
use crate::topic::ecn::Capability;
use crate::topic::split::{Model, Observation, Test, Verdict, classify, median};
use crate::topic::{Ending, Report, SynAck};
use serde::Serialize;
use std::fmt;
use std::ops::Not;

/// The version of the format of [`Outcome`] as JSON.
const SCHEMA_VERSION: u32 = 1;

/// The outcome of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The version of this kind of document; 1.
    pub schema: u32,
    /// The kind of document: `probe.server`.
    pub kind: &'static str,
    /// As the user named it.
    pub target: String,
    /// The measured URL, after redirects.
    pub url: Option<String>,
    /// The server's address, as text.
    pub address: Option<String>,
    /// Other addresses of its name, which left a SYN without an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
    /// The Server header of its answer, or its greeting.
    pub server: Option<String>,
    /// The status of its answer.
    pub status: Option<u16>,
    /// The Content-Length of the answer, in bytes.
    pub content_length: Option<u64>,
    /// The fields of its SYN-ACK.
    pub syn_ack: Option<SynAck>,
    /// The number of segments that each test acknowledges.
    pub acks: u16,
    /// A line for each test.
    pub tests: Vec<TestRow>,
    /// The verdict on all runs; `None` before the first one, or if the controller was asked for.
    pub verdict: Option<Verdict>,
    /// The congestion controller, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// Why the server was not measured, once the session is done: until then another URL may answer.
    pub failure: Option<Failure>,
    /// It was ended early, and there may be more to learn.
    #[serde(skip_serializing_if = "Not::not")]
    pub interrupted: bool,
    /// Every run.
    pub runs: Vec<Report>,
    /// The dialogue, if it is another one than HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialogue: Option<Spoken>,
    /// Its ECN, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Capability>,
}

/// Why a server was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Failure {
    /// The name has no address.
    NoSuchHost {
        /// The name that was looked up.
        host: String,
        /// In the resolver's words.
        why: String,
    },
    /// The exclusion list has its address.
    Excluded {
        /// The excluded name or address.
        host: String,
    },
    /// No connection reached an answer.
    Ended {
        /// The way in which it ended.
        ending: Ending,
    },
    /// It answers, but not by HTTP.
    NotHttp,
    /// A redirect whose host is no address and no name.
    BadRedirect {
        /// In words for the user.
        why: String,
    },
    /// Too many redirects.
    Redirects {
        /// How many were followed.
        count: u32,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoSuchHost { host, why } => write!(f, "no such host: {host}: {why}"),
            Failure::Excluded { host } => write!(f, "excluded: {host} is to be left alone"),
            Failure::Ended { ending } => write!(f, "{ending}"),
            Failure::NotHttp => f.write_str("no HTTP: the server answers with something else"),
            Failure::BadRedirect { why } => write!(f, "it redirects to {why}"),
            Failure::Redirects { count } => write!(f, "{count} redirects, one to the other"),
        }
    }
}

/// The runs of one test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestRow {
    /// The test of these runs.
    pub test: Test,
    /// ACKs per segment.
    pub split: u16,
    /// Runs, and how many of them were measured.
    pub runs: (u32, u32),
    /// ACKs sent.
    pub acks: Stat,
    /// Packets with new data.
    pub data_packets: Stat,
    /// Packets without new data.
    pub retransmissions: Stat,
    /// New data, in bytes.
    pub bytes: Stat,
    /// The MSS as seen, in bytes.
    pub mss_seen: Stat,
    /// Packets of the first flight.
    pub initial_window: Stat,
    /// The median RTT, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// The data packets that the models predict for the first of these runs.
    pub predicted: Option<Predicted>,
}

/// Predictions of the models for the data packets of a test.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Predicted {
    /// Growth by a segment for each ACK.
    pub counts_acks: u32,
    /// Growth by the bytes acknowledged, without a limit.
    pub counts_bytes: u32,
    /// No growth.
    pub no_growth: u32,
}

/// Statistics of a number over the runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Stat {
    /// The median; of an even count the lower of the two in the middle.
    pub median: u64,
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

impl Stat {
    fn of(numbers: Vec<u64>) -> Stat {
        Stat {
            min: numbers.iter().copied().min().unwrap_or(0),
            max: numbers.iter().copied().max().unwrap_or(0),
            median: median(numbers).unwrap_or(0),
        }
    }
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.min == self.max {
            true => write!(f, "{}", self.median),
            false => write!(f, "{} ({}-{})", self.median, self.min, self.max),
        }
    }
}

pub(super) fn make(session: &Session) -> Outcome {
    let found = session.found.as_ref();
    let head = found.and_then(|found| found.scout.head.as_ref());
    let secured = found.is_some_and(Found::is_secured);
    let greeting = found.and_then(|found| found.scout.heard.as_ref()?.server.clone());
    let mut verdict = (!session.reports.is_empty()).then(|| verdict(session, secured));
    if let (Some(verdict), Some(note)) = (&mut verdict, &session.object_note) {
        verdict.notes.insert(0, note.clone());
    }
    let dialogue = session.spoken(verdict.as_mut());
    let tests = session.settings.tests.iter();
    let done = matches!(session.stage, Stage::Done);
    let controller = session.controller();
    let failure = session.failure.clone().or_else(|| no_trace(session, controller.as_ref()));
    Outcome {
        schema: SCHEMA_VERSION,
        kind: "probe.server",
        target: session.target.text.clone(),
        url: found.map(|found| found.url.to_string()),
        address: found.map(|found| found.remote.to_string()),
        unanswered: session.unanswered.iter().map(ToString::to_string).collect(),
        server: head.and_then(|head| head.server.clone()).or(greeting),
        status: head.map(|head| head.status),
        content_length: head.and_then(|head| head.content_length),
        syn_ack: found.and_then(|found| found.scout.syn_ack),
        acks: session.settings.acks,
        tests: tests.flat_map(|test| row(*test, &session.reports)).collect(),
        verdict: verdict.filter(|_| session.settings.controllers.is_none()),
        controller,
        failure: failure.filter(|_| done && !session.interrupted),
        interrupted: session.interrupted,
        runs: session.reports.clone(),
        dialogue,
        ecn: Capability::of(&session.ecn_reports),
    }
}

/// Why no trial has shown anything, if the controller was asked for.
fn no_trace(session: &Session, controller: Option<&Controller>) -> Option<Failure> {
    session.settings.controllers.as_ref()?;
    let last = session.reports.last().filter(|_| controller.is_none())?;
    Some(Failure::Ended { ending: last.ending.clone() })
}

/// The verdict, with a note where the probe announced a smaller MSS than usual.
fn verdict(session: &Session, https: bool) -> Verdict {
    let mut verdict = classify(&session.reports, https);
    // Interim answers of HTTP; other dialogues say so themselves.
    let web = session.found.as_ref().is_some_and(|found| found.scout.heard.is_none());
    if web && let Some(after) = after_acks(&session.reports, &mut verdict) {
        verdict.notes.push(format!(
            "the window is {} packets after {} acknowledged segments of interim answers, each of which may have \
             added one",
            after.packets, after.acked_segments
        ));
    }
    let unscaled = session.found.as_ref().filter(|found| found.is_unscaled());
    let usual = unscaled.map(|found| session.mss_usual(found.remote));
    let offered = session.reports.iter().flat_map(|r| &r.observation).map(|run| run.mss_offered);
    let reduced: Vec<u16> = offered.filter(|mss| usual.is_some_and(|usual| *mss < usual)).collect();
    if let Some(least) = reduced.iter().min() {
        verdict.notes.push(format!(
            "{} of {} runs: an MSS of {least} announced, because the server has no window scaling and \
             the packets of the test must fit into 65,535 bytes",
            reduced.len(),
            session.reports.len(),
        ));
    }
    verdict
}

fn row(test: Test, reports: &[Report]) -> Option<TestRow> {
    let all = reports.iter().filter(|report| {
        report.observation.as_ref().is_some_and(|observation| observation.test == test)
    });
    let measured: Vec<&Report> =
        all.clone().filter(|report| report.ending == Ending::Measured).collect();
    // A test without a measured run shows what came.
    let shown: Vec<&Report> =
        if measured.is_empty() { all.clone().collect() } else { measured.clone() };
    let runs: Vec<&Observation> = shown.iter().flat_map(|report| &report.observation).collect();
    let first = runs.first()?;
    let stat = |number: &dyn Fn(&Observation) -> u64| {
        Stat::of(runs.iter().map(|run| number(run)).collect())
    };
    let rtts = shown.iter().flat_map(|report| report.rtt_ms).map(|ms| (ms * 1e6) as u64);
    let predict = |model: Model| model.data_packets(first);
    Some(TestRow {
        test,
        split: test.parts(),
        runs: (all.count() as u32, measured.len() as u32),
        acks: stat(&|run| u64::from(run.acks_sent)),
        data_packets: stat(&|run| u64::from(run.data_packets)),
        retransmissions: stat(&|run| u64::from(run.retransmissions)),
        bytes: stat(&|run| run.data_bytes),
        mss_seen: stat(&|run| u64::from(run.mss_seen)),
        initial_window: stat(&|run| u64::from(run.first_flight.sent())),
        rtt_ms: median(rtts.collect()).map(|ns| ns as f64 / 1e6),
        predicted: (!first.acked.is_empty()).then(|| Predicted {
            counts_acks: predict(Model::PerAck),
            counts_bytes: predict(Model::PerByteUnlimited),
            no_growth: predict(Model::NoGrowth),
        }),
    })
}
