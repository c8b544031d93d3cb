//! Distributions that were measured: points of a cumulative curve.

use crate::text::{lines, number, pair, wrong};
use crate::{ConfigError, TextError};

/// The largest size of a point, 2^53 bytes: up to it, an `f64` holds each whole number.
const MOST_BYTES: f64 = 9_007_199_254_740_992.0;

/// A distribution of sizes by points of its cumulative curve, straight between them.
///
/// A first point with a probability above 0 is a size that occurs with it.
#[derive(Clone, Debug, PartialEq)]
pub struct EmpiricalCdf {
    /// Bytes and the probability of at most so many; both ascend.
    points: Vec<(f64, f64)>,
}

impl EmpiricalCdf {
    /// The distribution through these points: bytes, and the probability of at most so many.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Points`] if a number descends, is negative or too large, or the last probability is
    /// not 1.
    pub fn new(points: Vec<(f64, f64)>) -> Result<EmpiricalCdf, ConfigError> {
        let ascends = points.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1);
        let in_range = points
            .iter()
            .all(|(bytes, p)| (0.0..=MOST_BYTES).contains(bytes) && (0.0..=1.0).contains(p));
        let ends = points.last().is_some_and(|(bytes, p)| *bytes >= 1.0 && *p == 1.0);
        if ascends && in_range && ends {
            Ok(EmpiricalCdf { points })
        } else {
            Err(ConfigError::Points)
        }
    }

    /// Reads a distribution: a line has a size in bytes and the probability of at most so many bytes, from
    /// 0 to 1, separated by spaces or a comma. Empty lines and lines that begin with `#` do not count.
    ///
    /// # Errors
    ///
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<EmpiricalCdf, TextError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (line_number, line) in lines(text) {
            let fields = pair(line).and_then(|(bytes, probability)| {
                Some((number(bytes, MOST_BYTES)?, number(probability, 1.0)?))
            });
            let expected = "bytes and a probability from 0 to 1";
            let (bytes, probability) = fields.ok_or_else(|| wrong(line_number, expected, line))?;
            match points.last() {
                Some(last) if last.0 > bytes => {
                    return Err(TextError::Descends(line_number, "size"));
                }
                Some(last) if last.1 > probability => {
                    return Err(TextError::Descends(line_number, "probability"));
                }
                _ => points.push((bytes, probability)),
            }
        }
        let end = TextError::End("a last line with at least a byte and probability 1");
        EmpiricalCdf::new(points).map_err(|_| end)
    }

    /// Flows of a cluster that answers web searches: Alizadeh et al., "Data Center TCP (DCTCP)",
    /// SIGCOMM 2010. The mean is 1.71 MB.
    ///
    /// The paper has the curve alone. These figures are the ones that simulators of data centres read
    /// from it: HKUST-SING/TrafficGenerator (`DCTCP_CDF.txt`) and the generator of HPCC
    /// (`WebSearch_distribution.txt`) have the same in bytes, the former also in packets of 1500 bytes
    /// (`CDF_dctcp.txt`). A finer reading, that of Opera (`websearch.csv`), is within 0.05 of them at each
    /// point.
    pub fn web_search() -> EmpiricalCdf {
        EmpiricalCdf::of_table(&[
            (0.0, 0.0),
            (10e3, 0.15),
            (20e3, 0.2),
            (30e3, 0.3),
            (50e3, 0.4),
            (80e3, 0.53),
            (200e3, 0.6),
            (1e6, 0.7),
            (2e6, 0.8),
            (5e6, 0.9),
            (10e6, 0.97),
            (30e6, 1.0),
        ])
    }

    /// Flows of a cluster that mines data: Greenberg et al., "VL2: A Scalable and Flexible Data Center
    /// Network", SIGCOMM 2009. Half of the flows are below 1.1 kB, and the mean is 7.6 MB.
    ///
    /// The paper has the curve alone. These figures are the ones that simulators of data centres read
    /// from it: HKUST-SING/TrafficGenerator in bytes (`VL2_CDF.txt`) and in packets of 1500 bytes
    /// (`CDF_vl2.txt`), netbench in bytes. They disagree about 100 MB: 0.98 in bytes, 0.99 in packets.
    /// Here it is 0.99, as Opera's own reading (`datamining.csv`) has it too; with 0.98 the mean would be
    /// 12.6 MB.
    pub fn data_mining() -> EmpiricalCdf {
        EmpiricalCdf::of_table(&[
            (0.0, 0.0),
            (180.0, 0.1),
            (216.0, 0.2),
            (560.0, 0.3),
            (900.0, 0.4),
            (1100.0, 0.5),
            (1870.0, 0.6),
            (3160.0, 0.7),
            (10e3, 0.8),
            (400e3, 0.9),
            (3.16e6, 0.95),
            (100e6, 0.99),
            (1e9, 1.0),
        ])
    }

    fn of_table(points: &[(f64, f64)]) -> EmpiricalCdf {
        EmpiricalCdf { points: points.to_vec() }
    }

    /// Bytes, and the probability of at most so many.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The probability of at most `bytes`.
    pub fn cdf(&self, bytes: f64) -> f64 {
        let after = self.points.partition_point(|(at, _)| *at <= bytes);
        match (after.checked_sub(1), self.points.get(after)) {
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
            (Some(before), Some(right)) => {
                let left = self.points[before];
                left.1 + (right.1 - left.1) * (bytes - left.0) / (right.0 - left.0)
            }
        }
    }

    /// The bytes up to which the probability is `u`.
    pub fn quantile(&self, u: f64) -> f64 {
        let after = self.points.partition_point(|(_, probability)| *probability <= u);
        match (after.checked_sub(1), self.points.get(after)) {
            (None, _) => self.points[0].0,
            (Some(before), None) => self.points[before].0,
            (Some(before), Some(right)) => {
                let left = self.points[before];
                left.0 + (right.0 - left.0) * (u - left.1) / (right.1 - left.1)
            }
        }
    }

    /// The mean, in bytes.
    pub fn mean(&self) -> f64 {
        let first = self.points[0].0 * self.points[0].1;
        let between = |two: &[(f64, f64)]| (two[1].1 - two[0].1) * (two[0].0 + two[1].0) / 2.0;
        first + self.points.windows(2).map(between).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_are_those_that_the_simulators_state() {
        assert_eq!(EmpiricalCdf::web_search().mean().round(), 1_711_250.0);
        let mining = EmpiricalCdf::data_mining().mean();
        assert!((7.64e6..7.68e6).contains(&mining), "{mining}");
    }

    #[test]
    fn the_tables_are_distributions() {
        for table in [EmpiricalCdf::web_search(), EmpiricalCdf::data_mining()] {
            assert_eq!(EmpiricalCdf::new(table.points().to_vec()), Ok(table));
        }
    }

    #[test]
    fn the_curve_is_straight_between_points() {
        let table = EmpiricalCdf::parse("# sizes\n100, 0.2\n200\t0.6\n300 1\n").expect("a table");
        assert!((table.quantile(0.4) - 150.0).abs() < 1e-9);
        assert!((table.cdf(250.0) - 0.8).abs() < 1e-12);
        assert_eq!((table.quantile(0.1), table.quantile(1.0)), (100.0, 300.0));
        assert_eq!((table.cdf(99.0), table.cdf(100.0), table.cdf(300.0)), (0.0, 0.2, 1.0));
        assert!((table.mean() - (20.0 + 60.0 + 100.0)).abs() < 1e-9);
    }

    #[test]
    fn a_size_may_occur_with_a_probability_of_its_own() {
        let table = EmpiricalCdf::parse("40 0.5\n1460 0.5\n1460 1\n").expect("a table");
        assert_eq!([0.2, 0.5, 0.9].map(|u| table.quantile(u)), [40.0, 1460.0, 1460.0]);
        assert_eq!([40.0, 1459.0, 1460.0].map(|bytes| table.cdf(bytes)), [0.5, 0.5, 1.0]);
        assert_eq!(table.mean(), 750.0);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |text| EmpiricalCdf::parse(text).expect_err("no table").to_string();
        assert_eq!(
            error("1 0\n5 50\n"),
            "line 2: expected bytes and a probability from 0 to 1, found \"5 50\""
        );
        assert_eq!(
            error("2 0\n\n1 1\n"),
            "line 3: expected a size no less than that of the line above"
        );
        assert_eq!(
            error("1 0.5\n2 0.4\n"),
            "line 2: expected a probability no less than that of the line above"
        );
        let end = "expected a last line with at least a byte and probability 1";
        assert_eq!([error(""), error("0 1"), error("7 0.5")], [end, end, end]);
    }
}
