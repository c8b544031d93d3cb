//! The report of a connection: the common part, and that of each topic.

use super::Ending;
use super::burst::BurstRun;
use super::cca::Trace;
use super::ecn::Trial;
use super::split::Observation;
use crate::http::Head;
use serde::Serialize;

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
