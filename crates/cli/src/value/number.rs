//! Counts and seeds.

use std::num::NonZeroUsize;
use std::ops::{Range, RangeInclusive};

pub(crate) fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let bounds = text.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match bounds {
        Some((first, end)) if first < end => Ok(first..end),
        _ => Err("expected A..B with A below B, such as 0..2000".to_owned()),
    }
}

pub(crate) fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

pub(crate) fn parse_count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a whole number from 1 on".into())
}

/// A whole number of the range, for the declaration of an argument.
pub(crate) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            format!("expected a whole number from {} to {}", range.start(), range.end())
        })
    }
}
