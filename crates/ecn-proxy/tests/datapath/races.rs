//! Packets of one connection on two CPUs at once, as with several receive queues.

use crate::frames::{ACK, ECE, RST, SYN_ACK, Shape, Tcp, packet, program, syn};
use crate::skip;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use windlass_ecn_proxy::datapath::{Datapath, Settings};

/// Connections, one after the other.
const CONNECTIONS: usize = 3000;

/// Two threads that go on together. A barrier that sleeps would wake them further apart than what
/// they do takes.
#[derive(Default)]
struct Pair(AtomicUsize);

impl Pair {
    /// Waits for the other thread, the `time`th time, from 1.
    fn meet(&self, time: usize) {
        self.0.fetch_add(1, Ordering::SeqCst);
        while self.0.load(Ordering::SeqCst) < 2 * time {
            spin_loop();
        }
    }
}

/// Opens one connection after the other from the served host. The packet that proves each one, and
/// `other`, go through the programs at the same time. Returns what `other` became.
fn meet(datapath: &Datapath, (from_host, codepoint, other): (bool, u8, &Tcp)) -> Vec<Vec<u8>> {
    let shape = Shape::plain(false);
    let pass = |from_host: bool, frame: &[u8]| datapath.run_frame(program(from_host), frame);
    let [opens, proves, ends] =
        [syn(), packet(1001, 5001, ACK, 0), packet(1001, 5101, RST | ACK, 0)]
            .map(|tcp| shape.frame(true, 0, &tcp));
    let agrees = Tcp { seq: 5000, ack: 1001, flags: SYN_ACK | ECE, ..syn() };
    let agrees = shape.frame(false, 0, &agrees);
    let other = shape.frame(from_host, codepoint, other);
    let pair = Pair::default();
    // A panic would leave the other thread waiting, so nothing is judged before both have ended.
    let (own, others) = thread::scope(|scope| {
        let others = scope.spawn(|| {
            let pass_other = |n: usize| {
                pair.meet(2 * n + 1);
                // Earlier and later than the proof.
                (0..n % 100 * 4).for_each(|_| spin_loop());
                let out = pass(from_host, &other);
                pair.meet(2 * n + 2);
                out
            };
            (0..CONNECTIONS).map(pass_other).collect::<Vec<_>>()
        });
        let open_and_end = |n: usize| {
            let opened = [pass(true, &opens), pass(false, &agrees)];
            pair.meet(2 * n + 1);
            (0..200).for_each(|_| spin_loop());
            let proven = pass(true, &proves);
            pair.meet(2 * n + 2);
            opened.into_iter().chain([proven, pass(true, &ends)]).collect::<Vec<_>>()
        };
        let own: Vec<_> = (0..CONNECTIONS).map(open_and_end).collect();
        (own, others.join().expect("nothing in it panics"))
    });
    own.into_iter().flatten().for_each(|passed| drop(passed.expect("runs")));
    others.into_iter().map(|passed| passed.expect("runs").1).collect()
}

#[test]
fn data_that_meet_the_proof_of_a_connection_keep_no_codepoint() {
    if skip() {
        return;
    }
    let datapath = Datapath::load(&Settings::default()).unwrap_or_else(|error| panic!("{error}"));
    let passed = meet(&datapath, (false, 2, &packet(5001, 1001, ACK, 100)));
    let kept = passed.iter().filter(|frame| Shape::plain(false).codepoint(frame) != 0).count();
    assert_eq!(kept, 0, "of {CONNECTIONS}");
}

#[test]
fn two_proofs_of_a_connection_at_once_are_one_connection() {
    if skip() {
        return;
    }
    let datapath = Datapath::load(&Settings::default()).unwrap_or_else(|error| panic!("{error}"));
    meet(&datapath, (true, 0, &packet(1001, 5001, ACK, 100)));
    assert_eq!(datapath.counters().expect("readable").flows_added, CONNECTIONS as u64);
    assert_eq!(datapath.flow_count().expect("readable"), 0);
}
