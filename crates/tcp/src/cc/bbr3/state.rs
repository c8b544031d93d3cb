//! "State Machine", and the table in "Summary of Control Behavior in the State Machine".

/// BBR.state.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl State {
    /// BBR.pacing_gain.
    pub(super) fn pacing_gain(self) -> f64 {
        match self {
            // BBR.StartupPacingGain: 4 ln 2, with which the rate can double in a round trip.
            State::Startup => 2.77,
            // BBR.DrainPacingGain.
            State::Drain => 0.5,
            State::ProbeBwDown => 0.9,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
            State::ProbeBwUp => 1.25,
        }
    }

    /// BBR.cwnd_gain.
    pub(super) fn cwnd_gain(self) -> f64 {
        match self {
            State::ProbeBwUp => 2.25,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            // BBR.DefaultCwndGain.
            _ => 2.0,
        }
    }

    /// IsInAProbeBWState: one of the four states of ProbeBW.
    pub(super) fn is_probe_bw(self) -> bool {
        use State::*;
        matches!(self, ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp)
    }

    /// IsProbingBW: losses are part of the probe.
    pub(super) fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// The value `state` in traces.
    pub(super) fn number(self) -> f64 {
        f64::from(self as u8)
    }
}

/// BBR.ProbeRTTCwndGain.
pub(super) const PROBE_RTT_CWND_GAIN: f64 = 0.5;
