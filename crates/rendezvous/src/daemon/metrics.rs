//! The figures of the daemon as a page of metrics.

use windlass_base::Time;
use windlass_metrics::Page;

use super::streams::StreamCounters;
use crate::server::Counters;

/// Counters and gauges of a [`Daemon`](super::Daemon), at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Start of the daemon, since 1970.
    pub(super) started: Time,
    /// Of the server.
    pub server: Counters,
    pub(super) streams: StreamCounters,
    /// Datagrams that the system refused to send.
    pub unsent: u64,
}

impl Figures {
    /// Streams open at present.
    pub fn streams(&self) -> u64 {
        self.streams.open
    }
}

/// The page for Prometheus (text format 0.0.4).
pub(super) fn page(figures: &Figures) -> String {
    let Figures { started, server, streams, unsent } = figures;
    let mut page = Page::new("windlass_rendezvous_");
    let counters = [
        ("received", server.received, "messages received"),
        ("sent", server.sent, "messages sent to hosts, without relayed datagrams"),
        ("malformed", server.malformed, "messages of no supported protocol"),
        (
            "withheld",
            server.withheld,
            "answers not sent, because an unverified address would get more bytes than it had sent",
        ),
        ("refused", server.refused, "requests refused"),
        ("bindings", server.bindings, "Binding requests answered (STUN)"),
        ("registered", server.registered, "registrations accepted"),
        ("kept", server.kept, "keep-alives accepted"),
        ("introduced", server.introduced, "offers forwarded, repetitions included"),
        ("relayed_bytes", server.relayed_bytes, "bytes relayed, both ways"),
        (
            "relay_dropped",
            server.relay_dropped,
            "datagrams for the relay without a permission, or above its rate",
        ),
        ("unsent", *unsent, "datagrams that the system refused to send"),
        ("streams_accepted", streams.accepted, "streams accepted (TCP and TLS)"),
        ("streams_refused", streams.refused, "streams not accepted, because there were too many"),
        ("streams_failed", streams.failed, "streams ended by an error"),
        ("stream_messages_dropped", streams.dropped, "messages dropped because a stream was full"),
    ];
    for (name, value, help) in counters {
        page.counter(name, help, value);
    }
    let gauges = [
        ("registrations", server.registrations, "keys registered"),
        ("introductions", server.introductions, "introductions under way"),
        ("allocations", server.allocations, "relayed addresses in use"),
        ("streams", streams.open, "streams open"),
        ("start_time_seconds", started.as_nanos() / 1_000_000_000, "start, seconds since 1970"),
    ];
    for (name, value, help) in gauges {
        page.gauge(name, help, value);
    }
    page.into_text()
}
