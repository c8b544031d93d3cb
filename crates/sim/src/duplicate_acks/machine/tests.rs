use super::*;
use proptest::prelude::*;

const CLIENT: bool = false;
const SERVER: bool = true;
const NONE: Flags = Flags::empty();
const CE_ECE: (Ecn, Flags) = (Ecn::Ce, Flags::ECE);

/// A connection at a proxy, and what the proxy has counted.
struct Scene {
    variant: DuplicateAcks,
    connection: Connection,
    counters: DuplicateAckCounters,
}

impl Scene {
    fn new(variant: DuplicateAcks) -> Scene {
        let (connection, counters) = <(Connection, DuplicateAckCounters)>::default();
        Scene { variant, connection, counters }
    }

    /// A connection that the client opened and whose server alone has ECN, as in the paper's uploads.
    fn upload(variant: DuplicateAcks) -> Scene {
        let mut scene = Scene::new(variant);
        scene.pass(CLIENT, Flags::SYN);
        scene.pass(SERVER, Flags::SYN | Flags::ACK | Flags::ECE);
        scene
    }

    fn pass(&mut self, from: bool, flags: Flags) -> Flags {
        self.pass_segment(from, Ecn::NotEct, Segment { flags, ..Segment::default() }).1.flags
    }

    fn pass_segment(&mut self, from: bool, mut ecn: Ecn, segment: Segment) -> (Ecn, Segment) {
        let mut segment = segment;
        self.connection.handle(self.variant, from, (&mut segment, &mut ecn), &mut self.counters);
        (ecn, segment)
    }

    /// An ACK of the server; the ACK number that the client gets.
    fn ack(&mut self, number: u32, (ecn, flags): (Ecn, Flags)) -> u32 {
        let ack = SeqNumber(number);
        let segment = Segment { ack, flags: flags | Flags::ACK, ..Segment::default() };
        let (ecn, seen) = self.pass_segment(SERVER, ecn, segment);
        assert_eq!((ecn, seen.flags & Flags::ECE), (Ecn::NotEct, NONE));
        seen.ack.0
    }

    /// Data of the client; what the server gets of it.
    fn data(&mut self) -> (Ecn, Flags) {
        let segment = Segment { flags: Flags::ACK, payload_len: 1448, ..Segment::default() };
        let (ecn, seen) = self.pass_segment(CLIENT, Ecn::NotEct, segment);
        (ecn, seen.flags.difference(Flags::ACK))
    }

    fn proxied(&self) -> Proxied {
        let Connection::Proxied(proxied) = self.connection else { panic!("not proxied") };
        proxied
    }

    fn state(&self) -> State {
        self.proxied().state
    }

    /// In `state` by the shortest way, with the number 1000 saved where one is.
    fn in_state(variant: DuplicateAcks, state: State) -> Scene {
        let mut scene = Scene::upload(variant);
        match state {
            State::Quiet => 0,
            State::Repeating => scene.ack(1000, (Ecn::NotEct, Flags::ECE)),
            State::Both => scene.ack(1000, CE_ECE),
            State::Echoing => scene.ack(1000, (Ecn::Ce, NONE)),
        };
        assert_eq!(scene.state(), state);
        scene
    }
}

const VARIANTS: [DuplicateAcks; 3] =
    [DuplicateAcks::StateMachine, DuplicateAcks::WithCwr, DuplicateAcks::Printed];

#[test]
fn a_syn_asks_for_ecn_again_until_it_is_answered() {
    let mut scene = Scene::new(DuplicateAcks::StateMachine);
    for _ in 0..3 {
        assert_eq!(scene.pass(CLIENT, Flags::SYN), Flags::SYN | Flags::ECE | Flags::CWR);
    }
    assert_eq!(scene.counters.upgraded, 3);
}

#[test]
fn each_end_gets_the_answer_that_it_understands() {
    let (ask, syn_ack) = (Flags::ECE | Flags::CWR, Flags::SYN | Flags::ACK);
    // Flags of the opener's SYN, of the answer, and of the answer that the opener gets; the end with ECN.
    for (asks, answers, gets, ecn_end) in [
        (NONE, Flags::ECE, NONE, Some(SERVER)),
        (ask, NONE, Flags::ECE, Some(CLIENT)),
        // An old server that mirrors the flags has no ECN (RFC 3168 section 6.1.1).
        (ask, ask, Flags::ECE, Some(CLIENT)),
        (ask, Flags::ECE, Flags::ECE, None),
        (NONE, NONE, NONE, None),
    ] {
        let mut scene = Scene::new(DuplicateAcks::StateMachine);
        scene.pass(CLIENT, Flags::SYN | asks);
        assert_eq!(scene.pass(SERVER, syn_ack | answers), syn_ack | gets);
        assert_eq!(scene.counters.proxied, u64::from(ecn_end.is_some()));
        match ecn_end {
            Some(end) => assert_eq!(scene.proxied().ecn_end, end),
            None => assert_eq!(scene.connection, Connection::Untouched),
        }
    }
}

