//! AccECN (RFC 9768) at one end: the handshake, the counters that leave, the feedback that arrives.

use super::script::{Script, plain};
use crate::config::{AckPolicy, EcnEcho};
use crate::conn::{Error, Event, State};
use crate::{Config, Ecn};
use alloc::format;
use windlass_base::Span;

fn accurate() -> Config {
    plain().with(|c| {
        c.ecn.enabled = true;
        c.ecn.echo = EcnEcho::Accurate;
        c.window.initial = 10;
        c.recovery.limited_transmit = false;
    })
}

/// The ACE field with this number, as flags of a line.
fn ace(number: u8) -> alloc::string::String {
    [(4, 'A'), (1, 'E'), (2, 'W')]
        .into_iter()
        .filter(|(bit, _)| number & bit != 0)
        .map(|(_, letter)| letter)
        .collect()
}

fn agreed(s: &Script) -> &'static str {
    match (s.connection.accurate_ecn(), s.connection.ecn_negotiated()) {
        (Some(_), _) => "accurate",
        (None, true) => "classic",
        (None, false) => "none",
    }
}

fn sends_ect(s: &Script) -> bool {
    s.connection.accurate_ecn().is_some_and(|state| state.sends_ect)
}

/// A client in AccECN mode with a window of ten segments, its first data acknowledged: the next sequence number
/// is 989.
fn client() -> Script {
    let mut s = Script::connect(accurate());
    s.advance_ms(100);
    s.recv("SW. 0 ack 1 mss 1000 accecn0 1,0,1");
    s.write(988);
    s.advance_ms(100);
    s.recv("AE. 1 ack 989 accecn0 989");
    s.skip();
    s
}

/// A server in AccECN mode.
fn server() -> Script {
    let mut s = Script::listen(accurate());
    s.recv("SAEW 0 mss 1000");
    s.recv("W. 1 ack 1 accecn0 1,0,1");
    s.skip();
    s.expect_state(State::Established);
    s
}

#[test]
fn rfc9768_table_2_the_mode_of_the_client_by_the_syn_ack() {
    let modes = [
        (0b000, "none", false),
        (0b001, "classic", false),
        (0b010, "accurate", true),
        // The SYN was Not-ECT: the path has changed it.
        (0b011, "accurate", false),
        (0b100, "accurate", false),
        // Reserved: agreement, and a SYN that arrived unchanged (section 3.1.3).
        (0b101, "accurate", true),
        (0b110, "accurate", false),
        // The server reflects the flags.
        (0b111, "none", false),
    ];
    for (number, mode, ect) in modes {
        let mut s = Script::connect(accurate());
        s.expect(&["SAEW 0 mss 1000"]);
        s.recv(&format!("S{}. 0 ack 1 mss 1000", ace(number)));
        s.expect_state(State::Established);
        assert_eq!((agreed(&s), sends_ect(&s)), (mode, ect), "{number:03b}");
    }
}

/// RFC 9768 §3.2.2.4: the path clears ACE, so that marks do not count. Delivered data still does.
#[test]
fn a_controller_that_counts_marks_grows_where_ace_is_cleared() {
    let prague = crate::cc::by_name("prague").expect("a controller of the crate");
    let mut s = Script::connect(accurate().with(|c| c.congestion = prague));
    s.advance_ms(100);
    s.recv("SW. 0 ack 1 mss 1000");
    s.write(50_000);
    let before = s.connection.cwnd();
    for ack in 1..=8 {
        s.advance_ms(50);
        s.skip();
        s.recv(&format!(". 1 ack {}", 1000 * ack + 1));
    }
    assert!(!sends_ect(&s));
    assert!(s.connection.cwnd() > before + 5000.0, "{} after {before}", s.connection.cwnd());
}

