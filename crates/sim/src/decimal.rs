//! Numbers as decimal text, as `Display` writes them but several times as fast.
//!
//! Half the cost of a traced run was `core::fmt`. `itoa` and `zmij` give the same digits; where
//! `zmij` writes an exponent or a trailing `.0` and `Display` does not, `Display` does the work.

use std::io::Write;
use windlass_base::Time;

/// Below it all whole numbers are exact.
const EXACT: i64 = 1 << 53;

/// Appends seconds with all nine decimals: nothing is rounded.
pub(crate) fn push_seconds(text: &mut Vec<u8>, time: Time) {
    let nanos = time.as_nanos();
    push_whole(text, nanos / 1_000_000_000);
    let decimals = 1_000_000_000 + nanos % 1_000_000_000;
    let begin = text.len();
    push_whole(text, decimals);
    // The leading one has kept the zeros behind it; the point takes its place.
    text[begin] = b'.';
}

/// Appends the shortest digits that give the number back.
pub(crate) fn push_number(text: &mut Vec<u8>, number: f64) {
    let whole = number as i64;
    if whole as f64 == number && (0..EXACT).contains(&whole) && number.is_sign_positive() {
        push_whole(text, whole as u64);
    } else if (1e-4..1e15).contains(&number) {
        text.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
    } else {
        let written = write!(text, "{number}");
        debug_assert!(written.is_ok(), "memory takes what is written to it");
    }
}

fn push_whole(text: &mut Vec<u8>, number: u64) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(value: f64) -> String {
        let mut text = vec![];
        push_number(&mut text, value);
        String::from_utf8(text).expect("digits are ASCII")
    }

    #[test]
    fn numbers_at_the_edges_of_the_fast_ways_read_as_display_writes_them() {
        let edges = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            0.1,
            1e-4,
            9.99e-5,
            1e-5,
            1e-6,
            1e-7,
            5e-324,
            1e14,
            1e15,
            1e15 + 0.5,
            1e16,
            1e21,
            1e300,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::EPSILON,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            EXACT as f64,
            EXACT as f64 - 1.0,
            i64::MAX as f64,
            u64::MAX as f64,
        ];
        for edge in edges {
            for value in [edge, edge.next_up(), edge.next_down(), -edge] {
                assert_eq!(number(value), value.to_string());
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_reads_as_display_writes_it(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assert_eq!(number(value), value.to_string());
        }

        #[test]
        fn numbers_of_a_series_read_as_display_writes_them(whole in 0u64..100_000, parts in 1u32..2_000) {
            let value = whole as f64 / f64::from(parts);
            prop_assert_eq!(number(value), value.to_string());
        }

        #[test]
        fn seconds_have_nine_decimals(nanos: u64) {
            let mut text = vec![];
            push_seconds(&mut text, Time::from_nanos(nanos));
            let expected = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
            prop_assert_eq!(text, expected.into_bytes());
        }
    }
}
