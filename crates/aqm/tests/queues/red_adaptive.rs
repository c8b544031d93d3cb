//! Floyd, Gummadi, Shenker 2001.

use crate::responsive::{Run, mean};
use windlass_aqm::{Config, Discipline, Queue, RedConfig};
use windlass_base::Ecn;

fn run(max_p: f64, flows: f64) -> Run {
    let config = RedConfig { min: 10.0, max_p, ..RedConfig::adaptive() };
    Run::new(Config::Red(config), flows, Ecn::Ect0)
}

fn max_p(run: &Run) -> f64 {
    match &run.harness.queue {
        Discipline::Red(red) => red.max_p(),
        other => panic!("RED was asked for, not {other:?}"),
    }
}

/// Section 4: the target is the middle fifth between min = 10 and max = 30.
fn assert_on_target(run: &Run) {
    let average = mean(&run.averages);
    assert!((17.0..=23.0).contains(&average), "average {average}, max_p {}", max_p(run));
}

#[test]
fn many_senders_raise_max_p_until_the_average_is_on_target() {
    let mut run = run(0.02, 50.0);
    run.run(120.0);
    run.run(60.0);
    assert!(max_p(&run) > 0.06, "{}", max_p(&run));
    assert_on_target(&run);
}

#[test]
fn few_senders_lower_max_p_until_the_average_is_on_target() {
    let mut run = run(0.5, 20.0);
    run.run(120.0);
    run.run(60.0);
    assert!(max_p(&run) < 0.2, "{}", max_p(&run));
    assert_on_target(&run);
}

#[test]
fn max_p_keeps_its_bounds() {
    let mut heavy = run(0.1, 1000.0);
    heavy.run(60.0);
    assert_eq!(max_p(&heavy), 0.5);
    let mut light = run(0.1, 1.0);
    light.run(60.0);
    assert_eq!(max_p(&light), 0.01);
    assert!(light.harness.queue.stats().dequeued > 0);
}