/// RFC 9331 §4.2: ECT(1) says that both ends have accurate feedback.
#[test]
fn rfc9331_data_is_not_ect1_where_the_peer_has_classic_ecn_alone() {
    for (answer, expected) in [("SW.", Ecn::Ect1), ("SE.", Ecn::NotEct)] {
        let prague = crate::cc::by_name("prague").expect("a controller of the crate");
        let mut s = Script::connect(accurate().with(|c| c.congestion = prague));
        s.recv(&format!("{answer} 0 ack 1 mss 1000"));
        s.skip();
        s.write(1000);
        let run = s.skip()[0];
        assert_eq!(run.ecn, expected, "{answer}");
    }
}

#[test]
fn rfc9768_table_2_the_answer_of_the_server_by_the_syn() {
    for number in 0..8 {
        let (mode, answer) = match number {
            0b000 => ("none", "S. 0 ack 1 mss 1000"),
            0b011 => ("classic", "SE. 0 ack 1 mss 1000"),
            _ => ("accurate", "SW. 0 ack 1 mss 1000 accecn0 1,0,1"),
        };
        let mut s = Script::listen(accurate());
        s.recv(&format!("S{} 0 mss 1000", ace(number)));
        s.expect(&[answer]);
        assert_eq!(agreed(&s), mode, "{number:03b}");
    }
}

#[test]
fn rfc9768_3_1_2_the_syn_ack_feeds_back_the_codepoint_of_the_syn() {
    for (codepoint, answer) in [("", "SW."), ("ect1", "SEW."), ("ect0", "SA."), ("ce", "SAW.")] {
        let mut s = Script::listen(accurate());
        s.recv(&format!("SAEW 0 mss 1000 {codepoint}"));
        s.expect(&[&format!("{answer} 0 ack 1 mss 1000 accecn0 1,0,1")]);
        // A mark on a SYN is no mark of the counter (section 3.2.2.2).
        s.recv("W. 1 ack 1");
        s.recv(". 1:101 ack 1");
        s.expect(&["AE. 1 ack 101"]);
    }
}

#[test]
fn rfc9768_table_3_the_ack_of_the_syn_ack_feeds_back_its_codepoint() {
    for (codepoint, ack, counter) in
        [("", "W.", "AE."), ("ect1", "EW.", "AE."), ("ect0", "A.", "AE."), ("ce", "AW.", "AW.")]
    {
        let mut s = Script::connect(accurate());
        s.skip();
        s.write(100);
        s.recv(&format!("SW. 0 ack 1 mss 1000 accecn0 1,0,1 {codepoint}"));
        // A pure ACK precedes the data (section 3.2.2.1), and both test the path for options (3.2.3.2.1).
        s.expect(&[
            &format!("{ack} 1 ack 1 accecn0 1,0,1"),
            &format!("P{} 1:101 ack 1 accecn0 1,0,1 ect0", counter),
        ]);
        // Repeated, it is fed back again, and a mark counts once.
        s.recv(&format!("SW. 0 ack 1 mss 1000 {codepoint}"));
        s.recv(". 1:101 ack 101");
        s.expect(&[&format!("{ack} 101 ack 1"), &format!("{counter} 101 ack 101")]);
    }
}

#[test]
fn rfc9768_table_4_the_server_by_the_ack_of_its_syn_ack() {
    // The number, whether it sends ECT, whether it counts marks, the packets that it takes as marked.
    let table = [
        (0b000, false, false, 0),
        (0b001, true, true, 0),
        (0b010, true, true, 0),
        (0b011, false, true, 0),
        (0b100, false, true, 0),
        (0b101, true, true, 0),
        (0b110, false, true, 1),
        (0b111, true, true, 0),
    ];
    for (number, ect, responds, marked) in table {
        let mut s = Script::listen(accurate());
        s.recv("SAEW 0 mss 1000");
        s.recv(&format!("{}. 1 ack 1", ace(number)));
        s.expect_state(State::Established);
        let state = s.connection.accurate_ecn().expect("AccECN");
        assert_eq!((state.sends_ect, state.reported.ce_packets), (ect, marked), "{number:03b}");
        s.write(2000);
        // One mark more than before.
        let after = ace((5 + marked as u8 + 1) % 8);
        s.recv(&format!("{after}. 1 ack 1001"));
        let cuts = s.connection.stats().ecn_cuts;
        assert_eq!(cuts, u64::from(responds), "{number:03b}");
        // It feeds back what it receives in any case.
        s.skip();
        s.recv(". 1:101 ack 1001 ce");
        assert!(s.skip().iter().any(|run| crate::accecn::negotiation::ace(run.first.flags) == 6));
    }
}

