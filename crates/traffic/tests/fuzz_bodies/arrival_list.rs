//! Any bytes as a list of arrivals and as a distribution of sizes: an error, or arrivals in order and
//! sizes within the curve.

use std::sync::Arc;
use windlass_base::Rng;
use windlass_traffic::{ArrivalList, Arrivals, EmpiricalCdf, Sizes};

/// One input of the target `arrival_list`.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match ArrivalList::parse(&text) {
        Ok(list) => arrivals(list),
        Err(error) => assert!(error.to_string().contains("expected")),
    }
    match EmpiricalCdf::parse(&text) {
        Ok(table) => sizes(table),
        Err(error) => assert!(error.to_string().contains("expected")),
    }
}

fn arrivals(list: ArrivalList) {
    let count = list.arrivals().len();
    let arrivals = Arrivals::Listed(Arc::new(list));
    let found: Vec<_> = arrivals.stream(Rng::new(1)).collect();
    assert_eq!(found.len(), count);
    assert!(found.is_sorted_by_key(|arrival| arrival.at));
    assert!(found.iter().all(|arrival| arrival.bytes > 0));
}

fn sizes(table: EmpiricalCdf) {
    let most = table.points().last().expect("a point").0;
    assert!((0.0..=most).contains(&table.mean()));
    let sizes = Sizes::Empirical(Arc::new(table));
    let mut last = 0.0;
    for step in 0..=32 {
        let bytes = sizes.quantile(f64::from(step) / 32.0);
        // To the precision of an f64.
        assert!(bytes >= last - most * 1e-12 && bytes <= most * (1.0 + 1e-12), "{bytes} of {most}");
        last = bytes;
    }
    assert!(sizes.draw(&mut Rng::new(1)) >= 1);
}
