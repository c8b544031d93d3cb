//! Sessions with other dialogues than HTTP, in virtual time.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::server::config;
use common::{PATH, World, settings};
use windlass_probe::dialogue::{Exchange, Scheme};
use windlass_probe::session::{Failure, Outcome, WindowAfter};
use windlass_probe::split::{Limit, Reaction};
use windlass_probe::{Ending, Session, Settings, Target, Test};
use windlass_probe_serve::{EngineServer, Outgoing, Speaker, says};
use windlass_tcp::Profile;

const TESTS: [Test; 3] = [Test::Split(1), Test::Split(4), Test::Stretch];

/// A server that answers GO with this many bytes and closes, asked by a text of the user's.
fn ask(initial_window: u32, bytes: usize, mss: Option<u16>) -> Outcome {
    let server = EngineServer::new(config(Profile::Linux, initial_window), says(vec![b'x'; bytes]));
    let mut world = World::new(PATH, 3).with("192.0.2.1:7", server);
    let exchange = Exchange::new(b"GO\r\n\r\n".to_vec(), None).expect("no expression");
    let settings =
        Settings { exchange, mss, scheme: Scheme::by_name("tcp"), ..settings(&TESTS, 2) };
    let target = Target::parse_as("192.0.2.1:7", settings.scheme).expect("a target");
    let mut session = Session::new(target, settings);
    world.run(&mut session, &[]);
    session.outcome()
}

#[test]
fn a_long_answer_is_measured_with_the_usual_mss() {
    let outcome = ask(10, 300_000, None);
    let spoken = outcome.dialogue.expect("another than HTTP");
    assert_eq!((spoken.name, spoken.mss, spoken.whole), ("send", 1460, false));
    let verdict = outcome.verdict.expect("measured");
    assert_eq!(verdict.reaction, Reaction::CountsBytes { limit: Some(Limit::None) });
    let window = verdict.initial_window.expect("seen");
    assert_eq!((window.packets, window.exact, verdict.notes.len()), (10, true, 0));
}

#[test]
fn a_short_answer_fills_the_window_with_a_small_mss() {
    let outcome = ask(10, 3000, None);
    let spoken = outcome.dialogue.expect("another than HTTP");
    assert_eq!((spoken.mss, spoken.bytes, spoken.whole), (88, 3000, true));
    let verdict = outcome.verdict.expect("measured");
    assert_eq!(verdict.reaction, Reaction::CountsBytes { limit: Some(Limit::None) });
    let window = verdict.initial_window.expect("seen");
    assert_eq!((window.packets, window.bytes, window.exact), (10, 880, true));
    assert!(verdict.notes.iter().any(|note| note.contains("MSS of 88 bytes")), "{verdict:?}");
    // The user's MSS stays.
    let outcome = ask(10, 3000, Some(1000));
    let window = outcome.verdict.and_then(|verdict| verdict.initial_window).expect("seen");
    assert_eq!((window.packets, window.exact), (3, false));
}

#[test]
fn an_answer_below_the_window_is_a_bound_with_its_length() {
    let verdict = ask(10, 500, None).verdict.expect("some data");
    let window = verdict.initial_window.expect("seen");
    assert_eq!((window.packets, window.exact), (6, false));
    let Reaction::Undecided { why } = verdict.reaction else { panic!("{:?}", verdict.reaction) };
    assert!(why.contains("the dialogue send brings 500 bytes, with an MSS of 88"), "{why}");
}

#[test]
fn a_server_of_another_protocol_that_says_nothing_gives_no_answer() {
    let server = EngineServer::new(config(Profile::Linux, 10), says(vec![b'x'; 500]));
    let mut world = World::new(PATH, 3).with("192.0.2.1:6379", server);
    let target = Target::parse("redis://192.0.2.1/").expect("a target");
    let mut session = Session::new(target, settings(&TESTS, 1));
    world.run(&mut session, &[]);
    let failure = session.outcome().failure.expect("not measured");
    // It waits for the end of a request of HTTP.
    assert_eq!(failure, Failure::Ended { ending: Ending::NoAnswer });
}

/// A peer of BitTorrent with 16 pieces, which permits requests at once.
#[derive(Default)]
struct Peer {
    shaken: bool,
}

const INFO_HASH: [u8; 20] = [7; 20];
const BLOCK_BYTES: u32 = 16 * 1024;

impl Speaker for Peer {
    fn hear(&mut self, _: &[u8], out: &mut Outgoing) -> bool {
        if self.shaken {
            let head = [(9 + BLOCK_BYTES).to_be_bytes().as_slice(), &[7; 9]].concat();
            let block = [head, vec![b'x'; BLOCK_BYTES as usize]].concat();
            out.push(&block.repeat(16).into());
            return true;
        }
        self.shaken = true;
        let handshake = [b"\x13BitTorrent protocol".as_slice(), &[0; 8], &INFO_HASH, &[b'p'; 20]];
        // The pieces, and the permission to ask.
        let messages = [[0, 0, 0, 3, 5, 0xff, 0xff].as_slice(), &[0, 0, 0, 1, 1]];
        out.push(&[handshake.concat(), messages.concat()].concat().into());
        false
    }
}

/// The pieces wait until the handshake is acknowledged, because the window is one segment. So the flight that is
/// measured begins at a byte which is no multiple of the MSS.
#[test]
fn a_window_after_acknowledged_data_is_exact_where_it_ends_the_flight() {
    let peer = || Box::<Peer>::default() as Box<dyn Speaker>;
    let server = EngineServer::new(config(Profile::Linux, 1), peer);
    let mut world = World::new(PATH, 3).with("192.0.2.1:6881", server);
    let hash: String = INFO_HASH.iter().map(|byte| format!("{byte:02x}")).collect();
    let target = Target::parse(&format!("bittorrent://192.0.2.1:6881/{hash}")).expect("a target");
    let mut session = Session::new(target, settings(&TESTS, 2));
    world.run(&mut session, &[]);
    let outcome = session.outcome();
    let after = outcome.dialogue.expect("another than HTTP").window_after;
    assert_eq!(after, Some(WindowAfter { acked_segments: 1, packets: 1, exact: true }));
    let window = outcome.verdict.and_then(|verdict| verdict.initial_window).expect("seen");
    assert_eq!((window.packets, window.exact), (1, false));
}
