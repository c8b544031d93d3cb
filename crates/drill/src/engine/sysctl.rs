//! The host's variables (`net.ipv4.tcp_*`): what each means for the engine.
//!
//! [`ROWS`] is the one table; `docs/reference/drill.md` is made of it.

use crate::subject::Unsupported;

/// The variables that change what the engine does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) ecn: i64,
    pub(super) ecn_option: i64,
    pub(super) ecn_option_beacon: i64,
    pub(super) ecn_fallback: i64,
    pub(super) sack: i64,
    pub(super) timestamps: i64,
    pub(super) window_scaling: i64,
    pub(super) controller: String,
    pub(super) restart_after_idle: i64,
    pub(super) tail_probe: i64,
    pub(super) rack: i64,
    pub(super) frto: i64,
    pub(super) rmem: [i64; 3],
    pub(super) wmem: [i64; 3],
    pub(super) syn_retries: i64,
    pub(super) synack_retries: i64,
    pub(super) retries: i64,
    pub(super) min_segments: i64,
    pub(super) linear_syn_timeouts: i64,
    pub(super) rto_min_us: i64,
    pub(super) rto_max_ms: i64,
    pub(super) fin_timeout_s: i64,
    pub(super) keepalive_s: i64,
    pub(super) keepalive_interval_s: i64,
    pub(super) keepalive_probes: i64,
}

impl Default for Settings {
    /// Those of Linux 7.3 on a machine with much memory.
    fn default() -> Settings {
        Settings {
            ecn: 2,
            ecn_option: 2,
            ecn_option_beacon: 3,
            ecn_fallback: 1,
            sack: 1,
            timestamps: 1,
            window_scaling: 1,
            controller: "cubic".to_owned(),
            restart_after_idle: 1,
            tail_probe: 3,
            rack: 1,
            frto: 2,
            rmem: [4096, 131_072, 32 << 20],
            wmem: [4096, 16_384, 4 << 20],
            syn_retries: 6,
            synack_retries: 5,
            retries: 15,
            min_segments: 2,
            linear_syn_timeouts: 4,
            rto_min_us: 200_000,
            rto_max_ms: 120_000,
            fin_timeout_s: 60,
            keepalive_s: 7200,
            keepalive_interval_s: 75,
            keepalive_probes: 9,
        }
    }
}

/// The effect of a value.
#[derive(Clone, Debug)]
enum Effect {
    /// It is one number of this range.
    Number(fn(&mut Settings) -> &mut i64, std::ops::RangeInclusive<i64>),
    /// It is three numbers: least, default and most.
    Three(fn(&mut Settings) -> &mut [i64; 3]),
    /// It names a controller.
    Controller,
    /// The engine behaves as with these values of Linux, and has no others.
    Only(&'static [&'static str]),
    /// No value changes what a connection does.
    Nothing,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name after `net.ipv4.`.
    pub name: &'static str,
    /// Linux's default.
    pub linux: &'static str,
    /// The value of the kernel's `defaults.sh`; empty where it leaves the default.
    pub scripts: &'static str,
    /// Its meaning for the engine.
    pub meaning: &'static str,
    effect: Effect,
}

/// A row of [`ROWS`].
const fn row(
    name: &'static str,
    linux: &'static str,
    scripts: &'static str,
    effect: Effect,
    meaning: &'static str,
) -> Row {
    Row { name, linux, scripts, meaning, effect }
}

use Effect::{Controller, Nothing, Number, Only, Three};