#[test]
fn a_connection_without_a_handshake_passes_untouched() {
    let mut scene = Scene::new(DuplicateAcks::StateMachine);
    let segment = Segment { flags: Flags::ACK | Flags::ECE, ..Segment::default() };
    assert_eq!(scene.pass_segment(SERVER, Ecn::Ce, segment), (Ecn::Ce, segment));
}

/// Figure 3.2: for each state and each signal the next state, on the first packet behind the one
/// that led to the state.
#[test]
fn the_first_packet_leads_to_the_state_of_the_figure() {
    use State::{Both, Echoing, Quiet, Repeating};
    let (ce, not_ect) = (Ecn::Ce, Ecn::NotEct);
    let (ece, cwr) = (Flags::ECE, Flags::CWR);
    for (state, signals, next) in [
        (Quiet, (not_ect, NONE), Quiet),
        (Quiet, (ce, NONE), Echoing),
        (Quiet, (ce, ece), Both),
        (Quiet, (not_ect, ece), Repeating),
        (Repeating, (not_ect, NONE), Repeating),
        (Repeating, (not_ect, ece), Repeating),
        (Repeating, (ce, NONE), Both),
        (Both, (not_ect, NONE), Both),
        (Both, (not_ect, cwr), Repeating),
        (Echoing, (not_ect, NONE), Echoing),
        (Echoing, (not_ect, cwr), Quiet),
        (Echoing, (not_ect, cwr | ece), Repeating),
        (Echoing, (not_ect, ece), Both),
    ] {
        for variant in VARIANTS {
            let mut scene = Scene::in_state(variant, state);
            scene.ack(2000, signals);
            assert_eq!(scene.state(), next, "{variant:?}, {state:?} with {signals:?}");
        }
    }
}

/// The same on the third repeated packet, where the listing forgets an echo.
#[test]
fn the_third_repeat_leads_to_the_state_of_the_figure() {
    use State::{Both, Echoing, Quiet, Repeating};
    let (ce, not_ect) = (Ecn::Ce, Ecn::NotEct);
    for (state, signals, next, printed) in [
        (Repeating, (not_ect, NONE), Quiet, Quiet),
        (Repeating, (ce, NONE), Echoing, Echoing),
        (Both, (not_ect, NONE), Echoing, Quiet),
        (Both, (not_ect, Flags::CWR), Quiet, Quiet),
    ] {
        for variant in VARIANTS {
            let mut scene = Scene::in_state(variant, state);
            for _ in 0..2 {
                scene.ack(2000, (not_ect, NONE));
                assert_eq!(scene.state(), state);
            }
            scene.ack(2000, signals);
            let next = if variant == DuplicateAcks::Printed { printed } else { next };
            assert_eq!(scene.state(), next, "{variant:?}, {state:?} with {signals:?}");
        }
    }
}

#[test]
fn three_packets_repeat_the_number_of_the_one_with_ece() {
    let mut scene = Scene::upload(DuplicateAcks::StateMachine);
    let plain = (Ecn::NotEct, NONE);
    assert_eq!(scene.ack(1000, (Ecn::NotEct, Flags::ECE)), 1000);
    let seen = [2000, 3000, 4000, 5000].map(|number| scene.ack(number, plain));
    assert_eq!(seen, [1000, 1000, 1000, 5000]);
    assert_eq!((scene.counters.signals, scene.counters.rewritten), (1, 3));
}

/// The sender's end never says CWR, so the server goes on with ECE (RFC 3168 section 6.1.3).
#[test]
fn without_cwr_one_ack_of_four_keeps_its_number() {
    let mut scene = Scene::upload(DuplicateAcks::StateMachine);
    let echo = (Ecn::NotEct, Flags::ECE);
    let seen: Vec<u32> = (1..=8).map(|number| scene.ack(number * 1000, echo)).collect();
    assert_eq!(seen, [1000, 1000, 1000, 1000, 5000, 5000, 5000, 5000]);
    assert_eq!(scene.data(), (Ecn::Ect0, NONE));
}

