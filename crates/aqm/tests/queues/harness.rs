use windlass_aqm::{DropReason, Packet, Queue};
use windlass_base::{Ecn, Rng, Span, Time};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestPacket {
    pub(crate) flow: u64,
    pub(crate) id: u64,
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
}

impl TestPacket {
    /// 1000 bytes of flow 0.
    pub(crate) fn new(id: u64, ecn: Ecn) -> TestPacket {
        TestPacket { flow: 0, id, size: 1000, ecn }
    }
}

impl Packet for TestPacket {
    fn wire_bytes(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow_hash(&self) -> u64 {
        self.flow
    }
}

/// A queue, its clock, its random stream, and what it lost.
pub(crate) struct Harness<Q> {
    pub(crate) queue: Q,
    pub(crate) now: Time,
    pub(crate) rng: Rng,
    pub(crate) lost: Vec<(TestPacket, DropReason)>,
}

impl<Q: Queue<TestPacket>> Harness<Q> {
    pub(crate) fn new(queue: Q, seed: u64) -> Harness<Q> {
        Harness { queue, now: Time::ZERO, rng: Rng::new(seed), lost: Vec::new() }
    }

    pub(crate) fn wait(&mut self, span: Span) {
        self.now += span;
    }

    pub(crate) fn arrive(&mut self, packet: TestPacket) {
        let lost = &mut self.lost;
        self.queue.enqueue(self.now, packet, &mut self.rng, &mut |p, why| lost.push((p, why)));
    }

    pub(crate) fn leave(&mut self) -> Option<TestPacket> {
        let lost = &mut self.lost;
        self.queue.dequeue(self.now, &mut self.rng, &mut |p, why| lost.push((p, why)))
    }

    pub(crate) fn pass(&mut self, packet: TestPacket) -> Option<TestPacket> {
        let lost = &mut self.lost;
        self.queue.pass(self.now, packet, &mut self.rng, &mut |p, why| lost.push((p, why)))
    }

    /// Offers a packet now. Returns the reason of the first drop that follows; `None` if nothing is
    /// dropped.
    pub(crate) fn fate(&mut self, packet: TestPacket) -> Option<DropReason> {
        let before = self.lost.len();
        self.arrive(packet);
        self.lost.get(before).map(|(_, why)| *why)
    }
}