/// Every variable that the engine knows.
#[rustfmt::skip]
pub static ROWS: &[Row] = &[
    row("tcp_ecn", "2", "0", Number(|s| &mut s.ecn, 0..=5),
        "0: no ECN. 1: asks for classic ECN, and accepts it. 2: accepts it. 3: asks for AccECN, and accepts both. 4: asks for classic ECN, and accepts both. 5: accepts both. `ecn.enabled`, `ecn.echo`"),
    row("tcp_ecn_option", "2", "", Number(|s| &mut s.ecn_option, 0..=3),
        "0: ACKs have no AccECN option. 1: those after a counter has changed, and as often as the beacon says. 2: all, until the path seems to drop them. 3: all. `ecn.option`"),
    row("tcp_ecn_option_beacon", "3", "", Number(|s| &mut s.ecn_option_beacon, 0..=i64::MAX),
        "accepted, no effect: with `tcp_ecn_option` = 2 every ACK has the option"),
    row("tcp_ecn_fallback", "1", "", Number(|s| &mut s.ecn_fallback, 0..=1),
        "SYNs without answer stop asking for ECN; with AccECN, a codepoint that the path has changed keeps data from being ECT. `ecn.fallback`"),
    row("tcp_sack", "1", "1", Number(|s| &mut s.sack, 0..=1), "`extensions.sack`"),
    row("tcp_dsack", "1", "1", Only(&["1"]), "the engine reports duplicates wherever it has SACK"),
    row("tcp_fack", "0", "0", Nothing, "accepted, no effect, as in Linux since 4.15"),
    row("tcp_timestamps", "1", "1", Number(|s| &mut s.timestamps, 0..=2), "`extensions.timestamps`; 1 and 2 are the same, as the engine's clock has no random offset"),
    row("tcp_window_scaling", "1", "", Number(|s| &mut s.window_scaling, 0..=1), "`extensions.window_scaling`"),
    row("tcp_reordering", "3", "3", Only(&["3"]), "the duplicate threshold is three segments (RFC 6675 section 2)"),
    row("tcp_congestion_control", "cubic", "cubic", Controller, "the controller, by the engine's names; Linux's `reno` is the engine's `newreno`"),
    row("tcp_slow_start_after_idle", "1", "0", Number(|s| &mut s.restart_after_idle, 0..=1), "`window.idle_restart`"),
    row("tcp_early_retrans", "3", "4", Number(|s| &mut s.tail_probe, 0..=4), "0: no tail loss probe; 3 and 4: `recovery.tail_loss_probe`"),
    row("tcp_recovery", "1", "1", Number(|s| &mut s.rack, 0..=1), "`recovery.rack`"),
    row("tcp_frto", "2", "2", Number(|s| &mut s.frto, 0..=2), "`recovery.frto`, if not 0"),
    row("tcp_rmem", "4096 131072 33554432", "4096 540000 15728640", Three(|s| &mut s.rmem),
        "the most sets the window shift; half of the default is the first window. The window grows no further, as the engine has no auto-tuning"),
    row("tcp_wmem", "4096 16384 4194304", "4096 262144 4194304", Three(|s| &mut s.wmem),
        "the most is the send buffer of a socket without SO_SNDBUF, as Linux's grows to it"),
    row("tcp_syn_retries", "6", "5", Number(|s| &mut s.syn_retries, 0..=127), "`timers.max_syn_retries` of an active open"),
    row("tcp_synack_retries", "5", "5", Number(|s| &mut s.synack_retries, 0..=255), "`timers.max_syn_retries` of a passive open"),
    row("tcp_syn_linear_timeouts", "4", "", Number(|s| &mut s.linear_syn_timeouts, 0..=127), "`timers.linear_syn_timeouts`"),
    row("tcp_retries2", "15", "", Number(|s| &mut s.retries, 0..=255), "`timers.max_retries`"),
    row("tcp_min_tso_segs", "2", "", Number(|s| &mut s.min_segments, 1..=65_535), "the least full segments that leave in one packet, as of a network card that splits them"),
    row("tcp_tso_win_divisor", "3", "3", Nothing, "accepted, no effect: the engine sends what the window allows, and does not wait for larger packets"),
    row("tcp_tso_rtt_log", "9", "", Only(&["9"]), "how the size of packets falls with the RTT, as in Linux"),
    row("tcp_limit_output_bytes", "4194304", "", Nothing, "accepted, no effect: the host has no queue of its own"),
    row("tcp_notsent_lowat", "4294967295", "4294967295", Nothing, "accepted, no effect"),
    row("tcp_moderate_rcvbuf", "1", "", Nothing, "accepted, no effect: no auto-tuning"),
    row("tcp_shrink_window", "0", "", Only(&["0"]), "the right edge never moves back (RFC 9293 section 3.8.6)"),
    row("tcp_invalid_ratelimit", "500", "", Nothing, "accepted, no effect: at most ten challenge ACKs in five seconds (RFC 5961 section 7)"),
    row("tcp_challenge_ack_limit", "2147483647", "", Nothing, "accepted, no effect"),
    row("tcp_rto_min_us", "200000", "", Number(|s| &mut s.rto_min_us, 1..=i64::MAX), "`timers.rto.min`"),
    row("tcp_rto_max_ms", "120000", "", Number(|s| &mut s.rto_max_ms, 1000..=120_000), "`timers.rto.max`"),
    row("tcp_fin_timeout", "60", "", Number(|s| &mut s.fin_timeout_s, 0..=i64::MAX), "how long a closed socket waits for the peer's FIN"),
    row("tcp_keepalive_time", "7200", "", Number(|s| &mut s.keepalive_s, 1..=32_767), "with SO_KEEPALIVE: `timers.keep_alive`"),
    row("tcp_keepalive_intvl", "75", "", Number(|s| &mut s.keepalive_interval_s, 1..=32_767), "likewise"),
    row("tcp_keepalive_probes", "9", "", Number(|s| &mut s.keepalive_probes, 1..=127), "likewise"),
    row("tcp_pacing_ss_ratio", "200", "200", Only(&["200"]), "the rate by which packets are sized; the engine paces nothing here"),
    row("tcp_pacing_ca_ratio", "120", "120", Only(&["120"]), "likewise"),
    row("tcp_fastopen", "1", "3", Nothing, "accepted, no effect: no Fast Open"),
    row("tcp_fastopen_key", "random", "a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4", Nothing, "likewise"),
    row("tcp_syncookies", "1", "1", Only(&["0", "1"]), "no cookies: a full queue drops SYNs"),
    row("tcp_no_metrics_save", "0", "", Nothing, "accepted, no effect: no connection knows of earlier ones"),
    row("tcp_abort_on_overflow", "0", "", Only(&["0"]), "a full accept queue drops the last ACK of the handshake"),
];

