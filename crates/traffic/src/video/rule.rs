//! Rules that choose the level of the next segment.

use super::Video;
use crate::ConfigError;
use std::collections::VecDeque;
use windlass_base::{BitRate, Span};

/// How the level of the next segment is chosen. Levels count from 0, the lowest bitrate.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// Always the same level.
    Fixed {
        /// The level.
        level: usize,
    },
    /// The highest level whose bitrate is not above the harmonic mean of the last throughputs times a
    /// factor; at first, and if there is none, the lowest.
    Rate {
        /// How many throughputs count.
        window: usize,
        /// The factor, above 0.
        safety: f64,
    },
    /// BBA-0 (Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014, algorithm 1):
    /// the buffer is mapped to a bitrate, and the level changes only when this passes the next higher or
    /// lower one.
    Bba0 {
        /// Up to so much in the buffer, the lowest level.
        reservoir: Span,
        /// Over so much more, the bitrate rises linearly from the lowest to the highest.
        cushion: Span,
    },
}

impl Rule {
    pub(super) fn validate(&self, video: &Video) -> Result<(), ConfigError> {
        let possible = match *self {
            Rule::Fixed { level } => level < video.ladder.len(),
            Rule::Rate { window, safety } => window > 0 && safety > 0.0 && safety.is_finite(),
            // Otherwise the highest level would never be chosen: a request leaves space for its segment.
            Rule::Bba0 { reservoir, cushion } => {
                !cushion.is_zero() && reservoir + cushion + video.segment <= video.buffer
            }
        };
        if possible { Ok(()) } else { Err(ConfigError::Rule) }
    }
}

/// A rule, and what it remembers.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    rule: Rule,
    /// The last throughputs in bits per second.
    throughputs: VecDeque<f64>,
    level: usize,
}

impl Chooser {
    pub(super) fn new(rule: Rule) -> Chooser {
        Chooser { rule, throughputs: VecDeque::new(), level: 0 }
    }

    /// A segment came at this rate.
    pub(super) fn record(&mut self, bits_per_second: f64) {
        if let Rule::Rate { window, .. } = self.rule {
            self.throughputs.push_back(bits_per_second);
            if self.throughputs.len() > window {
                self.throughputs.pop_front();
            }
        }
    }

    /// The level of a segment that is requested with so much in the buffer.
    pub(super) fn choose(&mut self, ladder: &[BitRate], buffer: Span) -> usize {
        self.level = match self.rule {
            Rule::Fixed { level } => level,
            Rule::Rate { safety, .. } => highest_up_to(ladder, safety * self.harmonic_mean()),
            Rule::Bba0 { reservoir, cushion } => {
                let over = buffer.saturating_sub(reservoir).as_secs_f64() / cushion.as_secs_f64();
                bba0(ladder, self.level, over)
            }
        };
        self.level
    }

    /// 0 without throughputs.
    fn harmonic_mean(&self) -> f64 {
        let inverse: f64 = self.throughputs.iter().map(|rate| 1.0 / rate).sum();
        if inverse > 0.0 { self.throughputs.len() as f64 / inverse } else { 0.0 }
    }
}

fn highest_up_to(ladder: &[BitRate], rate: f64) -> usize {
    ladder.partition_point(|level| level.bits_per_sec() as f64 <= rate).saturating_sub(1)
}

/// The level after `level` if the buffer is `over` of the cushion above the reservoir.
fn bba0(ladder: &[BitRate], level: usize, over: f64) -> usize {
    let highest = ladder.len() - 1;
    let bits = |level: usize| ladder[level].bits_per_sec() as f64;
    let mapped = bits(0) + (bits(highest) - bits(0)) * over;
    if over <= 0.0 {
        0
    } else if over >= 1.0 {
        highest
    } else if mapped >= bits((level + 1).min(highest)) {
        // The highest level below the mapped bitrate, which is above the lowest one's.
        ladder.partition_point(|rate| (rate.bits_per_sec() as f64) < mapped) - 1
    } else if mapped <= bits(level.saturating_sub(1)) {
        // The lowest level above.
        ladder.partition_point(|rate| rate.bits_per_sec() as f64 <= mapped)
    } else {
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder() -> Vec<BitRate> {
        let rate = |mbit: u64| BitRate::from_bits_per_sec(mbit * 1_000_000).expect("not zero");
        [1, 2, 4, 5].map(rate).to_vec()
    }

    /// 1 Mbit/s up to a reservoir of 10 s, 5 Mbit/s from 50 s on: a tenth of a Mbit/s for each second.
    #[test]
    fn the_buffer_is_mapped_with_hysteresis() {
        let (reservoir, cushion) = (Span::from_secs(10), Span::from_secs(40));
        let mut chooser = Chooser::new(Rule::Bba0 { reservoir, cushion });
        let mut at = |seconds| chooser.choose(&ladder(), Span::from_secs(seconds));
        // 1.9 Mbit/s is not the next level yet; 2.5 is above it.
        assert_eq!([at(0), at(10), at(19), at(25)], [0, 0, 0, 1]);
        // Between its neighbours 1 and 4 Mbit/s it stays; 4.1 is above the next level.
        assert_eq!([at(39), at(11), at(41)], [1, 1, 2]);
        // From 4 Mbit/s down at 2 (20 s) to the lowest above: 4 again; at 1.5 to 2.
        assert_eq!([at(21), at(20), at(15)], [2, 2, 1]);
        assert_eq!([at(50), at(49), at(10)], [3, 3, 0]);
    }

    #[test]
    fn the_harmonic_mean_of_the_window_counts() {
        let mut chooser = Chooser::new(Rule::Rate { window: 2, safety: 0.9 });
        assert_eq!(chooser.choose(&ladder(), Span::ZERO), 0, "nothing is known");
        chooser.record(1e9);
        assert_eq!(chooser.choose(&ladder(), Span::ZERO), 3);
        // The harmonic mean of 3 and 6 is 4; nine tenths of it are below 4. The first is forgotten.
        [3e6, 6e6].into_iter().for_each(|rate| chooser.record(rate));
        assert_eq!(chooser.choose(&ladder(), Span::ZERO), 1);
        // 3 and 12 after 6: 2 / (1/6 + 1/12) = 8.
        chooser.record(12e6);
        assert_eq!(chooser.choose(&ladder(), Span::ZERO), 3);
        [0.1e6, 0.1e6].into_iter().for_each(|rate| chooser.record(rate));
        assert_eq!(chooser.choose(&ladder(), Span::ZERO), 0, "below the lowest");
    }
}
