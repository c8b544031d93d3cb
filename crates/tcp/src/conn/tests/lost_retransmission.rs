//! RFC 5681 §4.3: the loss of a retransmission is a second sign of congestion. RFC 3168 §6.1.2: an
//! echo counts once a window of data, also while SND.UNA waits for a retransmission. The RTT of the
//! handshake is 100 ms.

use super::script::{Script, plain};
use crate::cc::{ControllerFactory, by_name};
use crate::{Config, Profile};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

fn sack(rack: bool, prr: bool) -> Config {
    plain().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = rack;
        c.recovery.prr = prr;
        c.ecn.enabled = true;
        c.window.initial = 20;
    })
}

/// Twenty segments in flight, for 100 ms.
fn flight(config: Config) -> Script {
    let mut s = Script::established(config.with(|c| {
        c.window.initial = 20;
        c.growth.cwnd_validation = false;
    }));
    s.write(200_000);
    assert_eq!(s.skip().len(), 20);
    s.advance_ms(100);
    s
}

/// The first of twenty segments was lost, and so was its retransmission. Ten milliseconds after
/// each transmission, the segments up to 19001 arrived.
fn head_sent_again(config: Config) -> Script {
    let mut s = flight(config);
    s.recv(". 1 ack 1 sack 1001:4001");
    assert_eq!(s.skip().first().map(|run| run.stream_offset), Some(0));
    s.advance_ms(10);
    s.recv(". 1 ack 1 sack 1001:19001");
    assert!(s.skip().iter().any(|run| run.stream_offset == 21_000), "new data");
    s.advance_ms(100);
    s
}

fn retransmits_head(s: &mut Script) -> bool {
    s.skip().iter().any(|run| run.stream_offset == 0)
}

#[test]
fn rfc5681_the_loss_of_a_retransmission_lowers_the_window_twice() {
    for prr in [false, true] {
        let mut s = head_sent_again(sack(true, prr));
        s.expect_windows(10_000, 10_000);
        s.recv(". 1 ack 1 sack 1001:19001,20001:22001");
        assert!(retransmits_head(&mut s), "prr {prr}");
        s.expect_windows(5000, 5000);
        assert_eq!((s.connection.stats().fast_retransmits, s.connection.stats().timeouts), (2, 0));
    }
}

/// Nothing but retransmissions is in flight, and their ACKs echo the timestamp of the segment before
/// the hole (RFC 7323 §4.3). RFC 8985 §6.2: what was sent before one that arrived is lost.
#[test]
fn retransmissions_show_that_one_before_them_is_lost() {
    let mut s = Script::established(sack(true, false).with(|c| {
        c.extensions.timestamps = true;
        c.growth.cwnd_validation = false;
    }));
    s.write(19_760);
    assert_eq!(s.skip().len(), 20);
    s.advance_ms(100);
    s.recv(". 1 ack 1 sack 989:1977,2965:19761 TS 110:10000");
    let again: Vec<u64> = s.skip().iter().map(|run| run.stream_offset).collect();
    assert_eq!(again, [0, 1976]);
    s.advance_ms(100);
    s.recv(". 1 ack 1 sack 989:19761 TS 210:10000");
    assert!(retransmits_head(&mut s), "the other retransmission arrived");
    s.expect_windows(4940, 4940);
    assert_eq!(s.connection.stats().timeouts, 0);
}

#[test]
fn the_third_transmission_is_lost_too() {
    let mut s = head_sent_again(sack(true, true));
    s.recv(". 1 ack 1 sack 1001:19001,20001:22001");
    s.advance_ms(10);
    s.recv(". 1 ack 1 sack 1001:19001,20001:27001");
    assert!(retransmits_head(&mut s));
    s.advance_ms(100);
    s.recv(". 1 ack 1 sack 1001:19001,20001:29001");
    assert!(retransmits_head(&mut s), "a third time");
    s.expect_windows(2500, 2500);
    assert_eq!(s.connection.stats().timeouts, 0);
}

