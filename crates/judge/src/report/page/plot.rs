//! The plots of a case: its windows, its packets, and what was compared.

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

/// A number with at most four digits that count.
pub(super) fn number(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "any above" } else { "any below" }.to_owned();
    }
    let digits = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size => (3 - libm::floor(libm::log10(size)) as i32).clamp(0, 9) as usize,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Bytes with a unit.
fn bytes(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{} MB", number(value / 1e6)),
        value if value >= 1e3 => format!("{} kB", number(value / 1e3)),
        value => format!("{} B", number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        let cases =
            [(0.0, "0"), (1.5, "1.5"), (12345.6, "12346"), (0.012341, "0.01234"), (2.0, "2")];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
        assert_eq!(bytes(14_480.0), "14.48 kB");
    }
}
