//! SND.UNA goes on where a queue marks ECT and drops Not-ECT, as retransmissions are (RFC 3168
//! §6.1.5), and after an outage longer than timestamps are valid.

use windlass_base::{Span, Time};
use windlass_sim::model::LinkDirection;
use windlass_sim::packet::{Body, Packet};
use windlass_sim::{Recorder, Scenario, Summary, run};
use windlass_tcp::{Flags, SeqNumber, TraceEvent};

/// Controllers whose slow start overflows such a queue.
const CONTROLLERS: [&str; 6] =
    ["newreno", "reno", "tahoe", "cubic", "new-ecn", "constant-increase"];

/// How SND.UNA advances.
struct Standstill {
    bottleneck: LinkDirection,
    last: Time,
    /// The longest time without an ACK of new data.
    longest: Span,
    isn: SeqNumber,
    /// Bytes acknowledged, and bytes that have passed the bottleneck's queue.
    una: u64,
    sent: u64,
    /// When the segment at SND.UNA passed that queue as a retransmission.
    passed: Option<Time>,
    /// The longest time from then until SND.UNA advanced.
    slowest: Span,
}

impl Standstill {
    fn new(scenario: &Scenario) -> Standstill {
        Standstill {
            bottleneck: scenario.bottleneck,
            last: Time::ZERO,
            longest: Span::ZERO,
            isn: SeqNumber::default(),
            una: 0,
            sent: 0,
            passed: None,
            slowest: Span::ZERO,
        }
    }
}

impl Recorder for Standstill {
    fn flow_event(&mut self, now: Time, _flow: usize, event: TraceEvent) {
        if let TraceEvent::Acked { bytes } = event {
            self.longest = self.longest.max(now.saturating_since(self.last));
            (self.last, self.una) = (now, bytes);
            if let Some(passed) = self.passed.take() {
                self.slowest = self.slowest.max(now.saturating_since(passed));
            }
        }
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        let Body::Tcp(segment) = packet.body else { return };
        if packet.reverse || direction != self.bottleneck {
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            self.isn = segment.seq.at(1);
        }
        let Some(from) = segment.seq.unwrap_near(self.isn, self.sent) else { return };
        if from == self.una && from < self.sent {
            self.passed = self.passed.or(Some(now));
        }
        self.sent = self.sent.max(from + u64::from(segment.payload_len));
    }
}

/// One flow over 10 Mbit/s and 40 ms, for four seconds.
fn over(queue: &str, profile: &str, controller: &str) -> (f64, Summary) {
    simulate(queue, profile, controller, 4, 1)
}

/// The longest standstill in seconds, and the summary.
fn simulate(
    queue: &str,
    profile: &str,
    controller: &str,
    seconds: u32,
    seed: u64,
) -> (f64, Summary) {
    let text = format!(
        r#"
        schema = 1
        name = "one"
        description = "one flow"
        duration = "{seconds}s"
        steady_from = "2s"
        flows = [{{ name = "one", from = "s1", controller = "{controller}" }}]
        [defaults]
        profile = "{profile}"
        ecn = true
        mss = 1448
        [dumbbell]
        access = [{{ delay = "19ms" }}]
        [dumbbell.bottleneck]
        rate = "10Mbit/s"
        delay = "1ms"
        queue = "marking"
        back = {{ rate = "10Gbit/s", queue = "droptail" }}
        [queues.marking]
        {queue}
        "#
    );
    let document = windlass_scenario::from_toml("one", &text, &[]).expect("a sound scenario");
    let mut standstill = Standstill::new(&document.scenario);
    let summary = run(&document.scenario, seed, &mut standstill).expect("a sound scenario");
    let slowest = standstill.slowest;
    assert!(slowest <= Span::from_millis(80), "{queue}, {profile}, {controller}: {slowest}");
    (standstill.longest.as_secs_f64(), summary)
}

const RED: &str = r#"
    kind = "red"
    min = "10 packets"
    max = "20 packets"
    above_max = "mark-ect"
    limit = "100 packets"
"#;

#[test]
fn retransmissions_that_red_drops_stop_nothing() {
    for controller in CONTROLLERS {
        let (standstill_s, summary) = over(RED, "linux", controller);
        let rate = summary.flows[0].packets_per_s.steady;
        // The queue holds a tenth of a second, and tahoe's single segment needs a timeout.
        let most_s = if controller == "tahoe" { 0.6 } else { 0.4 };
        assert!(standstill_s < most_s, "{controller}: {standstill_s} s");
        assert!(rate > 600.0, "{controller}: {rate} of 840 packets/s");
    }
}

