//! Curves of bounded size from time series of any length.

/// At most this many points for each of the spans into which [`thin`] divides the time.
const POINTS_A_SPAN: usize = 4;

/// The rows of a series, by index, that a plot needs: in each of `spans` equal parts of the time until
/// `end` the first, the last, the least and the greatest value. A line through them covers the same pixels as
/// a line through all, if the plot is at most `spans` pixels wide.
///
/// Rows are in order of time; rows whose value is NaN are left out.
pub(crate) fn thin(times: &[f64], values: &[f64], end: f64, spans: usize) -> Vec<usize> {
    let mut kept = Vec::with_capacity((spans * POINTS_A_SPAN).min(times.len()));
    let mut rows = (0..times.len()).filter(|&row| !values[row].is_nan()).peekable();
    let span_of = |row: usize| (times[row] / end * spans as f64) as usize;
    while let Some(first) = rows.next() {
        let (mut least, mut greatest, mut last) = (first, first, first);
        while let Some(row) = rows.next_if(|&row| span_of(row) == span_of(first)) {
            if values[row] < values[least] {
                least = row;
            }
            if values[row] > values[greatest] {
                greatest = row;
            }
            last = row;
        }
        let mut rows = [first, least, greatest, last];
        rows.sort_unstable();
        for row in rows {
            if kept.last() != Some(&row) {
                kept.push(row);
            }
        }
    }
    kept
}

/// The growth per second of a counter in each of `spans` equal parts of the time until `end`. The counter
/// grows evenly from 0 to the first row, and from one row to the next, and holds its last value.
///
/// If a row is the begin of a packet's transmission, a packet therefore counts over the time that it takes,
/// and no rate is above that of the link, however few packets a part has.
pub(crate) fn growth(times: &[f64], counts: &[f64], end: f64, spans: usize) -> Vec<f64> {
    let width = end / spans as f64;
    let (mut row, mut before) = (0, 0.0);
    let mut rates = Vec::with_capacity(spans);
    for span in 1..=spans {
        let until = if span == spans { end } else { width * span as f64 };
        while row < times.len() && times[row] <= until {
            row += 1;
        }
        let count = value_at(until, times, counts, row);
        rates.push((count - before) / width);
        before = count;
    }
    rates
}

/// The value at a time between the rows `next - 1` and `next`.
fn value_at(time: f64, times: &[f64], counts: &[f64], next: usize) -> f64 {
    let (from, low) = next.checked_sub(1).map_or((0.0, 0.0), |row| (times[row], counts[row]));
    if next == times.len() || times[next] <= from {
        return low;
    }
    low + (counts[next] - low) * (time - from) / (times[next] - from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_series_is_kept_whole() {
        let times = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(thin(&times, &[5.0, 1.0, 4.0, 4.0], 4.0, 100), [0, 1, 2, 3]);
    }

    #[test]
    fn peaks_survive_and_the_number_of_points_is_bounded() {
        let times: Vec<f64> = (0..100_000).map(|n| f64::from(n) / 1000.0).collect();
        let mut values: Vec<f64> = (0..100_000).map(|n| f64::from(n % 7)).collect();
        values[54_321] = 1000.0;
        values[65_432] = -1000.0;
        let kept = thin(&times, &values, 100.0, 50);
        assert!(kept.len() <= 50 * POINTS_A_SPAN, "{} points", kept.len());
        assert!(kept.contains(&54_321) && kept.contains(&65_432));
        assert!(kept.is_sorted());
        assert_eq!((kept.first(), kept.last()), (Some(&0), Some(&99_999)));
    }

    #[test]
    fn values_that_are_not_known_are_left_out() {
        let kept = thin(&[0.0, 1.0, 2.0], &[f64::NAN, f64::NAN, 3.0], 3.0, 10);
        assert_eq!(kept, [2]);
    }

    fn assert_close(rates: &[f64], expected: &[f64]) {
        assert_eq!(rates.len(), expected.len());
        let close = rates.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close, "{rates:?}, not {expected:?}");
    }

    #[test]
    fn the_growth_of_a_counter_sums_to_its_last_value() {
        let times = [0.5, 1.0, 3.5, 4.0];
        let counts = [1.0, 2.0, 8.0, 9.0];
        assert_close(&growth(&times, &counts, 4.0, 4), &[2.0, 2.4, 2.4, 2.2]);
        assert_close(&growth(&times, &counts, 4.0, 2), &[2.2, 2.3]);
    }

    #[test]
    fn a_packet_counts_over_its_transmission_time() {
        // One packet a second of 3 bytes each, in parts of 0.4 s: some have a begin and some have none.
        let times: Vec<f64> = (0..=4).map(f64::from).collect();
        let counts: Vec<f64> = (0..=4).map(|n| f64::from(n) * 3.0).collect();
        assert_close(&growth(&times, &counts, 4.0, 10), &[3.0; 10]);
    }

    #[test]
    fn a_flow_that_sent_nothing_has_a_rate_of_zero() {
        assert_eq!(growth(&[], &[], 10.0, 2), [0.0, 0.0]);
    }
}
