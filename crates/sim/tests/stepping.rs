//! Runs in steps: interrupted anywhere, they are the runs that go through.

use std::sync::Arc;
use windlass_base::{Rng, Span, Time};
use windlass_sim::{Scenario, Simulation, Summary, run};

const SCENARIO: &str = r#"
schema = 1
name = "steps"
duration = "20s"
flows = [
  { from = "s1", controller = "cubic" },
  { from = "s2", controller = "reno", start = "1s", app = { kind = "repeated", size = "100kB", pause = "200ms" } },
]
udp = [{ name = "video", from = "s3", to = "d", packet_bytes = 1000, rate = "1Mbit/s" }]
[dumbbell]
access = [{ delay = "1ms" }, { delay = "20ms" }, { delay = "5ms" }]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "codel" }
"#;

fn scenario(overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    windlass_scenario::from_toml("steps.toml", SCENARIO, &overrides).expect("a scenario").scenario
}

fn whole(scenario: &Scenario) -> Summary {
    run(scenario, 7, &mut ()).expect("a network")
}

#[test]
fn a_run_in_steps_is_the_run() {
    for overrides in
        [&[][..], &["flows.0.receiver={ack=\"delayed\"}", "dumbbell.bottleneck.loss=0.01"]]
    {
        let scenario = Arc::new(scenario(overrides));
        let mut simulation = Simulation::new(Arc::clone(&scenario), 7).expect("a network");
        let mut rng = Rng::new(3);
        let mut until = Time::ZERO;
        while !simulation.is_over() {
            until += Span::from_micros(rng.between(1, 50_000));
            simulation.advance(until, &mut (), || false);
        }
        assert_eq!(simulation.finish(&mut ()), whole(&scenario));
    }
}

#[test]
fn a_run_stopped_after_every_event_is_the_run() {
    let scenario = scenario(&["duration=2s"]);
    let mut simulation = Simulation::new(&scenario, 7).expect("a network");
    let mut stops = 0;
    while !simulation.is_over() {
        simulation.advance(Time::MAX, &mut (), || true);
        stops += 1;
    }
    let summary = simulation.finish(&mut ());
    assert_eq!(summary, whole(&scenario));
    assert_eq!(stops, summary.events + 1, "the last step finds nothing left");
}

#[test]
fn the_sender_can_be_read_between_steps() {
    let scenario = scenario(&[]);
    let mut simulation = Simulation::new(&scenario, 7).expect("a network");
    assert!(simulation.sender(0).is_none(), "no connection before the start");
    let mut acked = 0;
    for second in 1..=20 {
        simulation.advance(Time::ZERO + Span::from_secs(second), &mut (), || false);
        let sender = simulation.sender(0).expect("a bulk flow lasts");
        assert!(sender.bytes_acked() > acked && sender.cwnd() >= 1460.0);
        assert!(simulation.now() >= Time::ZERO + Span::from_millis(second * 1000 - 10));
        acked = sender.bytes_acked();
    }
    assert!(simulation.is_over() && simulation.sender(9).is_none());
}

#[test]
fn a_run_ended_early_has_the_summary_so_far() {
    let scenario = scenario(&[]);
    let mut simulation = Simulation::new(&scenario, 7).expect("a network");
    simulation.advance(Time::ZERO + Span::from_secs(5), &mut (), || false);
    let summary = simulation.finish(&mut ());
    assert!((4.9..5.1).contains(&summary.duration_s), "{}", summary.duration_s);
    assert!(summary.events < whole(&scenario).events / 2);
}
