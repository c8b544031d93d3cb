//! Congestion controllers: their names, their parameters, and the factories that they mean.

use crate::any_kind::{AnyKind, KnownKinds};
use crate::registry::{Context, Kind, Registry};
use crate::units::NoSettingsKeys;
use std::sync::Arc;
use windlass_base::Span;
use windlass_keys::{Choice, Located, Probability, choice, keys};
use windlass_tcp::Profile;
use windlass_tcp::cc::{self, ControllerFactory};

choice! {
    /// A congestion controller and its parameters.
    enum ControllerKeys as "a congestion controller" {
        /// Tahoe: every loss ends in slow start.
        Tahoe(NoSettingsKeys) = "tahoe",
        /// Reno: fast recovery until the first new ACK (RFC 2581).
        Reno(NoSettingsKeys) = "reno",
        /// NewReno: fast recovery until all that was in flight is acknowledged (RFC 6582).
        NewReno(NoSettingsKeys) = "newreno",
        /// Vegas: delay tells of congestion.
        Vegas(NoSettingsKeys) = "vegas",
        /// CUBIC (RFC 9438).
        Cubic(NoSettingsKeys) = "cubic",
        /// DCTCP (RFC 8257), whose receiver has `echo = "dctcp"`.
        Dctcp(DctcpKeys) = "dctcp",
        /// Prague (draft-briscoe-iccrg-prague-congestion-control-04), whose receiver has `echo = "dctcp"`. It paces.
        Prague(PragueKeys) = "prague",
        /// BBR version 1, as Linux has it. It paces.
        Bbr(NoSettingsKeys) = "bbr",
        /// BBR version 3 (draft-ietf-ccwg-bbr-06). It paces.
        Bbr3(Bbr3Keys) = "bbr3",
        /// New-ECN (Hamann 1999).
        NewEcn(NewEcnKeys) = "new-ecn",
        /// Reno whose rate grows alike for all round-trip times (Floyd 1991), for experiments.
        ConstantIncrease(ConstantIncreaseKeys) = "constant-increase",
        /// No congestion control, for experiments: the receiver's window alone limits the sender.
        None(NoSettingsKeys) = "none",
    }
}

/// A controller: one of Windlass's, or one of the registry's.
pub(crate) type ControllerKind = AnyKind<ControllerKeys>;

impl KnownKinds for ControllerKeys {
    type Custom = Arc<dyn ControllerFactory>;
    type Beside = NoSettingsKeys;

    fn added(registry: &Registry) -> &[Kind<Self::Custom>] {
        &registry.controllers
    }
}

keys! {
    /// Parameters of constant increase.
    struct ConstantIncreaseKeys {
        /// The window grows by this times SRTT squared in each round trip, in segments per square
        /// second. Default: 16.
        gain: Option<f64>,
    }
}

keys! {
    /// Parameters of DCTCP.
    struct DctcpKeys {
        /// Weight of a window of data in the estimate of the marked share. Default: 0.0625.
        gain: Option<Probability>,
    }
}

keys! {
    /// Parameters of Prague.
    struct PragueKeys {
        /// Reduces as much as CUBIC does at a mark, once RTTs show that the marks are those of a classic queue (RFC
        /// 3168). Default: false.
        classic_fallback: Option<bool>,
        /// Adds a millisecond's data per virtual RTT, in place of a segment, after some of them without a mark.
        /// Default: false.
        fast_growth: Option<bool>,
    }
}

keys! {
    /// Parameters of BBR version 3.
    struct Bbr3Keys {
        /// BBR.ProbeRTTInterval: ProbeRTT is due when no lower RTT has been seen for so long. The draft wants all
        /// flows on a link to have the same. Default: 5 s.
        probe_rtt_interval: Option<Located<Span>>,
        /// BBR.MinRTTFilterLen: the time that the least RTT lasts, at least that of `probe_rtt_interval`. Default:
        /// 10 s.
        min_rtt_filter_len: Option<Located<Span>>,
    }
}

