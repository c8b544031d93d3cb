//! How many cases a property test runs.

/// The cases of a property test that are `usual` where nothing else is asked for: PROPTEST_CASES,
/// which proptest itself reads, scales them as it scales proptest's own 256. So
/// `PROPTEST_CASES=2560` means ten times as many in every property test.
///
/// At least one.
///
/// # Panics
///
/// If PROPTEST_CASES is not a number.
pub fn cases(usual: u32) -> u32 {
    match std::env::var("PROPTEST_CASES") {
        Ok(asked) => scale(usual, &asked),
        Err(_) => usual,
    }
}

fn scale(usual: u32, asked: &str) -> u32 {
    let asked: u64 = asked.trim().parse().expect("PROPTEST_CASES is a number of cases");
    u32::try_from((u64::from(usual) * asked).div_ceil(256)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn ten_times_the_usual_cases_of_proptest_are_ten_times_the_cases_of_every_test() {
        assert_eq!(scale(64, "2560"), 640);
        assert_eq!(scale(64, "256"), 64);
        assert_eq!(scale(12, "1"), 1);
        assert_eq!(scale(12, "0"), 1);
    }
}
