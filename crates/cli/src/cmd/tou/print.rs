//! Messages of `windlass tou` on standard error.

use super::connection_args::Verbosity;
use crate::envelope::Document;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Instant;
use windlass_tou::{Info, TouStream};

/// Where a listener listens: a line on standard error.
pub(super) fn listening(address: SocketAddr, json: bool) {
    if json {
        let body = json!({ "address": address.ip().to_string(), "port": address.port() });
        eprintln!("{}", Document::new("tou.listening", body).line());
    } else {
        eprintln!("listening on {address}");
    }
}

/// Bytes that an application has had of a connection, and handed to it.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Traffic {
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// Tells of a connection from its beginning to its end, if that is asked for.
pub(super) struct ConnectionLog {
    how: Verbosity,
    peer: String,
    began: Instant,
}

impl ConnectionLog {
    pub(super) fn begin(how: Verbosity, stream: &TouStream) -> ConnectionLog {
        let peer = stream.peer_addr().map_or("?".to_owned(), |peer| peer.to_string());
        let story = ConnectionLog { how, peer, began: Instant::now() };
        let info = stream.info().ok();
        if how.json {
            story.object("tou.connected", info.map_or(json!({}), |info| agreed(&info)));
        } else if how.verbose {
            let has = |word: &'static str, yes: bool| if yes { word } else { "" };
            let agreed_options = info.map_or(String::new(), |info| {
                format!(", MSS {}{}{}", info.mss, has(", SACK", info.sack), has(", ECN", info.ecn))
            });
            eprintln!("connected to {}{agreed_options}", story.peer);
        }
        story
    }

    pub(super) fn end(&self, stream: &TouStream, traffic: Traffic) {
        let info = stream.info().ok();
        let again = info.map_or(0, |info| info.stats.retransmitted_segments);
        let rtt_ms = info.and_then(|info| info.rtt).map(|rtt| rtt.as_secs_f64() * 1e3);
        let duration_s = self.began.elapsed().as_secs_f64();
        if self.how.json {
            let figures = json!({
                "duration_s": duration_s,
                "sent_bytes": traffic.sent,
                "received_bytes": traffic.received,
                "retransmitted_segments": again,
                "rtt_ms": rtt_ms,
            });
            self.object("tou.ended", figures);
        } else if self.how.verbose {
            let rtt = rtt_ms.map_or(String::new(), |ms| format!(", RTT {ms:.2} ms"));
            eprintln!(
                "{} ended after {duration_s:.2} s: {} bytes sent, {} received, {again} segments \
                 sent again{rtt}",
                self.peer, traffic.sent, traffic.received
            );
        }
    }

    fn object(&self, kind: &'static str, mut figures: Value) {
        figures["peer"] = self.peer.as_str().into();
        eprintln!("{}", Document::new(kind, figures).line());
    }
}

fn agreed(info: &Info) -> Value {
    json!({ "mss": info.mss, "sack": info.sack, "ecn": info.ecn })
}
