//! The plot of a figure: a row for each controller with its mean and interval, and the range that the threshold allows.

use super::FigureReport;
use crate::interval::Interval;
use serde::Serialize;

/// Where things stand in the plot, in pixels.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Plot {
    width: f64,
    height: f64,
    /// The ends of the axis.
    left: f64,
    right: f64,
    rows: Vec<Row>,
    /// Where the threshold stands.
    limit: f64,
    /// The range that it allows.
    allowed_from: f64,
    allowed_width: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    label: String,
    class: &'static str,
    y: f64,
    low: f64,
    mean: f64,
    high: f64,
    interval: Interval,
}

const WIDTH: f64 = 350.0;
/// Labels stand before it.
const LEFT: f64 = 70.0;
/// Values stand behind it, 16 letters at most.
const RIGHT: f64 = 235.0;
const ROW: f64 = 20.0;

impl Plot {
    pub(super) fn new(figure: &FigureReport) -> Plot {
        let is_subject = |name: &str| figure.results.iter().any(|result| result.subject == name);
        let baselines = [("reno", figure.reno), ("cubic", figure.cubic)].into_iter();
        let baselines = baselines.filter(|(name, _)| !is_subject(name));
        let baselines = baselines.map(|(name, interval)| (name, "baseline", interval));
        let results = figure.results.iter();
        let subjects = results.map(|result| (result.subject.as_str(), "subject", result.interval));
        let intervals: Vec<(&str, &'static str, Interval)> = subjects.chain(baselines).collect();
        let largest = intervals.iter().map(|(_, _, interval)| interval.high);
        let largest = largest.fold(figure.limit, f64::max);
        let place = |value: f64| {
            let share = if largest > 0.0 { (value / largest).clamp(0.0, 1.0) } else { 0.0 };
            rounded(LEFT + share * (RIGHT - LEFT - 10.0))
        };
        let row =
            |(number, (label, class, interval)): (usize, (&str, &'static str, Interval))| Row {
                label: label.to_owned(),
                class,
                y: (number as f64 + 0.5) * ROW,
                low: place(interval.low),
                mean: place(interval.mean),
                high: place(interval.high),
                interval,
            };
        let rows: Vec<Row> = intervals.into_iter().enumerate().map(row).collect();
        let limit = place(figure.limit);
        let at_most = figure.threshold.at_most.is_some();
        let (from, to) = if at_most { (LEFT, limit) } else { (limit, RIGHT) };
        Plot {
            width: WIDTH,
            left: LEFT,
            right: RIGHT,
            height: rows.len() as f64 * ROW,
            rows,
            limit,
            allowed_from: from,
            allowed_width: rounded(to - from),
        }
    }
}

/// A tenth of a pixel is enough.
fn rounded(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}
