//! The queue alone: packets in, packets out, at times of the test's choosing.

use super::*;
use windlass_base::Ecn;

/// A packet of 1000 bytes.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Plain {
    ecn: Ecn,
}

impl Packet for Plain {
    fn wire_bytes(&self) -> u32 {
        1000
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow_hash(&self) -> u64 {
        0
    }
}

/// A queue for two packets, full.
fn full(blue: Blue) -> BlueQueue<Plain> {
    let mut queue = BlueQueue::new(Blue { limit: Limit::Packets(2), ..blue });
    assert_eq!(arrive(&mut queue, 0, Ecn::Ect0), None);
    assert_eq!(arrive(&mut queue, 0, Ecn::Ect0), None);
    queue
}

/// Why a packet is lost that arrives at `ms`; `None` for one that is kept.
fn arrive(queue: &mut BlueQueue<Plain>, ms: u64, ecn: Ecn) -> Option<DropReason> {
    let mut why = None;
    let lost = &mut |_, reason| why = Some(reason);
    queue.enqueue(at(ms), Plain { ecn }, &mut Rng::new(ms), lost);
    why
}

fn leave(queue: &mut BlueQueue<Plain>, ms: u64) -> Option<Plain> {
    queue.dequeue(at(ms), &mut Rng::new(ms), &mut |_, _| panic!("BLUE drops on arrival only"))
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

#[test]
fn overflow_raises_the_probability_once_in_a_freeze_time() {
    let mut queue = full(Blue::default());
    for ms in [1, 50, 99, 101, 150] {
        assert_eq!(arrive(&mut queue, ms, Ecn::Ect0), Some(DropReason::Full));
    }
    assert_eq!(queue.probability(), 0.04);
}

#[test]
fn an_idle_link_lowers_it_and_never_below_zero() {
    let mut queue = full(Blue { increment: 0.003, ..Blue::default() });
    arrive(&mut queue, 0, Ecn::Ect0);
    assert!(leave(&mut queue, 10).is_some() && leave(&mut queue, 20).is_some());
    assert_eq!(leave(&mut queue, 30), None);
    assert_eq!(queue.probability(), 0.003, "still frozen");
    assert_eq!(leave(&mut queue, 200), None);
    assert!((queue.probability() - 0.001).abs() < 1e-12);
    assert_eq!(leave(&mut queue, 400), None);
    assert_eq!(queue.probability(), 0.0);
}

#[test]
fn at_probability_one_ect_is_marked_and_the_rest_dropped() {
    let mut queue = full(Blue { increment: 1.0, ..Blue::default() });
    arrive(&mut queue, 0, Ecn::Ect0);
    leave(&mut queue, 1);
    leave(&mut queue, 2);
    assert_eq!(arrive(&mut queue, 3, Ecn::NotEct), Some(DropReason::Early));
    assert_eq!(arrive(&mut queue, 4, Ecn::Ect0), None);
    assert_eq!(leave(&mut queue, 5), Some(Plain { ecn: Ecn::Ce }));
    let stats = queue.stats();
    assert_eq!((stats.marked, stats.dropped_early, stats.dropped_full), (1, 1, 1));
    assert_eq!(stats.offered, stats.dequeued + stats.dropped());
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let blue = Blue { decrement: 0.0, ..Blue::default() };
    assert_eq!(blue.validate(), Err(ConfigError::Probability("decrement")));
    let blue = Blue { limit: Limit::Packets(0), ..Blue::default() };
    assert_eq!(blue.validate(), Err(ConfigError::ZeroLimit));
}
