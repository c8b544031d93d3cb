//! Whether the sender's flight falls after a virtual loss or a drop, and what follows.

use crate::served::{MSS, Scene};
use crate::syn::{FAR_ISN, all_options};
use windlass_ecn_proxy_core::{Events, Flags, Packet, Policy, Reason, SenderPolicy, Side};

/// A sender whose flight is always `flight` segments, or `after` of them for a round trip after each
/// virtual loss.
struct Sender {
    scene: Scene,
    /// The first segment that the far host has not acknowledged, and the first one not sent.
    acknowledged: u32,
    sent: u32,
    /// When it retransmits.
    now_ns: u64,
}

impl Sender {
    fn new(policy: Policy, flight: u32) -> Sender {
        let mut scene = Scene::new(policy, all_options());
        scene.all(0..flight);
        // The machine is up for an hour: only differences of times may count.
        Sender { scene, acknowledged: 0, sent: flight, now_ns: 3_600_000_000_000 }
    }

    /// The far host echoes a mark at its ACK of two segments; the sender retransmits, sends `after`
    /// segments, and the far host acknowledges all that was sent before. Returns what happened.
    fn slow_down_to(&mut self, after: u32) -> Events {
        let first = self.acknowledged;
        let (echoed, _) = self.scene.echo(first + 2);
        let retransmission = Packet { now_ns: self.now_ns, ..self.scene.data_packet(first) };
        let (repaired, _) = self.scene.watch.pass(&retransmission, Side::Host);
        let recover = self.sent;
        let mut events = echoed.events | repaired.events;
        for n in recover..recover + after {
            events |= self.scene.data(n).0.events;
        }
        events |= self.scene.ack(recover).0.events;
        (self.acknowledged, self.sent) = (recover, recover + after);
        events
    }

    /// The sender fills its flight again.
    fn refill(&mut self, flight: u32) {
        let until = self.acknowledged + flight;
        self.scene.all(self.sent..until);
        self.sent = self.sent.max(until);
    }

    /// A round trip: the far host acknowledges all that is under way, two segments at a time.
    fn round(&mut self, flight: u32) {
        let until = self.sent;
        while self.acknowledged < until {
            self.acknowledged = (self.acknowledged + 2).min(until);
            self.scene.ack(self.acknowledged);
            self.refill(flight);
        }
    }

    fn sends_ect(&mut self) -> bool {
        self.sent += 1;
        self.scene.data(self.sent - 1).1.forward[0].codepoint == 2
    }
}

/// So many round trips between two answers that the flights at the answers are not compared.
const LONG: u32 = 12;

/// Virtual losses after which a flight of 20 segments goes on with `after`, and is 20 again later.
fn losses(after: impl Fn(u32) -> u32, number: u32) -> (Sender, Events) {
    let mut sender = Sender::new(Policy::default(), 20);
    let mut events = Events::empty();
    for n in 0..number {
        let seen = sender.slow_down_to(after(n));
        assert_eq!(seen.contains(Events::FLIGHT_FELL), after(n) < 18, "{n}: {seen:?}");
        events |= seen;
        (0..LONG).for_each(|_| sender.round(20));
    }
    (sender, events)
}

/// A sender that leaves `kept` of its window of `start` segments at each mark and adds `growth` in a round
/// trip; so many round trips pass between two marks. Its application has at most `limit` segments for it,
/// and its window grows only if that is not the limit (RFC 7661).
fn reduces(start: f64, kept: f64, growth: f64, limit: u32, rounds: impl Fn(u32) -> u32) -> Events {
    let flight = |window: f64| (window as u32).min(limit);
    let (mut window, mut events) = (start, Events::empty());
    let mut sender = Sender::new(Policy::default(), flight(window));
    for n in 0..100 {
        window = (window * kept).max(4.0);
        events |= sender.slow_down_to(flight(window));
        for _ in 0..rounds(n) {
            window += if flight(window) < limit { growth } else { 0.0 };
            sender.round(flight(window));
        }
    }
    assert_eq!(sender.sends_ect(), !events.contains(Events::ECT_WITHDRAWN));
    events
}

/// RFC 5681 sections 3.1 and 3.2, RFC 9438 sections 4.3 and 4.6; also Linux's rate halving, which has
/// halved by the end of the round trip.
#[test]
fn a_sender_that_reduces_at_each_mark_keeps_its_ect_however_often_marks_come() {
    for start in [300.0, 60.0, 20.0] {
        for (kept, growth) in [(0.5, 1.0), (0.7, 0.53)] {
            for spread in [1, 3, 8, 20] {
                let random = |n: u32| n.wrapping_mul(2_654_435_761) >> 16;
                let events = reduces(start, kept, growth, 1_000, |n| random(n) % spread);
                assert!(!events.contains(Events::ECT_WITHDRAWN), "{start} {kept} {spread}");
            }
        }
    }
}

