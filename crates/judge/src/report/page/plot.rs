//! The plots of a case: its windows, its packets, and what was compared.

use super::numbers::{bytes, number};
use super::svg::Plot;
use crate::bed::{Check, PAYLOAD};
use crate::report::series::Series;

/// Quantities beside the windows that get a plot of their own.
const PANELS_MAX: usize = 4;

/// The plots, each with a title, as SVG.
pub(super) fn drawn(series: &Series, checks: &[Check]) -> Vec<(String, String)> {
    let mut plots = vec![windows(series, checks)];
    plots.extend(series.packets.as_ref().map(|packets| {
        let all = [&packets.sent, &packets.resent, &packets.acked];
        let most = all.into_iter().flatten().map(|point| point.1).fold(1.0, f64::max);
        let mut plot = Plot::new(170.0, series.end, (0.0, most), bytes);
        plot.steps("a", &packets.acked);
        plot.dots("s", &packets.sent);
        plot.dots("r", &packets.resent);
        let title = "Packets: the end of sent and resent data, and what is acknowledged";
        (title.to_owned(), plot.finish(title))
    }));
    let mut names: Vec<&str> = Vec::new();
    for check in checks.iter().filter(|check| of_window(check).is_none()) {
        if !names.contains(&check.what) {
            names.push(check.what);
        }
    }
    plots.extend(names.into_iter().take(PANELS_MAX).map(|what| panel(what, series.end, checks)));
    plots
}

fn windows(series: &Series, checks: &[Check]) -> (String, String) {
    let compared = checks.iter().filter_map(|check| Some((check, of_window(check)?)));
    let compared: Vec<_> = compared.collect();
    let seen = compared.iter().map(|(check, unit)| check.seen * unit);
    let values = series.flight.iter().chain(&series.cwnd).map(|point| point.1);
    let most = values.chain(seen).filter(|value| value.is_finite()).fold(1.0, f64::max);
    let mut plot = Plot::new(190.0, series.end, (0.0, most * 1.05), bytes);
    plot.steps("f", &series.flight);
    plot.steps("c", &series.cwnd);
    for (check, unit) in compared {
        let expected = (check.expected.start() * unit, check.expected.end() * unit);
        plot.range(check.seconds(), expected, check.seen * unit, check.holds());
    }
    let title = match series.cwnd.is_empty() {
        true => "Data in flight; cwnd is hidden",
        false => "Data in flight and cwnd",
    };
    (title.to_owned(), plot.finish(title))
}

/// The bytes in the unit of a comparison, if it is of a window or of the data in flight.
fn of_window(check: &Check) -> Option<f64> {
    let what = check.what.to_ascii_lowercase();
    let is_window = ["cwnd", "flight", "window"].iter().any(|word| what.contains(word));
    let unit = match () {
        () if what.contains("segment") => Some(PAYLOAD as f64),
        () if what.contains("byte") => Some(1.0),
        () => None,
    };
    unit.filter(|_| is_window)
}

/// The comparisons of one quantity.
fn panel(what: &str, end: f64, checks: &[Check]) -> (String, String) {
    let checks = checks.iter().filter(|check| check.what == what);
    let values =
        checks.clone().flat_map(|one| [one.seen, *one.expected.start(), *one.expected.end()]);
    let values = values.filter(|value| value.is_finite());
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)));
    let margin = ((high - low) * 0.15).max(high.abs() * 0.05).max(1e-9);
    let mut plot = Plot::new(90.0, end, (low - margin, high + margin), number);
    for check in checks {
        let expected = (*check.expected.start(), *check.expected.end());
        plot.range(check.seconds(), expected, check.seen, check.holds());
    }
    (what.to_owned(), plot.finish(what))
}
