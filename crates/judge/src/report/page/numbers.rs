//! Numbers as texts on the page.

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
pub(super) fn bytes(value: f64) -> String {
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
