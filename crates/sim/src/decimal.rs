//! Numbers as decimal text, as `Display` writes them but several times as fast.
//!
//! Half the cost of a traced run was `core::fmt`. Whole numbers and the decimals of times get eight
//! digits at once; `zmij` has the shortest digits of fractions. Where it would write an exponent, and
//! for whatever no series holds in numbers, `Display` does the work.

use std::io::Write;

/// Appends the point and the nine decimals of nanoseconds, which are less than a second.
pub(crate) fn push_nanos(text: &mut Vec<u8>, nanos: u32) {
    let (first, others) = ((nanos / 100_000_000) as u8, nanos % 100_000_000);
    text.extend_from_slice(&[b'.', b'0' + first]);
    text.extend_from_slice(&(digits(others) | ASCII_ZEROS).to_le_bytes());
}

/// Appends the shortest digits that give the number back.
pub(crate) fn push_number(text: &mut Vec<u8>, number: f64) {
    let whole = number as u32;
    if f64::from(whole) == number && number.is_sign_positive() {
        push_whole(text, whole);
    } else if (1e-4..1e9).contains(&number) && number.fract() != 0.0 {
        text.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
    } else {
        push_display(text, number);
    }
}

/// The same with a point always, so that a column of fractions has one type for its readers.
pub(crate) fn push_fraction(text: &mut Vec<u8>, number: f64) {
    push_number(text, number);
    if number.fract() == 0.0 {
        text.extend_from_slice(b".0");
    }
}

fn push_whole(text: &mut Vec<u8>, number: u32) {
    if number >= 100_000_000 {
        return push_display(text, number);
    }
    let digits = digits(number);
    // A zero is a digit too.
    let leading_zeros = (digits | 1 << 56).trailing_zeros() / 8;
    // All eight are copied, which is one store; those shifted out go again.
    text.extend_from_slice(&(digits >> (8 * leading_zeros) | ASCII_ZEROS).to_le_bytes());
    text.truncate(text.len() - leading_zeros as usize);
}

fn push_display(text: &mut Vec<u8>, number: impl std::fmt::Display) {
    let written = write!(text, "{number}");
    debug_assert!(written.is_ok(), "memory takes what is written to it");
}

const ASCII_ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The eight digits of a number below 10^8, one a byte, the first one lowest. It is halved three
/// times, all parts at once in the lanes of one word; the multiplications divide by 100 and by 10.
fn digits(number: u32) -> u64 {
    let fours = u64::from(number / 10_000) | u64::from(number % 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - tens * 10) << 8
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
            9_007_199_254_740_992.0,
            99_999_999.0,
            100_000_000.0,
            1e9,
            f64::from(u32::MAX),
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
        fn whole_numbers_read_as_display_writes_them(bits in 0u32..31, whole: u32) {
            let value = f64::from(whole >> bits);
            prop_assert_eq!(number(value), value.to_string());
        }

        #[test]
        fn fractions_have_a_point_and_give_the_number_back(bits: u64) {
            let value = f64::from_bits(bits);
            let mut text = vec![];
            push_fraction(&mut text, value);
            let text = String::from_utf8(text).expect("digits are ASCII");
            prop_assert!(!value.is_finite() || text.contains('.'), "{}", text);
            let read: f64 = text.parse().expect("a number");
            prop_assert!(read.to_bits() == bits || value.is_nan());
        }

        #[test]
        fn nanoseconds_are_nine_decimals(nanos in 0u32..1_000_000_000) {
            let mut text = vec![];
            push_nanos(&mut text, nanos);
            prop_assert_eq!(text, format!(".{nanos:09}").into_bytes());
        }
    }
}
