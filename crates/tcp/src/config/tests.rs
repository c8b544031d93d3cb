//! The table in the documentation of [`Profile`] shows the values of the code.

use super::*;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

type Row = (&'static str, String);

/// Name and value of every field of `$config`. A field or a group that is missing here does not
/// compile.
macro_rules! rows {
    ($config:expr; $($group:ident: $type:ident { $($field:ident),* $(,)? })*) => {{
        let Config { congestion: _, mss: _, $($group),* } = $config;
        let mut rows: Vec<Row> = Vec::new();
        $(
            let $type { $($field),* } = $group;
            rows.extend([$((concat!(stringify!($group), ".", stringify!($field)), format!("{:?}", $field))),*]);
        )*
        rows
    }};
}

fn rows(profile: Profile) -> Vec<Row> {
    let congestion = profile.controller("reno").expect("a controller of the crate");
    let config = profile.config(1460, congestion);
    let mut rows = rows! { config;
        window: WindowConfig {
            initial, initial_ssthresh, limit, least, reduction_base, whole_segment_cuts,
            idle_restart,
        }
        growth: GrowthConfig {
            credit, avoidance_credit, whole_segments, cwnd_validation, validates_by_round, rate_limited_increase,
            newly_delivered,            limited_slow_start,
        }
        recovery: RecoveryConfig {
            limited_transmit, rack, tail_loss_probe, prr, undo, frto, repeated_fast_retransmit,
            hold_ssthresh_on_repeated_timeout,
        }
        timers: TimerConfig {
            clock, rtt_sampling, rto, max_retries, max_syn_retries, linear_syn_timeouts, keep_alive, time_wait,
        }
        ecn: EcnConfig { enabled, fallback, echo, echo_acks, on_retransmit, cut_after_timeout, abe, prr, hold_after_cut }
        accecn: AccEcnConfig { option, option_losses, ect_on_all, wraps_by_ack_ratio }
        acks: AckConfig { policy, marks_at_once, delays_fin }
        sending: SendConfig { nagle, nagle_spares_first, pacing, push_when_held_back }
        extensions: ExtensionConfig { window_scaling, timestamps, sack }
        buffers: BufferConfig { send, receive }
    };
    rows.push(("`Cubic::hystart`", format!("{:?}", profile.cubic().hystart)));
    rows
}

/// The two structures among the fields, and the limit that is none, in fewer words.
fn cell(value: &str) -> String {
    value
        .replace("Clock { tick: ", "tick ")
        .replace("RtoConfig { initial: ", "initial ")
        .replace(", phase: 0s }", "")
        .replace("min_of: ", "of ")
        .replace("rule: ", "by ")
        .replace("max: ", "max ")
        .replace("min: ", "min ")
        .replace("limit: 4294967295", "no limit")
        .replace("limit: ", "limit ")
        .replace(" { ", " (")
        .replace(" }", if value.contains("RtoConfig") { "" } else { ")" })
}

#[test]
fn the_table_of_the_profiles_shows_the_values_of_the_code() {
    let columns = Profile::ALL.map(rows);
    let page = include_str!("profile.rs");
    let mut missing = Vec::new();
    for (index, (name, _)) in columns[0].iter().enumerate() {
        let cells: Vec<String> = columns.iter().map(|rows| cell(&rows[index].1)).collect();
        let row = format!("/// | `{}` | {} |", name.trim_matches('`'), cells.join(" | "));
        if !page.lines().any(|line| line == row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "expected in profile.rs:\n{}", missing.join("\n"));
}
