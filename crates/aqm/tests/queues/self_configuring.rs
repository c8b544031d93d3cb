//! Feng, Kandlur, Saha, Shin 1999: a RED queue whose load changes needs a max_p that changes.

use crate::responsive::Run;
use windlass_aqm::{Adaptation, Config, Queue, RedConfig, SelfConfiguringConfig};
use windlass_base::Ecn;

const FEW: f64 = 8.0;
const MANY: f64 = 64.0;

/// The share of the arrivals of many senders that is dropped above `max` or at the limit, while few
/// and many take turns.
fn forced_share(max_p: f64, adaptation: Option<Adaptation>) -> f64 {
    let config = RedConfig { min: 10.0, max_p, gentle: false, adaptation, ..RedConfig::default() };
    let mut run = Run::new(Config::Red(config), FEW, Ecn::Ect0);
    run.run(60.0);
    let (mut forced, mut offered) = (0, 0);
    for _ in 0..5 {
        run.senders.flows = MANY;
        let before = *run.harness.queue.stats();
        run.run(20.0);
        let after = *run.harness.queue.stats();
        forced += after.dropped() - before.dropped();
        offered += after.offered - before.offered;
        run.senders.flows = FEW;
        run.run(20.0);
    }
    forced as f64 / offered as f64
}

/// The lab's experiment `new-ecn/queue-papers` has the other half, the rate of few senders.
#[test]
fn it_drops_less_than_a_fixed_max_p_when_the_load_changes() {
    let by_itself = forced_share(0.1, Some(Adaptation::Feng(SelfConfiguringConfig::default())));
    for max_p in [1.0 / 64.0, 0.1, 0.25] {
        let fixed = forced_share(max_p, None);
        assert!(by_itself < 0.5 * fixed, "{by_itself} and {fixed} with max_p {max_p}");
    }
}

#[test]
fn a_factor_that_does_not_move_max_p_is_refused() {
    let valid = |alpha, beta| {
        let adaptation = Some(Adaptation::Feng(SelfConfiguringConfig { alpha, beta }));
        RedConfig { adaptation, ..RedConfig::self_configuring() }.validate().is_ok()
    };
    assert!(valid(3.0, 2.0));
    for factor in [1.0, 0.5, -3.0, f64::INFINITY, f64::NAN] {
        assert!(!valid(factor, 2.0) && !valid(3.0, factor), "{factor}");
    }
}
