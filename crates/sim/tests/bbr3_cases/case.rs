//! A test case as data, and its judgement of a subject.

use crate::bed::{Bed, Path, Traffic};
use std::sync::Arc;
use windlass_tcp::cc::ControllerFactory;

/// The reason for which a subject fails a case.
pub(crate) type Verdict = Result<(), String>;

/// One case of the draft's appendix "BBR Example Test Cases".
pub(crate) struct Case {
    /// The title of its section there.
    pub(crate) name: &'static str,
    /// The section of the draft whose behaviour it tests.
    pub(crate) section: &'static str,
    /// The path at the beginning.
    pub(crate) path: Path,
    /// The application at the beginning.
    pub(crate) traffic: Traffic,
    /// The variables that are looked at.
    pub(crate) observed: &'static [&'static str],
    /// The behaviour that they must show.
    pub(crate) demanded: &'static str,
    /// The relative error of rates that is allowed.
    pub(crate) tolerance: f64,
    /// Drives the path and the application, and looks.
    pub(crate) program: fn(&Case, &mut Bed) -> Verdict,
}

impl Case {
    /// The judgement of the controller that a factory makes.
    pub(crate) fn judge(&self, subject: Arc<dyn ControllerFactory>) -> Verdict {
        let mut bed = Bed::new(subject, self.path, self.traffic);
        let unknown = self.observed.iter().find(|name| bed.get(name).is_nan());
        if let Some(name) = unknown {
            return Err(format!("{}: the subject has no variable {name}", self.name));
        }
        (self.program)(self, &mut bed).map_err(|reason| {
            let at = bed.now.as_nanos() as f64 / 1e9;
            format!("{} at {at:.3} s: {reason}; demanded: {}", self.name, self.demanded)
        })
    }

    /// Whether two rates or volumes are equal within the tolerance.
    pub(crate) fn near(&self, found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() <= self.tolerance
    }
}

/// Returns the reason from a program unless the condition holds.
macro_rules! demand {
    ($holds:expr, $($reason:tt)+) => {
        // A value that is not a number holds nothing.
        match $holds {
            true => {}
            false => return Err(format!($($reason)+)),
        }
    };
}
pub(crate) use demand;

/// BBR.state as the variable `state` has it.
pub(crate) const STARTUP: f64 = 0.0;
pub(crate) const DRAIN: f64 = 1.0;
pub(crate) const DOWN: f64 = 2.0;
pub(crate) const CRUISE: f64 = 3.0;
pub(crate) const REFILL: f64 = 4.0;
pub(crate) const UP: f64 = 5.0;
pub(crate) const PROBE_RTT: f64 = 6.0;