#[test]
fn rfc9768_3_1_4_1_the_third_syn_asks_for_nothing_and_a_late_agreement_counts() {
    let mut s = Script::connect(accurate());
    s.advance_ms(3000);
    s.expect(&["SAEW 0 mss 1000", "SAEW 0 mss 1000", "S 0 mss 1000"]);
    s.recv("SW. 0 ack 1 mss 1000");
    assert_eq!((agreed(&s), sends_ect(&s)), ("accurate", true));
}

#[test]
fn rfc9768_3_2_3_2_2_the_syn_ack_loses_its_option_and_then_its_flags() {
    let mut s = Script::listen(accurate());
    s.recv("SAEW 0 mss 1000");
    s.advance_ms(3000);
    s.expect(&[
        "SW. 0 ack 1 mss 1000 accecn0 1,0,1",
        "SW. 0 ack 1 mss 1000",
        "S. 0 ack 1 mss 1000",
    ]);
    s.recv("W. 1 ack 1");
    // The peer may not know of AccECN, so no data is ECT (section 3.1.5).
    assert_eq!((agreed(&s), sends_ect(&s)), ("accurate", false));
}

#[test]
fn rfc9768_3_1_5_a_second_syn_changes_the_feedback_and_not_the_mode() {
    let mut s = Script::listen(accurate());
    s.recv("SAEW 0 mss 1000");
    s.recv("SAEW 0 mss 1000 ce");
    s.expect(&["SW. 0 ack 1 mss 1000 accecn0 1,0,1", "SAW. 0 ack 1 mss 1000"]);
    s.recv("S 0 mss 1000");
    s.expect(&["SW. 0 ack 1 mss 1000"]);
    s.recv("W. 1 ack 1");
    assert_eq!((agreed(&s), sends_ect(&s)), ("accurate", false));
}

#[test]
fn rfc9768_3_1_5_no_later_syn_brings_ecn_back() {
    let mut s = Script::listen(accurate());
    s.recv("S 0 mss 1000");
    s.recv("SAEW 0 mss 1000");
    s.expect(&["S. 0 ack 1 mss 1000", "S. 0 ack 1 mss 1000"]);
    assert_eq!(agreed(&s), "none");
}

#[test]
fn rfc9768_3_1_5_syns_that_ask_for_classic_ecn_and_for_accecn_reset_the_connection() {
    for (first, second) in [("SAEW", "SEW"), ("SEW", "SAEW")] {
        let mut s = Script::listen(accurate());
        s.recv(&format!("{first} 0 mss 1000"));
        s.skip();
        s.recv(&format!("{second} 0 mss 1000"));
        s.expect(&["R. 1 ack 1"]);
        s.expect_state(State::Closed);
        s.expect_events(&[Event::Failed(Error::Aborted)]);
    }
}

#[test]
fn rfc9768_3_1_2_both_ends_open_and_each_answers_as_a_server() {
    for (syn, mode, answer) in [
        ("SAEW", "accurate", "SW. 0 ack 1 mss 1000 accecn0 1,0,1"),
        ("SEW", "classic", "SE. 0 ack 1 mss 1000"),
        ("S", "none", "S. 0 ack 1 mss 1000"),
    ] {
        let mut s = Script::connect(accurate());
        s.skip();
        s.recv(&format!("{syn} 0 mss 1000"));
        s.expect(&[answer]);
        s.recv(answer);
        s.expect_state(State::Established);
        assert_eq!(agreed(&s), mode);
    }
}

