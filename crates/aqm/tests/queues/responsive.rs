use crate::harness::{Harness, TestPacket};
use windlass_aqm::{Config, Discipline, Queue};
use windlass_base::{BitRate, Ecn, Span};

/// Senders that back off, taken together: their rate grows by one packet a round trip for each of
/// them and round trip, and every mark or loss halves the share of one.
pub(crate) struct Senders {
    pub(crate) flows: f64,
    pub(crate) rtt_s: f64,
    pub(crate) ecn: Ecn,
    packets_per_sec: f64,
}

/// A 10 Mbit/s link with packets of 500 bytes (0.4 ms each), and what was seen of it.
pub(crate) struct Run {
    pub(crate) harness: Harness<Discipline<TestPacket>>,
    pub(crate) senders: Senders,
    pub(crate) delays_ms: Vec<f64>,
    pub(crate) averages: Vec<f64>,
    credit: f64,
    next_id: u64,
    signals_seen: u64,
    arrivals_ns: std::collections::VecDeque<(u64, u64)>,
}

const SLOT: Span = Span::from_micros(400);

impl Run {
    pub(crate) fn new(config: Config, flows: f64, ecn: Ecn) -> Run {
        let queue = config.build(BitRate::from_bits_per_sec(10_000_000)).expect("valid");
        Run {
            harness: Harness::new(queue, 11),
            senders: Senders { flows, rtt_s: 0.1, ecn, packets_per_sec: 2000.0 },
            delays_ms: Vec::new(),
            averages: Vec::new(),
            credit: 0.0,
            next_id: 0,
            signals_seen: 0,
            arrivals_ns: std::collections::VecDeque::new(),
        }
    }

    /// Runs on for so many seconds; statistics are those of this stretch only.
    pub(crate) fn run(&mut self, seconds: f64) {
        self.delays_ms.clear();
        self.averages.clear();
        for _ in 0..(seconds / SLOT.as_secs_f64()) as u64 {
            self.harness.wait(SLOT);
            self.send();
            self.back_off();
            self.deliver();
        }
    }

    fn send(&mut self) {
        let slot = SLOT.as_secs_f64();
        let senders = &mut self.senders;
        senders.packets_per_sec += senders.flows / (senders.rtt_s * senders.rtt_s) * slot;
        self.credit += senders.packets_per_sec * slot;
        while self.credit >= 1.0 {
            self.credit -= 1.0;
            self.arrivals_ns.push_back((self.next_id, self.harness.now.as_nanos()));
            let packet = TestPacket { size: 500, ..TestPacket::new(self.next_id, senders.ecn) };
            self.harness.arrive(packet);
            self.next_id += 1;
        }
    }

    fn back_off(&mut self) {
        let stats = self.harness.queue.stats();
        let signals = stats.marked + stats.dropped();
        for _ in self.signals_seen..signals {
            self.senders.packets_per_sec *= 1.0 - 0.5 / self.senders.flows;
        }
        self.signals_seen = signals;
    }

    fn deliver(&mut self) {
        let left = self.harness.leave();
        self.averages.extend(self.harness.queue.average_packets());
        let Some(packet) = left else { return };
        while let Some((id, at)) = self.arrivals_ns.pop_front() {
            if id == packet.id {
                self.delays_ms.push((self.harness.now.as_nanos() - at) as f64 / 1e6);
                break;
            }
        }
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
