//! The parameters of the models as arguments.

use crate::value::{parse_probability, parse_rate, parse_time};
use clap::Args;
use windlass_base::BitRate;
use windlass_sim::simple_model::{Arrivals, Parameters, STEP_S};

/// Parameters of the simple model; the defaults are those of the paper's section 3.2.
#[derive(Debug, Args)]
#[command(next_help_heading = "The model")]
pub(crate) struct ModelParameters {
    /// Rate of the bottleneck
    #[arg(long, default_value = "5M", value_name = "RATE", value_parser = parse_rate)]
    pub link: BitRate,
    /// Rate of each connection's own link, which bounds its window
    #[arg(long, default_value = "5M", value_name = "RATE", value_parser = parse_rate)]
    pub access: BitRate,
    /// Round-trip times of X and Y, in whole steps of 10 ms
    #[arg(long, default_value = "40ms,20ms", value_name = "TIME,TIME")]
    #[arg(value_parser = |s: &str| pair(s, parse_steps))]
    pub rtt: [u32; 2],
    /// Windows of X and Y at the beginning, in packets
    #[arg(long, default_value = "1,1", value_name = "W,W")]
    #[arg(value_parser = |s: &str| pair(s, parse_positive))]
    pub start: [f64; 2],
    /// New-ECN's factor of the window at a mark
    #[arg(long, default_value = "0.9", value_name = "X", value_parser = parse_factor)]
    pub alpha_wnd: f64,
    /// New-ECN's factor of the window slope at a mark
    #[arg(long, default_value = "0.7", value_name = "X", value_parser = parse_factor)]
    pub alpha_slp: f64,
    /// New-ECN's growth of the slope, per squared second
    #[arg(long, default_value = "16", value_name = "X", value_parser = parse_positive)]
    pub beta: f64,
    /// RED's marking probability at the upper threshold
    #[arg(long, default_value = "0.25", value_name = "P", value_parser = parse_probability)]
    pub p_max: f64,
    /// RED's thresholds in packets
    #[arg(long, default_value = "10,20", value_name = "MIN,MAX")]
    #[arg(value_parser = parse_thresholds)]
    pub thresholds: [f64; 2],
    /// RED's weight of a sample of the queue
    #[arg(long, default_value = "0.002", value_name = "W", value_parser = parse_factor)]
    pub weight: f64,
}

impl ModelParameters {
    /// The model's parameters.
    pub(super) fn with(&self, arrivals: Arrivals, steps: u32) -> Parameters {
        Parameters {
            arrivals,
            steps,
            link_bits_per_s: self.link.bits_per_sec() as f64,
            access_bits_per_s: self.access.bits_per_sec() as f64,
            rtt_steps: self.rtt,
            start_windows: self.start,
            alpha_window: self.alpha_wnd,
            alpha_slope: self.alpha_slp,
            beta: self.beta,
            max_p: self.p_max,
            thresholds: self.thresholds,
            weight: self.weight,
        }
    }
}

/// Two values with a comma between them.
fn pair<T>(text: &str, parse: fn(&str) -> Result<T, String>) -> Result<[T; 2], String> {
    match text.split_once(',') {
        Some((x, y)) => Ok([parse(x)?, parse(y)?]),
        None => Err("expected two values with a comma between them".to_owned()),
    }
}

/// A time in steps of the model.
fn parse_steps(text: &str) -> Result<u32, String> {
    let step_ns = (STEP_S * 1e9) as u64;
    let ns = parse_time(text)?.as_nanos();
    let steps = u32::try_from(ns / step_ns).ok().filter(|steps| ns % step_ns == 0 && *steps > 0);
    steps.ok_or_else(|| "expected a multiple of 10 ms, above zero".to_owned())
}

pub(super) fn parse_positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above zero".to_owned())
}

/// A number above zero and below 1.
pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    let number = parse_positive(text).ok().filter(|number| *number < 1.0);
    number.ok_or_else(|| "expected a number above zero and below 1".to_owned())
}

fn parse_factor(text: &str) -> Result<f64, String> {
    let number = parse_positive(text).ok().filter(|number| *number <= 1.0);
    number.ok_or_else(|| "expected a number above zero, at most 1".to_owned())
}

pub(super) fn parse_thresholds(text: &str) -> Result<[f64; 2], String> {
    let [min, max] = pair(text, parse_positive)?;
    if min < max { Ok([min, max]) } else { Err("expected MIN below MAX".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_steps_and_factors() {
        assert_eq!(parse_share("0.5"), Ok(0.5));
        assert!(parse_share("1").is_err() && parse_share("0").is_err());
        assert_eq!(pair("40ms,20ms", parse_steps), Ok([4, 2]));
        assert!(pair("40ms", parse_steps).is_err_and(|why| why.contains("two values")));
        assert!(parse_steps("15ms").is_err_and(|why| why.contains("multiple of 10 ms")));
        assert!(parse_steps("0s").is_err());
        assert_eq!(parse_thresholds("10,20"), Ok([10.0, 20.0]));
        assert!(parse_thresholds("20,10").is_err_and(|why| why.contains("MIN below MAX")));
        assert!(parse_factor("0").is_err() && parse_factor("1.1").is_err());
        assert_eq!(parse_factor("1"), Ok(1.0));
    }
}
