//! Arrivals of transfers: when, and how large.

use crate::process::Times;
use crate::{Arrival, ArrivalList, ConfigError, Process, Sizes};
use std::sync::Arc;
use windlass_base::Rng;

/// The arrivals of one source.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arrivals {
    /// Times and sizes are drawn.
    Drawn {
        /// How the times are drawn.
        process: Process,
        /// How the sizes are drawn.
        sizes: Sizes,
        /// How many arrivals there are; `None`: no end.
        count: Option<u64>,
    },
    /// Times and sizes are listed.
    Listed(Arc<ArrivalList>),
}

impl Arrivals {
    /// Checks the process and the sizes.
    ///
    /// # Errors
    ///
    /// The setting that is not possible.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Arrivals::Drawn { process, sizes, .. } => process.validate().and(sizes.validate()),
            Arrivals::Listed(_) => Ok(()),
        }
    }

    /// The arrivals in the order of their times. Times and sizes are drawn from separate streams of
    /// random numbers: other sizes leave the times as they are.
    pub fn stream(&self, mut rng: Rng) -> ArrivalStream {
        ArrivalStream(match self {
            Arrivals::Drawn { process, sizes, count } => {
                let rng_of_times = Rng::new(rng.bits());
                Source::Drawn(Drawn {
                    times: Times::new(process.clone(), rng_of_times),
                    sizes: sizes.clone(),
                    rng_of_sizes: rng,
                    left: count.unwrap_or(u64::MAX),
                })
            }
            Arrivals::Listed(list) => Source::Listed(Arc::clone(list), 0),
        })
    }
}

/// The arrivals of a source, one after the other; their times do not descend.
#[derive(Clone, Debug)]
pub struct ArrivalStream(Source);

#[derive(Clone, Debug)]
enum Source {
    Drawn(Drawn),
    /// The list, and the index of the next entry.
    Listed(Arc<ArrivalList>, usize),
}

#[derive(Clone, Debug)]
struct Drawn {
    times: Times,
    sizes: Sizes,
    rng_of_sizes: Rng,
    left: u64,
}

impl Iterator for ArrivalStream {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        match &mut self.0 {
            Source::Drawn(drawn) => {
                drawn.left = drawn.left.checked_sub(1)?;
                let at = drawn.times.next()?;
                Some(Arrival { at, bytes: drawn.sizes.draw(&mut drawn.rng_of_sizes) })
            }
            Source::Listed(list, index) => {
                let arrival = *list.arrivals().get(*index)?;
                *index += 1;
                Some(arrival)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    fn poisson(sizes: Sizes, count: Option<u64>) -> Arrivals {
        Arrivals::Drawn { process: Process::Poisson { per_second: 10.0 }, sizes, count }
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals() {
        let arrivals = poisson(Sizes::Exponential { mean: 5000.0 }, Some(100));
        let drawn = |seed| arrivals.stream(Rng::new(seed)).collect::<Vec<_>>();
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert_eq!(drawn(1).len(), 100);
    }

    #[test]
    fn other_sizes_leave_the_times() {
        let times = |sizes| {
            let stream = poisson(sizes, Some(50)).stream(Rng::new(3));
            stream.map(|arrival| arrival.at).collect::<Vec<_>>()
        };
        assert_eq!(times(Sizes::Fixed(1)), times(Sizes::Uniform { min: 1, max: 9 }));
    }

    #[test]
    fn listed_arrivals_come_as_they_are() {
        let list = ArrivalList::parse("0.5 100\n1 200\n1 300\n").expect("a list");
        let arrivals = Arrivals::Listed(Arc::new(list));
        let found: Vec<_> = arrivals.stream(Rng::new(1)).map(|a| (a.at, a.bytes)).collect();
        let [half, one] = [Span::from_millis(500), Span::from_secs(1)];
        assert_eq!(found, [(half, 100), (one, 200), (one, 300)]);
    }

    #[test]
    fn without_a_count_there_is_no_end() {
        assert_eq!(poisson(Sizes::Fixed(1), None).stream(Rng::new(1)).take(10_000).count(), 10_000);
    }
}