/// RFC 6675 §5.1 leaves a lost retransmission to the timer, which is a second at least.
#[test]
fn without_rack_one_timeout_goes_by() {
    for profile in ["rfc3465", "rfc5681"] {
        for controller in CONTROLLERS {
            let (standstill_s, summary) = over(RED, profile, controller);
            assert!(standstill_s < 1.1, "{profile}, {controller}: {standstill_s} s");
            assert!(summary.flows[0].timeouts <= 1, "{profile}, {controller}");
        }
    }
}

#[test]
fn queues_that_mark_by_delay_stop_nothing_either() {
    for queue in ["kind = \"codel\"", "kind = \"fq-codel\"", "kind = \"adaptive-red\""] {
        for controller in CONTROLLERS {
            let (standstill_s, summary) = over(queue, "linux", controller);
            assert!(standstill_s < 0.4, "{queue}, {controller}: {standstill_s} s");
            assert_eq!(summary.flows[0].timeouts, 0, "{queue}, {controller}");
        }
    }
}

/// PIE drops nearly everything for a while. Only retransmissions are in flight then, and show which of
/// them are lost (RFC 8985 §6.2).
#[test]
fn pie_stops_nothing_for_longer_than_its_queue_is() {
    for controller in CONTROLLERS {
        let (standstill_s, summary) = over("kind = \"pie\"", "linux", controller);
        assert!(standstill_s < 0.7, "{controller}: {standstill_s} s");
        // Tahoe's single segment leaves no later one that could show a loss.
        let timeouts = u64::from(controller == "tahoe");
        assert!(summary.flows[0].timeouts <= timeouts, "{controller}");
    }
}

/// RFC 2581 has no SACK: a lost retransmission needs the timer. Meanwhile each duplicate ACK sends new
/// data (§3.2 step 4), so that the queue may drop what the timer retransmits, too; the next timeout
/// takes twice as long (RFC 6298 §5.5).
#[test]
fn without_sack_two_timeouts_go_by() {
    for controller in CONTROLLERS {
        let (standstill_s, summary) = over(RED, "rfc2581", controller);
        assert!(standstill_s < 3.1, "{controller}: {standstill_s} s");
        assert!(summary.flows[0].timeouts <= 2, "{controller}");
    }
}

/// The figures of docs/results/simulator.md: median and worst of 20 seeds.
#[test]
#[ignore = "480 runs that print a table"]
fn standstills_of_twenty_seeds() {
    for (name, queue) in [("PIE", "kind = \"pie\""), ("RED", RED)] {
        for profile in ["linux", "rfc5681", "rfc2581"] {
            for controller in ["newreno", "cubic", "new-ecn", "tahoe"] {
                let runs = (1..=20).map(|seed| simulate(queue, profile, controller, 6, seed));
                let (mut longest_s, summaries): (Vec<f64>, Vec<Summary>) = runs.unzip();
                longest_s.sort_by(f64::total_cmp);
                let median_s = longest_s[9].midpoint(longest_s[10]);
                let timeouts: u64 = summaries.iter().map(|run| run.flows[0].timeouts).sum();
                let rates = summaries.iter().map(|run| run.flows[0].packets_per_s.steady);
                let rate = rates.sum::<f64>() / 20.0;
                println!(
                    "{name} {profile} {controller}: median {median_s:.2} s, worst {:.2} s, \
                     {timeouts} timeouts, {rate:.0} packets/s",
                    longest_s[19]
                );
            }
        }
    }
}

/// RFC 7323 §5.5. A timestamp of 24.9 days later looks older.
#[test]
fn a_connection_goes_on_after_an_outage_of_25_days() {
    let text = r#"
        schema = 1
        name = "outage"
        description = "a path that is gone for 24.9 days"
        duration = "700h"
        steady_from = "640h"
        flows = [{ name = "f", from = "s1", profile = "linux", max_retries = 100000 }]
        [dumbbell]
        access = [{ delay = "1ms" }]
        [dumbbell.bottleneck]
        rate = "1kbit/s"
        delay = "50ms"
        outages = [{ at = "10h", lasts = "598h", lose = true }]
    "#;
    let document = windlass_scenario::from_toml("outage", text, &[]).expect("a sound scenario");
    let summary = run(&document.scenario, 1, &mut ()).expect("a sound scenario");
    assert!(summary.flows[0].packets_per_s.steady > 0.05, "{:?}", summary.flows[0]);
}