impl Settings {
    /// Sets a variable by its full name.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), Unsupported> {
        let short = name.trim_start_matches("net.ipv4.");
        let row = ROWS.iter().find(|row| row.name == short).ok_or_else(|| {
            Unsupported(format!(
                "the engine has no variable {name}, and nothing that it stands for"
            ))
        })?;
        row.apply(self, value.trim()).ok_or_else(|| {
            Unsupported(format!("the engine lacks {name} = {value}: {}", row.meaning))
        })
    }
}

impl Row {
    fn apply(&self, settings: &mut Settings, value: &str) -> Option<()> {
        match &self.effect {
            Nothing => {}
            Only(values) => return values.contains(&value).then_some(()),
            Controller => {
                super::controller::controller(value)?;
                value.clone_into(&mut settings.controller);
            }
            Number(field, range) => {
                let number = value.parse().ok().filter(|number| range.contains(number))?;
                *field(settings) = number;
            }
            Three(field) => {
                let numbers: Option<Vec<i64>> =
                    value.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
                *field(settings) = numbers?.try_into().ok()?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_linux_and_of_the_scripts_are_values_of_the_engine() {
        for row in ROWS {
            let mut settings = Settings::default();
            for value in [row.linux, row.scripts].into_iter().filter(|value| !value.is_empty()) {
                assert_eq!(settings.set(row.name, value), Ok(()), "{}", row.name);
            }
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_table() {
        let mut settings = Settings::default();
        for row in ROWS {
            settings.set(&format!("net.ipv4.{}", row.name), row.linux).expect("a default");
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn the_page_of_the_variables_shows_the_table() {
        let page = include_str!("../../../../docs/reference/drill-variables.md");
        for Row { name, linux, scripts, meaning, .. } in ROWS {
            let row = format!("| `{name}` | {linux} | {scripts} | {meaning} |");
            assert!(page.lines().any(|line| line == row), "expected in the page: {row}");
        }
    }

    #[test]
    fn what_the_engine_lacks_is_said() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("net.ipv4.tcp_dsack", "0"),
            ("net.ipv4.tcp_rmem", "4096 131072"),
            ("net.ipv4.tcp_ecn", "six"),
            ("net.ipv4.tcp_congestion_control", "westwood"),
            ("net.ipv4.tcp_unknown", "1"),
        ] {
            let refused = settings.set(name, value).expect_err(name);
            assert!(refused.0.contains(name), "{refused}");
        }
        assert_eq!(settings, Settings::default());
    }
}