impl Bbr3Keys {
    /// The factory; `None` after reporting a setting that cannot work.
    fn factory(&self, context: &mut Context) -> Option<cc::Bbr3> {
        let mut factory = cc::Bbr3::default();
        if let Some(Located { value, location }) = &self.probe_rtt_interval {
            if value.is_zero() {
                context.wrong_at(location, "expected a time above zero".to_owned());
                return None;
            }
            factory.probe_rtt_interval = *value;
        }
        factory.min_rtt_filter_len =
            self.min_rtt_filter_len.as_ref().map_or(factory.min_rtt_filter_len, |len| len.value);
        // "ProbeRTT Design Rationale": the filter includes at least one ProbeRTT.
        if factory.min_rtt_filter_len < factory.probe_rtt_interval {
            let wrong = self.min_rtt_filter_len.as_ref().or(self.probe_rtt_interval.as_ref())?;
            let message = "min_rtt_filter_len must not be shorter than probe_rtt_interval";
            context.wrong_at(&wrong.location, message.to_owned());
            return None;
        }
        Some(factory)
    }
}

keys! {
    /// Parameters of New-ECN.
    struct NewEcnKeys {
        /// cwnd and ssthresh are multiplied by this at a mark. Default: 0.9.
        alpha_wnd: Option<f64>,
        /// The slope is multiplied by this at every mark but the first. Default: 0.9.
        alpha_slp: Option<f64>,
        /// The slope grows by beta times SRTT squared in each round trip. Default: 16.
        beta: Option<f64>,
    }
}

/// The controller of a connection: the one that its keys name, or the profile's. CUBIC is `cubic`,
/// which has the options that stand beside the controller. `None` after reporting that this build has
/// none of the name.
pub(crate) fn factory(
    chosen: Option<&Located<ControllerKind>>,
    profile: Profile,
    cubic: cc::Cubic,
    context: &mut Context,
) -> Option<Arc<dyn ControllerFactory>> {
    let name = match chosen.map(|chosen| &chosen.value) {
        Some(AnyKind::Custom(factory, _)) => return Some(Arc::clone(factory)),
        Some(AnyKind::Known(ControllerKeys::NewEcn(keys))) => {
            let mut factory = cc::NewEcn::default();
            factory.alpha_wnd = keys.alpha_wnd.unwrap_or(factory.alpha_wnd);
            factory.alpha_slp = keys.alpha_slp.unwrap_or(factory.alpha_slp);
            factory.beta = keys.beta.unwrap_or(factory.beta);
            return Some(Arc::new(factory));
        }
        Some(AnyKind::Known(ControllerKeys::ConstantIncrease(keys))) => {
            let mut factory = cc::ConstantIncrease::default();
            factory.gain = keys.gain.unwrap_or(factory.gain);
            return Some(Arc::new(factory));
        }
        Some(AnyKind::Known(ControllerKeys::Dctcp(keys))) => {
            let mut factory = cc::Dctcp::default();
            factory.gain = keys.gain.map_or(factory.gain, |gain| gain.0);
            return Some(Arc::new(factory));
        }
        Some(AnyKind::Known(ControllerKeys::Prague(keys))) => {
            let mut factory = cc::Prague::default();
            factory.classic_fallback = keys.classic_fallback.unwrap_or(factory.classic_fallback);
            factory.fast_growth = keys.fast_growth.unwrap_or(factory.fast_growth);
            return Some(Arc::new(factory));
        }
        Some(AnyKind::Known(ControllerKeys::Bbr3(keys))) => {
            return Some(Arc::new(keys.factory(context)?));
        }
        // The others have no settings.
        Some(AnyKind::Known(keys)) => keys.kind(),
        None => profile.default_controller(),
    };
    if name == "cubic" {
        return Some(Arc::new(cubic));
    }
    let factory = cc::by_name(name);
    if let (None, Some(chosen)) = (&factory, chosen) {
        context.wrong_at(&chosen.location, format!("this build has no controller {name:?}"));
    }
    factory
}
