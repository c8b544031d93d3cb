//! Plots as SVG: axes, lines, dots and bars, all in one frame.

use super::numbers::number;
use std::fmt::Write;

/// Width of every plot, in its own units.
const WIDTH: f64 = 560.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 22.0;

/// A plot over time that is being drawn.
pub(super) struct Plot {
    height: f64,
    /// The last time on the axis, in seconds.
    end: f64,
    /// The values at the bottom and at the top.
    values: (f64, f64),
    body: String,
}

impl Plot {
    /// An empty plot of this height. `values` are those at its bottom and its top.
    pub(super) fn new(height: f64, end: f64, values: (f64, f64), label: fn(f64) -> String) -> Plot {
        let end = end.max(1e-3);
        let mut plot = Plot { height, end, values, body: String::new() };
        for value in ticks(values, if height < 100.0 { 2.0 } else { 4.0 }) {
            let (y, left, right) = (plot.y(value), LEFT, WIDTH - RIGHT);
            plot.add(format_args!(r#"<path class="g" d="M{left} {y:.1}H{right}"/>"#));
            let text = label(value);
            let (x, y) = (LEFT - 5.0, y + 4.0);
            plot.add(format_args!(r#"<text x="{x}" y="{y:.1}" text-anchor="end">{text}</text>"#));
        }
        for time in ticks((0.0, end), 6.0) {
            let (x, y) = (plot.x(time), height - 6.0);
            let text = format!("{} s", number(time));
            plot.add(format_args!(
                r#"<text x="{x:.1}" y="{y}" text-anchor="middle">{text}</text>"#
            ));
        }
        plot
    }

    fn add(&mut self, what: std::fmt::Arguments<'_>) {
        // A String takes everything.
        let _ = self.body.write_fmt(what);
    }

    fn x(&self, time: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (time / self.end).clamp(0.0, 1.0)
    }

    fn y(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        TOP + (self.height - TOP - BOTTOM) * (1.0 - share)
    }

    /// A line of steps: each value lasts until the next.
    pub(super) fn steps(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (number, (time, value)) in points.iter().enumerate() {
            let (x, y) = (self.x(*time), self.y(*value));
            // A String takes everything.
            let _ = match number {
                0 => write!(path, "M{x:.1} {y:.1}"),
                _ => write!(path, "H{x:.1}V{y:.1}"),
            };
        }
        self.add(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    /// A dot for each point.
    pub(super) fn dots(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (time, value) in points {
            // A line of no length with round ends is a dot.
            let _ = write!(path, "M{:.1} {:.1}h0", self.x(*time), self.y(*value));
        }
        self.add(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    /// A bar from one value to another, and the value that was seen.
    pub(super) fn range(&mut self, time: f64, expected: (f64, f64), seen: f64, holds: bool) {
        let (x, top, bottom) = (self.x(time), self.y(expected.1), self.y(expected.0));
        let height = (bottom - top).max(1.5);
        let left = x - 4.0;
        self.add(format_args!(
            r#"<rect class="e" x="{left:.1}" y="{top:.1}" width="8" height="{height:.1}"/>"#
        ));
        let class = if holds { "ok" } else { "bad" };
        let y = self.y(seen);
        self.add(format_args!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="3"/>"#));
    }

    /// The whole element; `title` is read out in its place, and is not yet escaped.
    pub(super) fn finish(self, title: &str) -> String {
        let title = title.replace('&', "&amp;").replace('<', "&lt;");
        let (height, body) = (self.height, self.body);
        format!(
            r#"<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{title}</title>{body}</svg>"#
        )
    }
}

/// Round values within a range, about so many.
fn ticks((low, high): (f64, f64), count: f64) -> Vec<f64> {
    let rough = (high - low) / count;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
    let first = libm::ceil(low / step - 1e-9) as i64;
    let last = libm::floor(high / step + 1e-9) as i64;
    (first..=last).map(|number| number as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks((0.0, 10.0), 4.0), [0.0, 5.0, 10.0]);
        assert_eq!(ticks((0.3, 1.9), 4.0), [0.5, 1.0, 1.5]);
        assert!(ticks((1.0, 1.0), 4.0).is_empty() && ticks((0.0, f64::NAN), 4.0).is_empty());
    }

    #[test]
    fn what_is_outside_is_drawn_at_the_edge() {
        let mut plot = Plot::new(100.0, 2.0, (0.0, 10.0), number);
        plot.range(1.0, (5.0, f64::INFINITY), 20.0, true);
        let text = plot.finish("a < b");
        assert!(text.contains("<title>a &lt; b</title>") && !text.contains("inf"), "{text}");
        assert!(text.contains(r#"cy="8.0""#), "{text}");
    }
}