#[test]
fn all_retransmissions_lost_in_a_window_lower_it_once() {
    let mut s = flight(sack(true, false));
    s.recv(". 1 ack 1 sack 5001:20001");
    let again = s.skip().iter().filter(|run| run.retransmission).count();
    assert_eq!(again, 5);
    s.advance_ms(10);
    s.write(1);
    s.recv(". 1 ack 1 sack 5001:20001");
    s.skip();
    s.advance_ms(100);
    s.recv(". 1 ack 1 sack 5001:21001");
    s.skip();
    s.expect_windows(5000, 5000);
    s.recv(". 1 ack 1 sack 5001:22001");
    s.expect_windows(5000, 5000);
}

#[test]
fn a_retransmission_that_arrives_changes_nothing() {
    let mut s = head_sent_again(sack(true, true));
    s.recv(". 1 ack 19001");
    s.expect_windows(10_000, 10_000);
    assert_eq!(s.connection.stats().fast_retransmits, 1);
}

/// The window was reduced by an echo before the first loss: the loss is of the same window, the
/// lost retransmission is not.
#[test]
fn after_an_echo_the_first_loss_changes_nothing_and_the_lost_retransmission_does() {
    let mut s = flight(sack(true, true));
    s.recv("E. 1 ack 1001");
    s.expect_windows(10_000, 10_000);
    s.recv(". 1 ack 1001 sack 2001:5001");
    assert_eq!(s.skip().first().map(|run| run.stream_offset), Some(1000));
    s.expect_windows(10_000, 10_000);
    s.advance_ms(10);
    s.recv(". 1 ack 1001 sack 2001:20001");
    s.skip();
    s.advance_ms(100);
    s.recv(". 1 ack 1001 sack 2001:21001");
    assert!(s.skip().iter().any(|run| run.stream_offset == 1000));
    s.expect_windows(5000, 5000);
}

#[test]
fn every_controller_lowers_ssthresh_for_a_lost_retransmission() {
    for profile in [Profile::Rfc3465, Profile::Rfc5681, Profile::Linux] {
        for name in crate::cc::tests::window_keepers() {
            let controller = profile.controller(name).expect("a controller of the crate");
            lowers_ssthresh(profile, controller);
        }
        lowers_ssthresh(profile, Arc::new(crate::cc::ConstantIncrease::default()));
    }
}

fn lowers_ssthresh(profile: Profile, controller: Arc<dyn ControllerFactory>) {
    let name = controller.name();
    let config = profile.config(1000, controller).with(|c| {
        c.extensions.timestamps = false;
        c.extensions.window_scaling = false;
    });
    // Tahoe's single segment leaves no later one that could show the loss.
    let shown = config.recovery.rack && name != "tahoe";
    let mut s = flight(config);
    s.recv(". 1 ack 1 sack 1001:4001");
    s.advance_ms(10);
    s.recv(". 1 ack 1 sack 1001:20001");
    assert!(retransmits_head(&mut s), "{name}");
    let first = s.connection.ssthresh();
    // Without RACK the timer finds it (RFC 6675 §5.1).
    s.advance_ms(if shown { 100 } else { 1500 });
    s.recv(". 1 ack 1 sack 1001:21001");
    assert!(retransmits_head(&mut s), "{name} with {profile:?}");
    let then = s.connection.ssthresh();
    assert!(then < first || then == 2000, "{name} with {profile:?}: {first}, then {then}");
}