/// Of 200 segments it uses 20: six marks halve and halve again what it does not use.
#[test]
fn a_sender_with_a_window_of_ten_flights_keeps_its_ect() {
    for rounds in [0, 1, 4, 30] {
        for (kept, growth) in [(0.5, 1.0), (0.7, 0.53)] {
            let events = reduces(200.0, kept, growth, 20, |_| rounds);
            assert!(!events.contains(Events::ECT_WITHDRAWN), "{kept} {rounds}");
        }
    }
}

/// RFC 9438 section 4.2: in a second or two CUBIC has nearly its old window again, after few round trips if
/// the path is long.
#[test]
fn cubic_on_a_path_of_400_ms_keeps_its_ect() {
    const RTT_S: f64 = 0.4;
    let mut sender = Sender::new(Policy::default(), 100);
    let mut before = 100.0_f64;
    for n in 0..30 {
        let k = (0.75 * before).cbrt();
        let events = sender.slow_down_to((0.7 * before) as u32);
        assert!(!events.contains(Events::ECT_WITHDRAWN), "{n}");
        // The target is the window of a round trip later.
        for round in 1..=3 {
            let window = before + 0.4 * (f64::from(round + 1) * RTT_S - k).powi(3);
            sender.round(window as u32);
        }
        before = f64::from(sender.sent - sender.acknowledged);
        sender.now_ns += (4.0 * RTT_S * 1e9) as u64;
    }
    assert!(before > 10.0 && sender.sends_ect(), "{before}");
}

/// BBR version 1 sends as much as is acknowledged for a round trip after a loss, and then goes on as
/// before. Its flights scatter: it probes for more, and other connections come and go.
#[test]
fn a_sender_whose_flight_is_smaller_for_a_round_trip_only_loses_its_ect() {
    for flights in [&[20][..], &[24, 17, 22, 19, 16], &[60, 55, 62, 48]] {
        let mut sender = Sender::new(Policy::default(), flights[0]);
        let (mut events, mut answers) = (Events::empty(), 0);
        while !events.contains(Events::ECT_WITHDRAWN) {
            let flight = flights[answers % flights.len()];
            events |= sender.slow_down_to(2 * (sender.sent - sender.acknowledged) / 3);
            (0..2).for_each(|_| sender.round(flight));
            answers += 1;
            assert!(answers < 40, "{flights:?}");
        }
        assert!(!events.contains(Events::FLIGHT_KEPT), "{flights:?}");
        assert!(answers > 8, "{answers}: one flight alone counts for at most an eighth");
        assert_eq!(sender.scene.watch.flow.reason(), Reason::NoResponse);
        assert!(!sender.sends_ect());
    }
}

/// An application's rate rises and falls, which is no evidence of the sender's window.
#[test]
fn flights_that_rise_and_fall_are_no_evidence() {
    let mut sender = Sender::new(Policy::default(), 20);
    for n in 0..60 {
        let events = sender.slow_down_to(6);
        assert!(!events.contains(Events::ECT_WITHDRAWN), "{n}");
        sender.round(if n % 2 == 0 { 10 } else { 20 });
    }
    assert!(sender.sends_ect());
}

/// The sender reduces for a real loss too, and may have grown again since.
#[test]
fn flights_before_and_after_a_real_loss_are_not_compared() {
    let mut sender = Sender::new(Policy::default(), 20);
    for n in 0..40 {
        let events = sender.slow_down_to(12);
        assert!(!events.contains(Events::ECT_WITHDRAWN), "{n}");
        sender.round(20);
        // Retransmitted without a virtual loss.
        sender.scene.data(sender.acknowledged);
        sender.round(20);
    }
    assert!(sender.sends_ect());
}

/// RFC 5681 section 3.2 leaves half, RFC 9438 section 4.6 leaves 0.7.
#[test]
fn a_sender_that_slows_down_keeps_its_ect() {
    for after in [2, 10, 14, 17] {
        let (mut sender, events) = losses(|_| after, 40);
        assert!(!events.contains(Events::FLIGHT_KEPT | Events::ECT_WITHDRAWN), "{after}");
        assert!(sender.sends_ect(), "{after}");
    }
}

