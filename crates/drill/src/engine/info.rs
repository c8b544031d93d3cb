//! `struct tcp_info` of a connection, by Linux's names.
//!
//! A field that the engine has no state for is left out, so that a script which asserts on it is not run.

use super::link::Link;
use super::machine::Machine;
use super::socket::Kind;
use super::sysctl::Settings;
use crate::call::Fd;
use crate::subject::Unsupported;
use std::collections::BTreeMap;
use windlass_base::{Span, Time};
use windlass_tcp::{CongestionState, State};

/// The threshold that Linux shows where there is none (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: i64 = 0x7fff_ffff;

/// The degree of reordering that Linux begins with (`tcp_reordering`).
const REORDERING_MIN: i64 = 3;

type Fields = BTreeMap<String, i64>;

impl Machine {
    pub(super) fn info(&mut self, fd: Fd) -> Result<Fields, Unsupported> {
        let (now, settings) = (self.now, self.settings.clone());
        let socket = self.socket(fd).map_err(|errno| {
            Unsupported(format!("descriptor {} has no tcp_info ({errno})", fd.0))
        })?;
        let kind = socket.kind.clone();
        let receive_buffer = socket.options.receive_buffer(&settings);
        let mut fields = Fields::new();
        put(&mut fields, &[("SK_MEMINFO_RCVBUF", receive_buffer as i64)]);
        match kind {
            Kind::Connected(id) => {
                if let Some(link) = self.links.get(&id) {
                    of_connection(&mut fields, link);
                    of_times(&mut fields, link, now);
                    of_traffic(&mut fields, link, now);
                    of_feedback(&mut fields, link);
                    of_limits(&mut fields, link, now);
                    of_buffers(&mut fields, link, &settings);
                }
            }
            Kind::Listener(_) => put(&mut fields, &[("tcpi_state", state(State::Listen))]),
            Kind::Fresh | Kind::Failed { .. } => {
                put(&mut fields, &[("tcpi_state", state(State::Closed))]);
            }
        }
        Ok(fields)
    }
}

fn put(fields: &mut Fields, values: &[(&str, i64)]) {
    fields.extend(values.iter().map(|(name, value)| ((*name).to_owned(), *value)));
}

/// State and repair.
fn of_connection(fields: &mut Fields, link: &Link) {
    let connection = &link.connection;
    let mss = u64::from(connection.mss()).max(1);
    let segments = |bytes: u64| bytes.div_ceil(mss) as i64;
    let threshold = match connection.ssthresh() {
        u64::MAX => NO_THRESHOLD,
        bytes => (bytes / mss) as i64,
    };
    let unanswered = i64::from(connection.unanswered());
    // Without data in flight it is a closed window that is probed.
    let probes = connection.in_flight() == 0;
    let reordering = segments(connection.reordering_distance());
    put(
        fields,
        &[
            ("tcpi_state", state(connection.state())),
            ("tcpi_ca_state", repair(connection.congestion_state())),
            ("tcpi_retransmits", if probes { 0 } else { unanswered }),
            ("tcpi_probes", if probes { unanswered } else { 0 }),
            ("tcpi_options", agreed(link)),
            ("tcpi_snd_mss", mss as i64),
            ("tcpi_rcv_mss", link.seen.largest.max(536).into()),
            ("tcpi_advmss", connection.config().mss.into()),
            ("tcpi_unacked", segments(connection.in_flight())),
            ("tcpi_sacked", segments(connection.sacked_bytes())),
            ("tcpi_lost", segments(connection.lost_bytes())),
            ("tcpi_retrans", segments(connection.retransmitted_bytes())),
            ("tcpi_reordering", reordering.max(REORDERING_MIN)),
            ("tcpi_snd_cwnd", (connection.cwnd() as u64 / mss) as i64),
            ("tcpi_snd_ssthresh", threshold),
        ],
    );
}

/// The options that the handshake has agreed on, as bits (`TCPI_OPT_*`).
fn agreed(link: &Link) -> i64 {
    let connection = &link.connection;
    let bits = [
        connection.timestamps_negotiated(),
        connection.sack_negotiated(),
        connection.window_scaling_negotiated(),
        connection.ecn_negotiated(),
    ];
    bits.iter().enumerate().map(|(bit, agreed)| i64::from(*agreed) << bit).sum()
}

