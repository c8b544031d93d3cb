//! The settings that the kernel's scripts begin with (`defaults.sh`).

use super::Command;

/// Each variable of `net.ipv4` with its value.
const DEFAULTS: [(&str, &str); 22] = [
    // Buffers in bytes: the least, the first, the most.
    ("tcp_rmem", "4096 540000 15728640"),
    ("tcp_wmem", "4096 262144 4194304"),
    ("tcp_timestamps", "1"),
    ("tcp_syn_retries", "5"),
    ("tcp_synack_retries", "5"),
    // RFC 5682.
    ("tcp_frto", "2"),
    ("tcp_sack", "1"),
    ("tcp_dsack", "1"),
    ("tcp_fack", "0"),
    // Duplicate ACKs before a fast retransmission.
    ("tcp_reordering", "3"),
    ("tcp_congestion_control", "cubic"),
    ("tcp_slow_start_after_idle", "0"),
    // Tail loss probes, and RACK.
    ("tcp_early_retrans", "4"),
    ("tcp_recovery", "1"),
    // Which part of the window may wait for a larger packet.
    ("tcp_tso_win_divisor", "3"),
    ("tcp_ecn", "0"),
    // Pacing in percent of window per RTT.
    ("tcp_pacing_ss_ratio", "200"),
    ("tcp_pacing_ca_ratio", "120"),
    ("tcp_notsent_lowat", "4294967295"),
    // Client and server.
    ("tcp_fastopen", "0x3"),
    ("tcp_fastopen_key", "a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4"),
    ("tcp_syncookies", "1"),
];

/// The settings as commands. A subject starts with the rest of `defaults.sh`: no metrics of earlier
/// connections, and a queue that does not pace.
pub(super) fn commands() -> Vec<Command> {
    let set = |(name, value): (&str, &str)| Command::Set {
        name: format!("net.ipv4.{name}"),
        value: value.to_owned(),
        optional: true,
    };
    DEFAULTS.into_iter().map(set).collect()
}
