//! Quantities with the unit that leaves few digits.

/// Bytes, such as `1.46 MB`.
pub(crate) fn size(bytes: u64) -> String {
    scaled(bytes as f64, &["B", "kB", "MB", "GB", "TB"])
}

/// A rate in bits per second, such as `9.53 Mbit/s`.
pub(crate) fn bits(per_s: f64) -> String {
    scaled(per_s, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

/// A time in milliseconds, such as `12.5 ms`.
pub(crate) fn ms(value: f64) -> String {
    format!("{value:.1} ms")
}

/// A frequency of events, such as `2.9/s`.
pub(crate) fn per_s(value: f64) -> String {
    format!("{value:.1}/s")
}

/// With the largest unit of which there is one at least.
fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 { 0 } else { 2 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_leaves_few_digits() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_456_000), "1.46 MB");
        assert_eq!(bits(9.9e12), "9900.00 Gbit/s");
    }
}