#[test]
fn rfc9768_3_2_2_2_no_mark_is_made_up_where_both_ends_open() {
    let mut s = Script::connect(accurate());
    s.recv("SAEW 0 mss 1000");
    s.recv("SW. 0 ack 1 mss 1000 accecn0 1,0,1");
    s.skip();
    s.write(1000);
    s.recv("AE. 1 ack 1001 accecn0 1001");
    assert_eq!(s.connection.accurate_ecn().expect("AccECN").reported.ce_packets, 0);
}

#[test]
fn rfc9768_3_2_every_packet_with_ce_counts_and_bytes_of_its_payload() {
    let mut s = server();
    s.recv(". 1:1001 ack 1 ect0");
    s.recv(". 1001:2001 ack 1 ce");
    s.recv(". 2001 ack 1 ce");
    s.recv(". 2001:2101 ack 1 ect1");
    s.expect(&[
        "AE. 1 ack 1001 accecn0 1001",
        "AW. 1 ack 2001 accecn0 1001,1000",
        "AEW. 1 ack 2101 accecn0 1001,1000,101",
    ]);
    let received = s.connection.accurate_ecn().expect("AccECN").received;
    assert_eq!((received.ce_packets, received.ce_bytes), (2, 1000));
    assert_eq!((received.ect0_bytes, received.ect1_bytes), (1000, 100));
    assert_eq!(s.connection.stats().ce_received, 2);
}

#[test]
fn rfc9768_3_2_2_5_1_a_change_to_ce_and_every_second_mark_are_acknowledged_at_once() {
    let delayed = AckPolicy::Delayed { max: Span::from_millis(200) };
    let mut s = Script::listen(accurate().with(|c| c.acks.policy = delayed));
    s.recv("SAEW 0 mss 1000");
    s.recv("W. 1 ack 1");
    s.skip();
    let mut at = 1;
    let mut arrive = |s: &mut Script, bytes: u64, mark: &str| {
        s.recv(&format!(". {at}:{} ack 1 {mark}", at + bytes));
        at += bytes;
        s.skip().len()
    };
    arrive(&mut s, 1000, "ect0");
    s.advance_ms(200);
    s.skip();
    // Small segments, so that delayed ACKs alone would wait.
    assert_eq!(arrive(&mut s, 10, "ce"), 1, "the change");
    assert_eq!(arrive(&mut s, 10, "ce"), 0);
    assert_eq!(arrive(&mut s, 10, "ce"), 1, "the second");
    assert_eq!(arrive(&mut s, 10, "ect0"), 0, "the change back needs none");
    assert_eq!(arrive(&mut s, 10, "ce"), 1, "the change again");
}

#[test]
fn rfc9768_3_2_2_5_1_the_third_mark_without_data_is_acknowledged() {
    let mut s = server();
    s.recv_times(2, ". 1 ack 1 ce");
    s.expect_nothing();
    s.recv(". 1 ack 1 ce");
    s.expect(&[". 1 ack 1"]);
}

#[test]
fn rfc9768_3_2_3_3_two_sack_blocks_have_precedence_over_the_option() {
    let mut s = Script::listen(accurate().with(|c| {
        c.extensions.sack = true;
        c.extensions.timestamps = true;
    }));
    s.recv("SAEW 0 mss 1000 sackOK TS 1:0");
    s.recv("W. 1 ack 1 TS 2:1");
    s.skip();
    for (first, mark) in [(1001, "ect0"), (3001, "ect0"), (5001, "ce")] {
        s.recv(&format!(". {first}:{} ack 1 TS 3:1 {mark}", first + 1000));
    }
    s.recv(". 7001:8001 ack 1 TS 3:1 ect1");
    // With the third block one gives way, and three fields find no room beside two.
    s.expect(&[
        "AE. 1 ack 1 sack 1001:2001 accecn0 1001",
        "AE. 1 ack 1 sack 3001:4001,1001:2001 accecn0 2001",
        "AW. 1 ack 1 sack 5001:6001,3001:4001 accecn0 2001,1000",
        "AW. 1 ack 1 sack 7001:8001,5001:6001 accecn1 1001",
    ]);
}

