//! The limits on a sender's data in flight, under arbitrary ACKs from the peer.

use super::script::{Script, with_controller};
use crate::conn::Run;
use crate::{Config, Profile};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Write(u64),
    /// An ACK that far (in thousandths) between SND.UNA and the highest number sent.
    Ack {
        advance: u64,
        window: u16,
        /// SACK blocks beyond the cumulative ACK: start and end likewise.
        sack: Vec<(u64, u64)>,
        echo: bool,
    },
    /// The last ACK, repeated this many times.
    Duplicates(u32),
    Wait(u64),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let window = prop_oneof![2 => Just(65535u16), 1 => Just(0), 2 => 0u16..20_000];
    let advance = prop_oneof![1 => Just(0u64), 1 => Just(1000), 2 => 0u64..1000];
    let sack = prop::collection::vec((0u64..1000, 0u64..1000), 0..3);
    prop_oneof![
        3 => (1u64..20_000).prop_map(Step::Write),
        8 => (advance, window, sack, any::<bool>())
            .prop_map(|(advance, window, sack, echo)| Step::Ack { advance, window, sack, echo }),
        2 => (1u32..6).prop_map(Step::Duplicates),
        3 => (1u64..5000).prop_map(Step::Wait),
        1 => Just(Step::Close),
    ]
}

fn config(profile: Profile, controller: &str, sack: bool) -> Config {
    let congestion = with_controller(controller).congestion;
    profile.config(1000, congestion).with(|c| {
        c.extensions.sack = sack;
        c.ecn.enabled = true;
        c.extensions.timestamps = false;
        c.extensions.window_scaling = false;
        c.timers.max_retries = 1000;
    })
}

fn ack_line(s: &Script, advance: u64, window: u16, sack: &[(u64, u64)], echo: bool) -> String {
    let tx = &s.connection.tx;
    let ack = tx.una + (tx.max - tx.una) * advance / 1000;
    let at = |thousandths: u64| ack + (tx.max - ack) * thousandths / 1000;
    let blocks: Vec<String> = sack
        .iter()
        .map(|(a, b)| (at(*a.min(b)), at(*a.max(b))))
        .filter(|(left, right)| left < right)
        .map(|(left, right)| format!("{left}:{right}"))
        .collect();
    let sack =
        if blocks.is_empty() { String::new() } else { format!(" sack {}", blocks.join(",")) };
    format!("{}. 1 ack {ack} win {window}{sack}", if echo { "E" } else { "" })
}

/// The sequence number after the last one that the run occupies, its FIN included.
fn end(run: &Run) -> u64 {
    let fin = u64::from(run.first.flags.contains(crate::Flags::FIN));
    run.stream_offset + 1 + u64::from(run.first.payload_len) * u64::from(run.count) + fin
}

/// Polls one run and compares it with the windows before it.
fn poll(s: &mut Script) -> Result<bool, TestCaseError> {
    let connection = &mut s.connection;
    let before = (connection.pipe(), connection.in_flight(), connection.window_in_force());
    let (pipe, in_flight, window) = before;
    let (edge, nxt) = (connection.tx.edge, connection.tx.nxt);
    let tail_probes = connection.stats().tail_probes;
    let Some(run) = connection.poll_transmit(s.now, s.max_run, &mut ()) else { return Ok(false) };
    prop_assert!(run.count >= 1 && run.count <= s.max_run);
    if run.first.sequence_len() == 0 {
        return Ok(true);
    }
    let probe = in_flight == 0 && end(&run) == nxt + 1 && run.count == 1;
    prop_assert!(end(&run) <= edge || (probe && edge <= nxt), "{run:?} beyond the edge {edge}");
    if connection.agreed.sack && run.retransmission {
        // A fast retransmit is sent whatever cwnd.
        let limit = window.max(pipe + 1000) + 1;
        prop_assert!(connection.pipe() <= limit, "{run:?}: {} in the pipe", connection.pipe());
    } else {
        // A tail loss probe may exceed cwnd by a segment (RFC 8985 §7.3), a FIN by one.
        let tail_probe = connection.stats().tail_probes > tail_probes;
        let window = if tail_probe { window.max(before.0 + 1000) } else { window };
        let (now, then) = if connection.agreed.sack {
            (connection.pipe(), pipe)
        } else {
            (connection.in_flight(), in_flight)
        };
        prop_assert!(now <= window.max(then) + 1, "{run:?}: {now} in flight, window {window}");
    }
    let tx = &connection.tx;
    prop_assert!(tx.una <= tx.nxt && tx.nxt <= tx.max && tx.max <= tx.end());
    Ok(true)
}

fn drain(s: &mut Script) -> Result<(), TestCaseError> {
    for _ in 0..10_000 {
        if !poll(s)? {
            return Ok(());
        }
    }
    Err(TestCaseError::fail("the connection never falls silent"))
}

fn wait(s: &mut Script, ms: u64) -> Result<(), TestCaseError> {
    let until = s.now + crate::Span::from_millis(ms);
    while let Some(deadline) = s.connection.poll_timeout().filter(|at| *at <= until) {
        s.now = deadline;
        s.connection.handle_timeout(s.now, &mut ());
        drain(s)?;
    }
    s.now = until;
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(300)))]

    #[test]
    fn a_sender_stays_within_both_windows(
        profile in prop::sample::select(&Profile::ALL[..]),
        controller in prop::sample::select(&crate::cc::NAMES[..]),
        sack: bool,
        max_run in prop_oneof![Just(1u32), Just(44)],
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut s = Script::established(config(profile, controller, sack));
        s.connection.compare_seldom();
        s.max_run = max_run;
        let mut last = String::from(". 1 ack 1");
        for step in steps {
            match step {
                Step::Write(bytes) => {
                    // Refused after a close.
                    let _ = s.connection.write(bytes);
                }
                Step::Ack { advance, window, sack, echo } => {
                    last = ack_line(&s, advance, window, &sack, echo);
                    s.take(&last);
                }
                Step::Duplicates(times) => {
                    for _ in 0..times {
                        s.take(&last);
                        drain(&mut s)?;
                    }
                }
                Step::Wait(ms) => wait(&mut s, ms)?,
                Step::Close => s.connection.close(s.now),
            }
            drain(&mut s)?;
        }
        // A peer that accepts all data receives all data.
        let written = s.connection.bytes_written();
        for _ in 0..500 {
            s.take(&ack_line(&s, 1000, 65535, &[], false));
            drain(&mut s)?;
            wait(&mut s, 200)?;
        }
        prop_assert_eq!(s.connection.bytes_acked(), written);
    }
}
