//! What a session found out, as a program reads it (JSON) and a table shows it.

use super::{Session, Stage};
use crate::classify::{Verdict, classify, median};
use crate::model::Model;
use crate::probe::{Ending, Observation, Report, SynAck};
use crate::test::Test;
use serde::Serialize;
use std::fmt;

/// The version of the format of [`Outcome`] as JSON.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What a session found out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The version of this kind of document; 1.
    pub schema: u32,
    /// The kind of document: `probe.server`.
    pub kind: &'static str,
    /// As the user named it.
    pub target: String,
    /// What was measured, after redirects.
    pub url: Option<String>,
    /// The server's address, as text.
    pub address: Option<String>,
    /// What the server calls itself.
    pub server: Option<String>,
    /// The status of its answer.
    pub status: Option<u16>,
    /// Bytes of the answer's body, where the head tells.
    pub content_length: Option<u64>,
    /// What its SYN-ACK says.
    pub syn_ack: Option<SynAck>,
    /// Segments that were to be acknowledged.
    pub acks: u16,
    /// A line for each test.
    pub tests: Vec<TestRow>,
    /// What all of it says; none if nothing was measured.
    pub verdict: Option<Verdict>,
    /// Why nothing was measured.
    pub failure: Option<Failure>,
    /// Every run.
    pub runs: Vec<Report>,
}

/// Why a server was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Failure {
    /// The name has no address.
    NoSuchHost {
        /// Which name.
        host: String,
        /// In the resolver's words.
        why: String,
    },
    /// It is on the list of those to leave alone.
    Excluded {
        /// Which name or address.
        host: String,
    },
    /// The connection came to nothing.
    Ended {
        /// The way in which it ended.
        ending: Ending,
    },
    /// It answers, but not by HTTP.
    NotHttp,
    /// Redirects without end.
    Redirects {
        /// How many were followed.
        count: u32,
    },
}

impl Failure {
    /// Its name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Failure::NoSuchHost { .. } => "no-such-host",
            Failure::Excluded { .. } => "excluded",
            Failure::Ended { ending } => ending.name(),
            Failure::NotHttp => "not-http",
            Failure::Redirects { .. } => "redirects",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoSuchHost { host, why } => write!(f, "no such host: {host}: {why}"),
            Failure::Excluded { host } => write!(f, "excluded: {host} is to be left alone"),
            Failure::Ended { ending } => write!(f, "{ending}"),
            Failure::NotHttp => f.write_str("no HTTP: the server answers with something else"),
            Failure::Redirects { count } => write!(f, "{count} redirects, one to the other"),
        }
    }
}

/// The runs of one test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestRow {
    /// The test of these runs.
    pub test: Test,
    /// ACKs to a segment.
    pub split: u16,
    /// Runs, and how many of them were measured.
    pub runs: (u32, u32),
    /// ACKs sent.
    pub acks: Stat,
    /// Packets with new data.
    pub data_packets: Stat,
    /// Packets without.
    pub retransmissions: Stat,
    /// New data, in bytes.
    pub bytes: Stat,
    /// The MSS as seen, in bytes.
    pub mss_seen: Stat,
    /// Packets of the first flight.
    pub initial_window: Stat,
    /// In milliseconds, the median.
    pub rtt_ms: Option<f64>,
    /// Data packets by the models.
    pub predicted: Option<Predicted>,
}

/// What models predict for the data packets of a test.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Predicted {
    /// Growth by a segment for each ACK.
    pub counts_acks: u32,
    /// Growth by what is acknowledged, without a limit.
    pub counts_bytes: u32,
    /// No growth.
    pub no_growth: u32,
}

/// A number over the runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Stat {
    /// The lower one of the two in the middle.
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
    let https = found.is_some_and(|found| found.url.scheme() == "https");
    let tests = session.settings.tests.iter();
    let done = matches!(session.stage, Stage::Done);
    Outcome {
        schema: SCHEMA_VERSION,
        kind: "probe.server",
        target: session.target.text.clone(),
        url: found.map(|found| found.url.to_string()),
        address: found.map(|found| found.remote.to_string()),
        server: head.and_then(|head| head.server.clone()),
        status: head.map(|head| head.status),
        content_length: head.and_then(|head| head.content_length),
        syn_ack: found.and_then(|found| found.scout.syn_ack),
        acks: session.settings.acks,
        tests: tests.flat_map(|test| row(*test, &session.reports)).collect(),
        verdict: (!session.reports.is_empty()).then(|| classify(&session.reports, https)),
        failure: session.failure.clone().filter(|_| done),
        runs: session.reports.clone(),
    }
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
