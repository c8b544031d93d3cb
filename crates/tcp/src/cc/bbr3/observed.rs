//! The variables of the draft that tests and judges look at, by their names there.

use super::Bbr3Controller;

impl Bbr3Controller {
    /// The value of a variable; `None` for a name that is not known. Rates are in bytes per second, volumes in bytes,
    /// times in seconds; a condition is 1 or 0.
    pub(super) fn observed(&self, name: &str) -> Option<f64> {
        self.observed_state(name)
            .or_else(|| self.observed_rate(name))
            .or_else(|| self.observed_volume(name))
    }

    fn observed_state(&self, name: &str) -> Option<f64> {
        Some(match name {
            "state" => self.state.number(),
            "pacing_gain" => self.state.pacing_gain(),
            "cwnd_gain" => self.state.cwnd_gain(),
            "round_count" => f64::from(self.rounds.count),
            "rounds_since_probe_up" => f64::from(self.rounds.since_probe_up),
            "drain_start_round" => f64::from(self.drain_start_round),
            "full_bw_count" => f64::from(self.full_pipe.count),
            "full_bw_now" => f64::from(self.full_pipe.is_now),
            "full_bw_reached" => f64::from(self.full_pipe.is_reached),
            "idle_restart" => f64::from(self.idle_restart),
            "bw_probe_wait" => self.long_term.bw_probe_wait.as_secs_f64(),
            "bw_probe_up_rounds" => f64::from(self.long_term.up_rounds),
            "prev_probe_too_high" => f64::from(self.long_term.prev_probe_too_high),
            "undo_state" => self.undo.state.map_or(-1.0, |state| state.number()),
            _ => return None,
        })
    }

    fn observed_rate(&self, name: &str) -> Option<f64> {
        Some(match name {
            "bw" => self.bw,
            "max_bw" => self.max_bw.get(),
            "bw_shortterm" => self.short_term.bw,
            "bw_latest" => self.short_term.bw_latest,
            "pacing_rate" => self.pacing_rate,
            "min_rtt" => self.min_rtt.least?.as_secs_f64(),
            "probe_rtt_min_delay" => self.min_rtt.probe_rtt_min_delay?.as_secs_f64(),
            "probe_rtt_min_stamp" => self.min_rtt.probe_rtt_min_stamp.as_nanos() as f64 / 1e9,
            _ => return None,
        })
    }

    fn observed_volume(&self, name: &str) -> Option<f64> {
        Some(match name {
            "bdp" => self.bdp(),
            "inflight" => self.inflight(self.bw, 1.0),
            "inflight_with_headroom" => self.inflight_with_headroom(),
            "inflight_longterm" => self.long_term.inflight,
            "inflight_shortterm" => self.short_term.inflight,
            "probe_up_acked_per_inc" => self.long_term.acked_per_increase,
            "max_inflight" => self.max_inflight(),
            "extra_acked" => self.extra_acked.get(),
            "probe_rtt_cwnd" => self.probe_rtt_cwnd(),
            "prior_cwnd" => self.prior_cwnd,
            "send_quantum" => self.send_quantum,
            _ => return None,
        })
    }
}