#[test]
fn rfc3168_an_echo_behind_a_hole_lowers_the_window_once_a_window_of_data() {
    for rack in [false, true] {
        let mut s = flight(sack(rack, rack));
        s.recv("E. 1 ack 1 sack 1001:4001");
        s.recv("E. 1 ack 1 sack 1001:19001");
        s.expect_windows(10_000, 10_000);
        let sent = s.skip();
        let first_new = sent.iter().find(|run| !run.retransmission).expect("new data");
        assert!(first_new.first.flags.contains(crate::Flags::CWR), "{sent:?}");
        s.advance_ms(50);
        // 20001:21001, which carried CWR, arrived with CE.
        s.recv("E. 1 ack 1 sack 1001:19001,20001:21001");
        s.expect_windows(5000, 5000);
        s.recv("E. 1 ack 1 sack 1001:19001,20001:22001");
        s.recv("E. 1 ack 1 sack 1001:19001,20001:23001");
        s.expect_windows(5000, 5000);
        // With RACK it shows that the retransmission is lost, too.
        assert_eq!(s.connection.stats().ecn_cuts, u64::from(!rack));
    }
}

#[test]
fn an_echo_before_cwr_was_sent_is_of_the_old_window() {
    let mut s = Script::established(sack(true, true));
    s.write(20_000);
    s.skip();
    s.advance_ms(100);
    s.recv("E. 1 ack 1 sack 1001:4001");
    s.close();
    s.advance_ms(10);
    for end in 5..=20 {
        s.recv(&format!("E. 1 ack 1 sack 1001:{end}001"));
    }
    assert_eq!(s.connection.stats().ecn_cuts, 0);
    s.expect_windows(10_000, 10_000);
}

/// RFC 6675 §5.1 leaves a lost retransmission to the timer. That an echo has reduced the window for
/// the flight excuses the first loss only.
#[test]
fn after_an_echo_a_timeout_of_a_retransmission_lowers_ssthresh() {
    let mut s = flight(sack(false, false));
    s.recv("E. 1 ack 1001");
    s.recv(". 1 ack 1001 sack 2001:5001");
    assert_eq!(s.skip().first().map(|run| run.stream_offset), Some(1000));
    s.expect_windows(10_000, 10_000);
    s.advance_ms(1500);
    assert_eq!(s.connection.stats().timeouts, 1);
    s.expect_windows(1000, 5000);
    let mut s = flight(sack(false, false));
    s.recv("E. 1 ack 1001");
    s.advance_ms(1500);
    s.expect_windows(1000, 10_000);
}

/// The echo behind a hole came after the fast retransmit, which is lost too.
#[test]
fn after_an_echo_during_a_repair_a_timeout_lowers_ssthresh() {
    let mut s = flight(sack(false, false));
    s.recv("E. 1 ack 1 sack 1001:19001");
    assert!(retransmits_head(&mut s));
    s.advance_ms(50);
    s.recv("E. 1 ack 1 sack 1001:19001,20001:21001");
    s.expect_windows(5000, 5000);
    s.advance_ms(1500);
    assert_eq!(s.connection.stats().timeouts, 1);
    s.expect_windows(1000, 2500);
}

/// The tail loss probe after the echo retransmits the last segment (RFC 8985 §7.3), and is lost.
#[test]
fn after_an_echo_and_a_probe_a_timeout_lowers_ssthresh() {
    let mut s = Script::established(sack(true, true).with(|c| {
        c.recovery.tail_loss_probe = true;
        c.growth.cwnd_validation = false;
    }));
    s.write(20_000);
    s.skip();
    s.advance_ms(100);
    s.recv("E. 1 ack 1001");
    s.expect_windows(10_000, 10_000);
    s.advance_ms(2000);
    let again = s.skip();
    assert_eq!(again.first().map(|run| run.stream_offset), Some(19_000), "the probe");
    assert_eq!(s.connection.stats().timeouts, 1);
    s.expect_windows(1000, 5000);
}

#[test]
fn new_ecn_lowers_its_window_by_the_loss_where_a_mark_is_of_the_same_window() {
    let config = sack(true, true).with(|c| c.congestion = by_name("new-ecn").expect("its own"));
    let mut s = head_sent_again(config);
    s.expect_windows(10_000, 10_000);
    s.recv("E. 1 ack 1 sack 1001:19001,20001:22001");
    s.expect_windows(5000, 5000);
    assert_eq!(s.connection.stats().ecn_cuts, 0);
}