#[test]
fn rfc9768_3_4_new_marks_cut_once_a_round_trip_and_no_cwr_follows() {
    let mut s = client();
    s.write(30_000);
    let sent = s.skip();
    assert!(sent.len() >= 8 && sent.iter().all(|run| run.ecn == Ecn::Ect0));
    let window = s.connection.cwnd() as u64;
    s.recv("AW. 1 ack 1989 accecn0 989,1000");
    let cut = s.connection.cwnd() as u64;
    assert!(cut < window);
    // Further marks of the same flight.
    s.recv("AEW. 1 ack 2989 accecn0 989,2000");
    s.recv(". 1 ack 3989 accecn0 989,3000");
    assert_eq!(s.connection.stats().ecn_cuts, 1);
    assert_eq!(s.connection.stats().ece_received, 3);
    // The same counter again is no mark, whatever its bits.
    s.recv(". 1 ack 4989 accecn0 1989,3000");
    assert_eq!(s.connection.stats().ece_received, 3);
    let state = s.connection.accurate_ecn().expect("AccECN");
    assert_eq!((state.reported.ce_packets, state.reported.ce_bytes), (3, 3000));
    // ACE is the counter of this end, on every segment.
    for run in s.skip() {
        assert!(run.segments().all(|segment| crate::accecn::negotiation::ace(segment.flags) == 5));
    }
}

#[test]
fn rfc9768_a_1_an_old_ack_is_not_counted() {
    let mut s = client();
    s.write(30_000);
    s.recv("AW. 1 ack 2989 accecn0 1989,1000");
    // Delayed on the way: before the mark.
    s.recv("AE. 1 ack 1989 accecn0 1989");
    s.recv("AE. 1 ack 2989 accecn0 1989");
    s.recv("AW. 1 ack 3989 accecn0 2989,1000");
    let reported = s.connection.accurate_ecn().expect("AccECN").reported;
    assert_eq!((reported.ce_packets, reported.ce_bytes, reported.ect0_bytes), (1, 1000, 2988));
}

#[test]
fn rfc9768_3_2_2_4_a_first_counter_of_zero_ends_ect_and_the_response() {
    let mut s = Script::connect(accurate());
    s.recv("SW. 0 ack 1 mss 1000");
    s.write(30_000);
    s.skip();
    s.recv(". 1 ack 1001");
    assert!(!sends_ect(&s));
    assert!(s.skip().iter().all(|run| run.ecn == Ecn::NotEct));
    s.recv("AE. 1 ack 2001");
    assert_eq!(s.connection.stats().ecn_cuts, 0);
    // The feedback of this end goes on.
    s.recv(". 1:101 ack 2001 ce");
    assert_eq!(s.connection.accurate_ecn().expect("AccECN").received.ce_packets, 1);
}

#[test]
fn rfc9768_3_2_3_2_4_options_with_zeroed_fields_are_ignored() {
    let mut s = Script::connect(accurate());
    s.recv("SW. 0 ack 1 mss 1000 accecn0 0,0,0");
    s.write(30_000);
    s.recv("AE. 1 ack 1989 accecn0 0,50000,0");
    let reported = s.connection.accurate_ecn().expect("AccECN").reported;
    assert_eq!((reported.ce_packets, reported.ce_bytes), (0, 0));
    assert_eq!(s.connection.stats().ecn_cuts, 0);
}

#[test]
fn rfc9768_3_2_3_2_3_without_options_ace_counts_alone() {
    let mut s = Script::connect(accurate());
    s.recv("SW. 0 ack 1 mss 1000");
    s.write(30_000);
    s.recv("AEW. 1 ack 3989");
    assert_eq!(s.connection.accurate_ecn().expect("AccECN").reported.ce_packets, 2);
    // Options that appear later count (section 3.2.3.2.3).
    s.recv(". 1 ack 4989 accecn0 1989,3000");
    let reported = s.connection.accurate_ecn().expect("AccECN").reported;
    assert_eq!((reported.ce_packets, reported.ce_bytes), (3, 3000));
}