fn of_times(fields: &mut Fields, link: &Link, now: Time) {
    let connection = &link.connection;
    let us = |span: Span| (span.as_nanos() / 1000) as i64;
    let ms_since = |time: Time| (now.saturating_since(time).as_nanos() / 1_000_000) as i64;
    put(
        fields,
        &[
            ("tcpi_rto", us(connection.rto())),
            ("tcpi_rtt", us(connection.smoothed_rtt().unwrap_or_default())),
            ("tcpi_rttvar", us(connection.rtt_variance())),
            ("tcpi_min_rtt", connection.min_rtt().map_or(i64::from(u32::MAX), us)),
            ("tcpi_last_data_sent", ms_since(link.seen.data_sent)),
            ("tcpi_last_data_recv", ms_since(link.seen.data_received)),
            ("tcpi_last_ack_recv", ms_since(link.seen.ack_received)),
        ],
    );
}

fn of_traffic(fields: &mut Fields, link: &Link, _now: Time) {
    let connection = &link.connection;
    let (stats, seen) = (connection.stats(), &link.seen);
    put(
        fields,
        &[
            ("tcpi_bytes_acked", connection.bytes_acked() as i64),
            ("tcpi_bytes_received", connection.bytes_received() as i64),
            ("tcpi_bytes_sent", seen.bytes_sent as i64),
            ("tcpi_bytes_retrans", seen.bytes_retransmitted as i64),
            ("tcpi_notsent_bytes", link.unsent() as i64),
            ("tcpi_segs_out", seen.segments_out as i64),
            ("tcpi_segs_in", stats.segments_received as i64),
            ("tcpi_data_segs_out", stats.data_segments_sent as i64),
            ("tcpi_data_segs_in", seen.data_segments_in as i64),
            ("tcpi_total_retrans", stats.retransmitted_segments as i64),
            ("tcpi_rcv_ooopack", seen.out_of_order as i64),
            ("tcpi_total_rto", stats.timeouts as i64),
        ],
    );
}

/// The counters of AccECN.
fn of_feedback(fields: &mut Fields, link: &Link) {
    let counts = link.connection.accurate_ecn().unwrap_or_default();
    let (reported, received) = (counts.reported, counts.received);
    put(
        fields,
        &[
            ("tcpi_delivered_ce", reported.ce_packets as i64),
            ("tcpi_delivered_ce_bytes", reported.ce_bytes as i64),
            ("tcpi_delivered_e0_bytes", reported.ect0_bytes as i64),
            ("tcpi_delivered_e1_bytes", reported.ect1_bytes as i64),
            ("tcpi_received_ce", received.ce_packets as i64),
            ("tcpi_received_ce_bytes", received.ce_bytes as i64),
            ("tcpi_received_e0_bytes", received.ect0_bytes as i64),
            ("tcpi_received_e1_bytes", received.ect1_bytes as i64),
        ],
    );
}

fn of_limits(fields: &mut Fields, link: &Link, now: Time) {
    let limited = link.chrono.read(now);
    put(
        fields,
        &[
            ("tcpi_busy_time", limited.busy_us as i64),
            ("tcpi_rwnd_limited", limited.peer_window_us as i64),
            ("tcpi_sndbuf_limited", limited.send_buffer_us as i64),
        ],
    );
}

fn of_buffers(fields: &mut Fields, link: &Link, settings: &Settings) {
    let connection = &link.connection;
    let sent = connection.bytes_acked() + connection.in_flight();
    let send_window =
        connection.peer_window_edge().saturating_sub(sent.min(connection.bytes_acked()));
    put(
        fields,
        &[
            ("tcpi_snd_wnd", send_window as i64),
            ("tcpi_rcv_space", link.options.receive_buffer(settings) as i64 / 2),
        ],
    );
}

/// The number of a state (`net/tcp_states.h`).
fn state(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

/// The number of a state of repair (`enum tcp_ca_state`).
fn repair(state: CongestionState) -> i64 {
    match state {
        CongestionState::Open => 0,
        CongestionState::Disorder => 1,
        CongestionState::Reduced => 2,
        CongestionState::Recovery => 3,
        CongestionState::Loss => 4,
    }
}
