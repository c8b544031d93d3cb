//! The topics of the probe, each in a folder: its order (what is asked for), its run (the state while a connection
//! lasts), its report (what was found) and its verdict. A connection of any topic is driven through one trait,
//! `Run`. Scouts, and connections that open the way for the measured one, have a run only.
//!
//! A new topic is a folder here, a variant of [`Purpose`] with its line in `start`, and a field of [`Report`].

pub mod burst;
pub mod cca;
pub(crate) mod channel;
pub mod ecn;
mod ending;
pub(crate) mod read;
pub(crate) mod run;
pub(crate) mod scout;
pub mod split;

pub use ending::Ending;
pub use read::{Body, ReadOrder};

use crate::dialogue::Dialogue;
use crate::http::Head;
use crate::tls::Tls;
use burst::{BurstOrder, BurstRun};
use cca::{ScriptOrder, Trace};
use ecn::{Ask, Trial};
use run::Run;
use serde::Serialize;
use split::{Observation, SplitOrder};
use windlass_base::Span;

/// The purpose of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To find out whether a server answers: with HTTP to read the head of the answer, else to learn how many
    /// bytes the dialogue brings.
    Scout,
    /// To read an answer of HTTP, with the beginning of its body.
    Read(ReadOrder),
    /// To learn what ECN the server speaks: the SYN asks, some packets of the request are marked, and the
    /// feedback is read.
    Ecn(Ask),
    /// To open the way to the connection that is measured, as the control connection of FTP does. It stays
    /// open after its report, until the other is over.
    Open,
    /// To measure the server's response to the ACKs of a test.
    Measure(SplitOrder),
    /// To see how its congestion controller answers a script.
    Identify(ScriptOrder),
    /// To measure packets that the server sends at once.
    Burst(BurstOrder),
}

/// The task of a connection.
#[derive(Clone, Debug)]
pub struct Order {
    /// The topic, with the topic's own parameters.
    pub purpose: Purpose,
    /// How to get the server to send.
    pub dialogue: Dialogue,
    /// The TLS settings; `None` without TLS.
    pub tls: Option<Tls>,
    /// The longest wait for the SYN-ACK.
    pub handshake: Span,
    /// The longest wait for an answer, from the SYN-ACK on.
    pub patience: Span,
    /// The MSS to announce, in bytes.
    pub mss: u16,
    /// The receive window, in bytes.
    pub window: u32,
    /// All that the server sends in the dialogue, in bytes, if that is known; 0 if not. It tells the end of an
    /// answer that neither the dialogue nor a FIN tells.
    pub supply: u64,
}

/// The run of a connection that is about to begin.
pub(crate) fn start(purpose: Purpose) -> Box<dyn Run> {
    match purpose {
        Purpose::Scout => Box::new(scout::Scout::new(None)),
        Purpose::Read(order) => Box::new(read::Read::new(order)),
        Purpose::Ecn(ask) => Box::new(scout::Scout::new(Some(ask))),
        Purpose::Open => Box::new(scout::Open),
        Purpose::Measure(order) => Box::new(split::Split::new(order)),
        Purpose::Identify(order) => Box::new(cca::Identify::new(order)),
        Purpose::Burst(order) => Box::new(burst::Burst::new(order)),
    }
}

/// The fields of the SYN-ACK.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SynAck {
    /// The MSS announced, in bytes.
    pub mss: Option<u16>,
    /// The window field.
    pub window: u16,
    /// The shift offered.
    pub window_scale: Option<u8>,
    /// Its TTL or hop limit on arrival.
    pub hop_limit: u8,
    /// SYNs sent until it arrived. After more than one the RTT is not known, and the server may begin with a
    /// window of one segment (RFC 5681 §3.1).
    pub syns: u32,
}

/// The result of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// The fields of the SYN-ACK, if one arrived.
    pub syn_ack: Option<SynAck>,
    /// From the SYN to the SYN-ACK, in milliseconds, if no SYN was sent twice.
    pub rtt_ms: Option<f64>,
    /// The head of the answer, if it is complete.
    pub head: Option<Head>,
    /// The beginning of the answer is no HTTP.
    pub not_http: bool,
    /// The body of the answer, if it was to be read.
    #[serde(skip)]
    pub body: Option<Body>,
    /// The counts, if a flight arrived.
    pub observation: Option<Observation>,
    /// The packets that the server was to send at once, if that was the purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_asked: Option<u32>,
    /// The burst, if one arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<BurstRun>,
    /// The trace of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// The answers in a dialogue other than HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Heard>,
    /// ECN, if the SYN asked for it and was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Trial>,
}

/// The answers of a server in a dialogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// All new data of the connection, in bytes, with what preceded the answer and with TLS.
    pub bytes: u64,
    /// Of a scout: it is all that the server sends.
    pub whole: bool,
    /// The server's greeting.
    pub server: Option<String>,
    /// The port of the connection to measure, if this one opens the way to it.
    pub opened_port: Option<u16>,
}

impl Report {
    /// The report of a connection of which only the ending is known.
    pub(crate) fn new(ending: Ending) -> Report {
        Report {
            ending,
            syn_ack: None,
            rtt_ms: None,
            head: None,
            not_http: false,
            body: None,
            observation: None,
            packets_asked: None,
            burst: None,
            trace: None,
            heard: None,
            ecn: None,
        }
    }

    /// Whether the connection has opened the way for the measured one.
    pub(crate) fn opens_way(&self) -> bool {
        self.heard.as_ref().is_some_and(|heard| heard.opened_port.is_some())
    }
}