#[test]
fn rfc9768_3_2_3_2_5_marked_bytes_without_marked_packets_end_ect() {
    let mut s = client();
    s.write(30_000);
    s.recv("AE. 1 ack 1989 accecn0 989,1000");
    assert!(!sends_ect(&s));
    assert_eq!(s.connection.stats().ecn_cuts, 1, "the bytes count");
}

#[test]
fn rfc9768_3_2_3_2_2_options_end_where_their_acks_are_lost_again_and_again() {
    let mut s = server();
    for segment in [". 1:1001 ack 1", ". 1001:2001 ack 1", ". 2001:3001 ack 1"] {
        s.recv(&format!("{segment} ect0"));
        // The ACK with the option is lost; that of the retransmission has none, and arrives.
        s.recv(segment);
    }
    s.skip();
    s.recv(". 3001:4001 ack 1 ect0");
    s.expect(&["AE. 1 ack 4001"]);
}

#[test]
fn lost_acks_without_options_do_not_end_them() {
    let mut s = server();
    s.recv(". 1:1001 ack 1 ect0");
    s.recv_times(3, ". 1:1001 ack 1");
    s.skip();
    s.recv(". 1001:2001 ack 1 ect0");
    s.expect(&["AE. 1 ack 2001 accecn0 2001"]);
}

#[test]
fn rfc9768_3_2_3_2_2_a_retransmission_has_no_option() {
    let mut s = Script::connect(accurate());
    s.recv("SW. 0 ack 1 mss 1000 accecn0 1,0,1");
    s.write(100);
    s.skip();
    s.advance_ms(1000);
    s.expect(&["PAE. 1:101 ack 1"]);
}

#[test]
fn an_end_that_asks_for_classic_ecn_stays_as_it_was() {
    let mut s = Script::connect(plain().with(|c| c.ecn.enabled = true));
    s.expect(&["SEW 0 mss 1000"]);
    s.recv("SE. 0 ack 1 mss 1000");
    s.expect(&[". 1 ack 1"]);
    assert_eq!(agreed(&s), "classic");
}

/// The first segment is lost, and the second one's mark is reported with its SACK block.
#[test]
fn marks_count_while_nothing_but_the_handshake_is_acknowledged() {
    let mut s = Script::connect(accurate().with(|c| c.extensions.sack = true));
    s.recv("SW. 0 ack 1 mss 1000 sackOK accecn0 1,0,1");
    s.write(1988);
    s.recv("WA. 1 ack 1 sack 989:1989 accecn0 1,1000,1");
    let reported = s.connection.accurate_ecn().expect("AccECN").reported;
    assert_eq!((reported.ce_packets, reported.ce_bytes), (1, 1000));
    assert_eq!(s.connection.stats().ecn_cuts, 1);
}

/// RFC 9768 §3.1.5: the flags of a SYN-ACK in ESTABLISHED are ignored, and its codepoint is fed back.
#[test]
fn rfc9768_3_1_5_a_late_syn_ack_without_ecn_is_fed_back_by_its_codepoint() {
    let mut s = Script::connect(accurate());
    s.recv("SW. 0 ack 1 mss 1000 accecn0 1,0,1");
    s.skip();
    s.recv("S. 0 ack 1 mss 1000 ect0");
    s.expect(&["A. 1 ack 1"]);
}

#[test]
fn without_fallback_a_changed_codepoint_of_the_handshake_does_not_end_ect() {
    for fallback in [true, false] {
        let mut s = Script::listen(accurate().with(|c| c.ecn.fallback = fallback));
        s.recv("SAEW 0 mss 1000");
        s.recv("WA. 1 ack 1 accecn0 1,0,1");
        assert_eq!(sends_ect(&s), !fallback);
    }
}