#[test]
fn with_cwr_the_next_data_carry_it_once() {
    let mut scene = Scene::upload(DuplicateAcks::WithCwr);
    let echo = (Ecn::NotEct, Flags::ECE);
    for number in 1..=3 {
        scene.ack(number * 1000, echo);
        assert_eq!(scene.data(), (Ecn::Ect0, NONE));
    }
    scene.ack(4000, echo);
    // A pure ACK of the client cannot carry it: the server would not know whether it arrived.
    assert_eq!(scene.pass(CLIENT, Flags::ACK), Flags::ACK);
    assert_eq!(scene.data(), (Ecn::Ect0, Flags::CWR));
    assert_eq!(scene.data(), (Ecn::Ect0, NONE));
    assert_eq!(scene.counters.cwr, 1);
}

/// 2^24: the flag's 1 in the byte order of the hosts, which the header has the other way round.
#[test]
fn the_listing_repeats_the_ack_flag() {
    let mut scene = Scene::upload(DuplicateAcks::Printed);
    let echo = (Ecn::NotEct, Flags::ECE);
    let seen = [1000, 2000, 3000, 4000, 5000].map(|number| scene.ack(number, echo));
    assert_eq!(seen, [1000, 1 << 24, 1 << 24, 1 << 24, 5000]);
}

#[test]
fn the_listing_saves_the_number_in_the_state_that_echoes() {
    let mut scene = Scene::in_state(DuplicateAcks::Printed, State::Echoing);
    let seen = [2000, 3000].map(|number| scene.ack(number, (Ecn::NotEct, Flags::ECE)));
    assert_eq!(seen, [2000, 2000]);
}

#[test]
fn ce_is_echoed_until_cwr() {
    let mut scene = Scene::in_state(DuplicateAcks::StateMachine, State::Echoing);
    assert_eq!(scene.pass(CLIENT, Flags::ACK), Flags::ACK | Flags::ECE);
    assert_eq!(scene.data(), (Ecn::Ect0, Flags::ECE));
    scene.ack(2000, (Ecn::Ect0, Flags::CWR));
    assert_eq!(scene.data(), (Ecn::Ect0, NONE));
    assert_eq!((scene.counters.ce, scene.counters.echoes), (1, 2));
}

fn signals() -> impl Strategy<Value = Flags> {
    (any::<bool>(), any::<bool>()).prop_map(|(ece, cwr)| {
        let mut flags = Flags::ACK;
        flags.set(Flags::ECE, ece);
        flags.set(Flags::CWR, cwr);
        flags
    })
}

proptest! {
    /// Whatever comes: the end without ECN sees no ECN, and of the variants that save the real number
    /// no ACK number that is above the real one, below an earlier one, or new.
    #[test]
    fn the_sender_sees_only_numbers_that_the_receiver_has_sent(
        with_cwr in any::<bool>(),
        packets in prop::collection::vec((any::<bool>(), 0u8..4, signals(), 0u32..3000), 1..200),
    ) {
        let variant =
            if with_cwr { DuplicateAcks::WithCwr } else { DuplicateAcks::StateMachine };
        let mut scene = Scene::upload(variant);
        let (mut sent, mut last, mut repeats) = (vec![0], 0, 0);
        for (from, codepoint, flags, more) in packets {
            let real = sent[sent.len() - 1] + if from == SERVER { more } else { 0 };
            let segment =
                Segment { flags, ack: SeqNumber(real), payload_len: more, ..Segment::default() };
            let codepoint = if from == SERVER { Ecn::from_bits(codepoint) } else { Ecn::NotEct };
            let (ecn, seen) = scene.pass_segment(from, codepoint, segment);
            // Nothing but the two fields changes.
            let kept = Segment { ack: segment.ack, flags: segment.flags, ..seen };
            prop_assert_eq!(kept, segment);
            if from == CLIENT {
                prop_assert_eq!((ecn, seen.ack), (Ecn::Ect0, segment.ack));
                continue;
            }
            sent.push(real);
            prop_assert_eq!((ecn, seen.flags & Flags::ECE), (Ecn::NotEct, NONE));
            prop_assert!(seen.ack.0 <= real && seen.ack.0 >= last);
            prop_assert!(sent.contains(&seen.ack.0));
            repeats = if seen.ack.0 == real { 0 } else { repeats + 1 };
            prop_assert!(repeats <= u32::from(REPEATS));
            last = seen.ack.0;
        }
    }
}
