//! Random times of arrivals.

use crate::{ConfigError, Sizes};
use windlass_base::{Rng, Span};

/// The least shape of on and off times. Near 1, nearly all of the time lies in a few of them.
const SHAPE_MIN: f64 = 1.05;
/// The least mean number of arrivals in an on time, so that the search for the next one ends soon.
const ARRIVALS_MIN: f64 = 0.001;

/// How the times of arrivals are drawn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Process {
    /// Independent arrivals: exponential times between them.
    Poisson {
        /// Arrivals per second, in the mean.
        per_second: f64,
    },
    /// Bursts of arrivals.
    ParetoOnOff(OnOff),
}

/// Bursts: on times with Poisson arrivals, and off times without. Both are Pareto distributed with the
/// same shape, so that sums of several such sources vary at all scales of time (Willinger et al.,
/// "Self-Similarity Through High-Variability", 1997).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct OnOff {
    /// Arrivals per second during an on time.
    pub per_second: f64,
    /// The mean on time.
    pub on: Span,
    /// The mean off time.
    pub off: Span,
    /// The shape of both, at least 1.05. 1.5 is usual; at 2 and above, the variance is finite.
    pub shape: f64,
}

impl Process {
    /// Checks that arrivals come.
    ///
    /// # Errors
    ///
    /// The setting that is not possible.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let per_second = match self {
            Process::Poisson { per_second } => *per_second,
            Process::ParetoOnOff(bursts) => bursts.per_second,
        };
        if !(per_second > 0.0 && per_second.is_finite()) {
            return Err(ConfigError::Rate);
        }
        match self {
            Process::Poisson { .. } => Ok(()),
            Process::ParetoOnOff(bursts) => bursts.validate(),
        }
    }

    /// Arrivals per second, in the mean.
    pub fn mean_rate(&self) -> f64 {
        match self {
            Process::Poisson { per_second } => *per_second,
            Process::ParetoOnOff(bursts) => bursts.per_second * bursts.share_on(),
        }
    }

    /// The same process with a mean of so many arrivals per second; on and off times stay.
    #[must_use]
    pub fn with_mean_rate(&self, per_second: f64) -> Process {
        match self {
            Process::Poisson { .. } => Process::Poisson { per_second },
            Process::ParetoOnOff(bursts) => {
                let per_second = per_second / bursts.share_on();
                Process::ParetoOnOff(OnOff { per_second, ..*bursts })
            }
        }
    }
}

impl OnOff {
    /// Checks the times of bursts whose rate is above zero.
    fn validate(&self) -> Result<(), ConfigError> {
        if !(self.shape >= SHAPE_MIN && self.shape.is_finite()) {
            return Err(ConfigError::OnOffShape);
        }
        let arrivals = self.per_second * self.on.as_secs_f64();
        if self.off.is_zero() || arrivals < ARRIVALS_MIN {
            return Err(ConfigError::OnOff);
        }
        Ok(())
    }

    /// The share of the time that is on.
    fn share_on(&self) -> f64 {
        let (on, off) = (self.on.as_secs_f64(), self.off.as_secs_f64());
        on / (on + off)
    }

    /// Draws a time with this mean.
    fn period(&self, mean: Span, rng: &mut Rng) -> Span {
        let minimum = mean.as_secs_f64() * (self.shape - 1.0) / self.shape;
        let times = Sizes::Pareto { shape: self.shape, minimum, maximum: None };
        Span::from_secs_f64(times.quantile(rng.uniform()))
    }
}

/// The times of one source.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    process: Process,
    rng: Rng,
    at: Span,
    /// When the on time ends; of on and off times alone.
    on_until: Span,
}

impl Times {
    /// The source of bursts begins on with the share of the time that is on, at the begin of an on or off
    /// time.
    pub(crate) fn new(process: Process, mut rng: Rng) -> Times {
        let (mut at, mut on_until) = (Span::ZERO, Span::ZERO);
        if let Process::ParetoOnOff(bursts) = &process {
            if !rng.chance(bursts.share_on()) {
                at = bursts.period(bursts.off, &mut rng);
            }
            on_until = at + bursts.period(bursts.on, &mut rng);
        }
        Times { process, rng, at, on_until }
    }

    /// The time of the next arrival; `None` beyond the longest span.
    pub(crate) fn next(&mut self) -> Option<Span> {
        self.at = match self.process {
            Process::Poisson { per_second } => self.at + self.gap(per_second),
            Process::ParetoOnOff(bursts) => self.next_of_bursts(bursts),
        };
        Some(self.at).filter(|at| *at < Span::MAX)
    }

    fn gap(&mut self, per_second: f64) -> Span {
        Span::from_secs_f64(self.rng.exponential(1.0 / per_second))
    }

    fn next_of_bursts(&mut self, bursts: OnOff) -> Span {
        let mut at = self.at + self.gap(bursts.per_second);
        // A time beyond the end counts from the begin of the next on time: exponential times have no
        // memory, so that what has passed of one does not matter.
        while at > self.on_until && at < Span::MAX {
            let over = at.saturating_sub(self.on_until);
            let begins = self.on_until + bursts.period(bursts.off, &mut self.rng);
            self.on_until = begins + bursts.period(bursts.on, &mut self.rng);
            at = begins + over;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURSTS: OnOff = OnOff {
        per_second: 100.0,
        on: Span::from_millis(500),
        off: Span::from_millis(1500),
        shape: 1.5,
    };

    #[test]
    fn processes_without_arrivals_are_refused() {
        let error = |bursts| Process::ParetoOnOff(bursts).validate().expect_err("no process");
        assert_eq!(error(OnOff { per_second: 0.0, ..BURSTS }), ConfigError::Rate);
        assert_eq!(error(OnOff { per_second: f64::NAN, ..BURSTS }), ConfigError::Rate);
        assert_eq!(error(OnOff { shape: 1.0, ..BURSTS }), ConfigError::OnOffShape);
        assert_eq!(error(OnOff { on: Span::ZERO, ..BURSTS }), ConfigError::OnOff);
        assert_eq!(error(OnOff { off: Span::ZERO, ..BURSTS }), ConfigError::OnOff);
        assert_eq!(error(OnOff { on: Span::from_micros(1), ..BURSTS }), ConfigError::OnOff);
        let rate = |per_second| Process::Poisson { per_second }.validate();
        assert_eq!(rate(0.0), Err(ConfigError::Rate));
        assert_eq!(rate(f64::INFINITY), Err(ConfigError::Rate));
        assert_eq!(rate(1.0), Ok(()));
    }

    /// The least time has its mean times (shape - 1) / shape; of shape 3, the variance is finite.
    #[test]
    fn times_have_the_mean_and_the_least_of_their_distribution() {
        let bursts = OnOff { shape: 3.0, ..BURSTS };
        let mut rng = Rng::new(5);
        let times: Vec<f64> =
            (0..100_000).map(|_| bursts.period(bursts.on, &mut rng).as_secs_f64()).collect();
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((least - 0.5 * 2.0 / 3.0).abs() < 1e-4, "{least}");
        // The standard deviation is mean / sqrt(shape (shape - 2)) = 0.29 s, its error 0.9 ms.
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
    }

    #[test]
    fn a_quarter_of_the_time_is_on() {
        let process = Process::ParetoOnOff(BURSTS);
        assert_eq!((process.validate(), process.mean_rate()), (Ok(()), 25.0));
        assert_eq!(process.with_mean_rate(50.0).mean_rate(), 50.0);
    }
}