/// BBR version 1 does not take a loss for congestion.
#[test]
fn a_sender_that_never_slows_down_loses_its_ect() {
    let (mut sender, events) = losses(|_| 20, 7);
    assert!(!events.contains(Events::ECT_WITHDRAWN) && sender.sends_ect());
    sender.slow_down_to(20);
    let flow = sender.scene.watch.flow;
    assert_eq!(flow.reason(), Reason::NoResponse, "the eighth");
    assert!(!sender.sends_ect());
    // Marks of data that left before are passed over for that reason.
    let at = sender.sent;
    let (edit, _) = sender.scene.echo(at);
    assert!(edit.events.contains(Events::EPISODE | Events::PASSED_OVER));
    assert_eq!(edit.reason(), Reason::NoResponse);
}

/// Its window may be far above what the application gives it, and fall for a while without effect.
#[test]
fn a_sender_that_slows_down_every_third_time_keeps_its_ect() {
    let (mut sender, events) = losses(|n| if n % 3 == 0 { 10 } else { 20 }, 90);
    assert!(events.contains(Events::FLIGHT_KEPT) && !events.contains(Events::ECT_WITHDRAWN));
    assert!(sender.sends_ect());
}

/// A segment more or less decides there.
#[test]
fn small_flights_are_not_judged() {
    let mut sender = Sender::new(Policy::default(), 5);
    for _ in 0..40 {
        let events = sender.slow_down_to(5);
        assert!(events.contains(Events::ANSWERED_VIRTUAL_LOSS));
        assert!(!events.intersects(Events::FLIGHT_FELL | Events::FLIGHT_KEPT));
    }
    assert!(sender.sends_ect());
}

/// Beyond a gap there is data of more than one round trip.
#[test]
fn a_flight_with_a_real_loss_is_not_judged() {
    let mut sender = Sender::new(Policy::default(), 20);
    sender.scene.echo(2);
    sender.scene.data(0);
    sender.scene.all(20..40);
    let gap = crate::gap(&sender.scene, 20, 22, 40);
    let (edit, _) = sender.scene.watch.pass(&gap, Side::Far);
    assert!(!edit.events.intersects(Events::FLIGHT_FELL | Events::FLIGHT_KEPT));
    let mut sender = Sender::new(Policy::default(), 20);
    sender.scene.echo(2);
    sender.scene.data(0);
    sender.scene.data(5);
    sender.scene.all(20..40);
    let (edit, _) = sender.scene.ack(20);
    assert!(!edit.events.intersects(Events::FLIGHT_FELL | Events::FLIGHT_KEPT));
}

/// BBR does not slow down for a packet that was really dropped either.
#[test]
fn policy_drop_verifies_the_response_too() {
    let policy = Policy { sender: SenderPolicy::Drop, ..Policy::default() };
    let mut scene = Scene::new(policy, all_options());
    let (mut acknowledged, mut sent, mut withdrawn) = (0, 0, 0);
    for drops in 1..=8 {
        scene.all(sent..sent + 20);
        scene.echo(sent + 1);
        // Dropped, then repaired with the whole flight behind it.
        let dropped = sent + 20;
        assert!(scene.data(dropped).1.forward.is_empty(), "{drops}");
        scene.all(dropped + 1..dropped + 20);
        let (repaired, _) = scene.data(dropped);
        assert!(repaired.events.contains(Events::ANSWERED_DROP));
        scene.all(dropped + 20..dropped + 40);
        let (edit, _) = scene.ack(dropped + 20);
        assert!(edit.events.contains(Events::FLIGHT_KEPT), "{drops}: {:?}", edit.events);
        withdrawn += u32::from(edit.events.contains(Events::ECT_WITHDRAWN));
        (acknowledged, sent) = (dropped + 20, dropped + 40);
        scene.ack(sent);
    }
    assert_eq!((withdrawn, scene.watch.flow.reason()), (1, Reason::NoResponse));
    assert_eq!(scene.data(sent).1.forward[0].codepoint, 0, "{acknowledged}");
}

/// Other connections of the host did not slow down: RFC 3168 section 6.1.2 asks ECT of no sender that
/// does not react to marks.
#[test]
fn a_distrusted_connection_has_no_ect_from_the_beginning() {
    let mut scene = Scene::default();
    let edit = scene.watch.flow.distrust();
    assert_eq!((edit.events, edit.reason()), (Events::ECT_WITHDRAWN, Reason::NoResponse));
    assert_eq!(scene.data(0).1.forward[0].codepoint, 0);
    assert_eq!(scene.watch.flow.distrust().events, Events::empty(), "once");
    // The other direction has ECN.
    let ce = Packet { codepoint: 3, payload_bytes: MSS, ..scene.ack_packet(0, Flags::empty()) };
    scene.watch.pass(&Packet { seq: FAR_ISN + 1, ..ce }, Side::Far);
    assert!(scene.data(1).1.forward[0].flags.contains(Flags::ECE));
}
