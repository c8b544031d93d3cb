//! The running kernel's Reno by three cases, as root.

use super::*;
use crate::bed::{EventKind, Fate, PAYLOAD, Path, Traffic};
use crate::case::{Case, Clause, Concerns, Level, Outcome, demand};
use windlass_base::Span;
use windlass_testbed::{Need, skip_unless};

/// A round trip far above what a loaded machine adds.
const PATH: Path = Path { mbit_per_s: 20.0, rtt_ms: 100, queue_bdp: 4.0 };

const INITIAL_WINDOW: Case = Case {
    name: "initial-window",
    clause: Clause { document: "RFC 6928", section: "2", level: Level::May },
    concerns: Concerns::All,
    setup: Setup::DEFAULT,
    path: PATH,
    traffic: Traffic::Bulk,
    observed: &["cwnd"],
    demanded: "at most ten segments leave before the first ACK of data",
    tolerance: 0.0,
    program: |_, bed| {
        let acked = bed.run_until(Span::from_secs(5), |bed| bed.delivered() > 0.0);
        demand!(acked, "nothing is acknowledged");
        // The ACK of the SYN's answer leaves nothing in flight.
        let first = bed.wire().events().iter().skip_while(|event| event.flight == 0);
        let first = first.take_while(|event| event.kind != EventKind::Arrived);
        let sent: u64 = first.map(|event| u64::from(event.packet.segment.payload_len)).sum();
        demand!(sent > PAYLOAD && sent <= 10 * PAYLOAD, "{sent} bytes");
        Ok(())
    },
};

const FAST_RETRANSMIT: Case = Case {
    name: "fast-retransmit",
    clause: Clause { document: "RFC 5681", section: "3.2", level: Level::Should },
    demanded: "a lost segment is sent again before the timer, and halves the window",
    program: |_, bed| {
        let grown = bed.run_until(Span::from_secs(5), |bed| bed.flight_segments() >= 40.0);
        demand!(grown, "the window stays small");
        bed.next_data(1, Fate::Drop);
        let repaired = bed.run_until(Span::from_secs(5), |bed| bed.wire().resent() > 0);
        demand!(repaired, "nothing is sent again");
        demand!(bed.get("timeouts") == 0.0, "by the timer");
        demand!(bed.get("fast_retransmits") == 1.0, "{} times", bed.get("fast_retransmits"));
        bed.run_for(Span::from_secs(1));
        let ratio = bed.get("ssthresh") / bed.flight();
        demand!(bed.get("ssthresh") >= 10.0 * PAYLOAD as f64 && ratio < 1.1, "{ratio}");
        Ok(())
    },
    ..INITIAL_WINDOW
};

const TIMEOUT: Case = Case {
    name: "timeout",
    clause: Clause { document: "RFC 6298", section: "5", level: Level::Must },
    demanded: "without ACKs the first segment is sent again after the RTO, then after twice that",
    program: |_, bed| {
        let grown = bed.run_until(Span::from_secs(5), |bed| bed.flight_segments() >= 20.0);
        demand!(grown, "the window stays small");
        bed.on_data(|_, _| Fate::Drop);
        let expired = bed.run_until(Span::from_secs(10), |bed| bed.get("timeouts") >= 3.0);
        demand!(expired, "{} timeouts", bed.get("timeouts"));
        let pauses = bed.wire().pauses_since(Time::ZERO);
        let [.., before, last] = pauses[..] else { return Ok(()) };
        let ratio = last.as_secs_f64() / before.as_secs_f64();
        demand!((1.8..2.2).contains(&ratio), "a pause {ratio} times the one before");
        demand!(bed.get("cwnd") <= 2.0 * PAYLOAD as f64, "a window of {}", bed.get("cwnd"));
        Ok(())
    },
    ..INITIAL_WINDOW
};

#[test]
fn renos_kernel_passes_what_every_sender_does() {
    if skip_unless(&[Need::Root, Need::Tun]) {
        return;
    }
    let kernel = Kernel::new("reno").expect("every kernel has it");
    for case in [INITIAL_WINDOW, FAST_RETRANSMIT, TIMEOUT] {
        let judgement = case.judge(&kernel);
        assert_eq!(judgement.outcome, Outcome::Passed, "{}: {}", case.name, case.demanded);
    }
}

#[test]
fn a_controller_that_the_kernel_lacks_is_named() {
    if skip_unless(&[Need::Root, Need::Tun]) {
        return;
    }
    let error = Kernel::new("no-such").expect_err("no kernel has it").to_string();
    assert!(error.contains("no-such") && error.contains("Linux"), "{error}");
}

#[test]
fn a_release_is_named_by_its_first_two_numbers() {
    assert_eq!(version("6.18.44-fc-v657\n"), "6.18");
    assert_eq!(version("7.3.4+deb13-amd64"), "7.3");
}
