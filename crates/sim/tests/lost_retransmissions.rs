//! SND.UNA goes on where a queue marks ECT and drops Not-ECT, as retransmissions are (RFC 3168
//! §6.1.5), and after an outage longer than timestamps are valid.

use windlass_base::{Span, Time};
use windlass_sim::{Recorder, Registry, Summary, run};
use windlass_tcp::TraceEvent;

/// Controllers whose slow start overflows such a queue.
const CONTROLLERS: [&str; 6] =
    ["newreno", "reno", "tahoe", "cubic", "new-ecn", "constant-increase"];

/// The longest time without an ACK of new data.
#[derive(Default)]
struct Standstill {
    last: Time,
    longest: Span,
}

impl Recorder for Standstill {
    fn flow_event(&mut self, now: Time, _flow: usize, event: TraceEvent) {
        if let TraceEvent::Acked { .. } = event {
            self.longest = self.longest.max(now.saturating_since(self.last));
            self.last = now;
        }
    }
}

/// One flow over 10 Mbit/s and 40 ms, for four seconds.
fn over(queue: &str, profile: &str, controller: &str) -> (f64, Summary) {
    let text = format!(
        r#"
        schema = 1
        name = "one"
        description = "one flow"
        duration = "4s"
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
    let document = Registry::default().read_toml("one", &text, &[]).expect("a sound scenario");
    let mut standstill = Standstill::default();
    let summary = run(&document.scenario, 1, &mut standstill).expect("a sound scenario");
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

/// PIE drops nearly everything for a while, so that what a timeout sends again is lost, too.
#[test]
fn pie_stops_nothing_for_more_than_two_timeouts() {
    for controller in CONTROLLERS {
        let (standstill_s, summary) = over("kind = \"pie\"", "linux", controller);
        assert!(standstill_s < 1.5, "{controller}: {standstill_s} s");
        assert!(summary.flows[0].timeouts <= 2, "{controller}");
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
    let document = Registry::default().read_toml("outage", text, &[]).expect("a sound scenario");
    let summary = run(&document.scenario, 1, &mut ()).expect("a sound scenario");
    assert!(summary.flows[0].packets_per_s.steady > 0.05, "{:?}", summary.flows[0]);
}
