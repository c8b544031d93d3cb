//! Invariants of every discipline under arbitrary arrivals and departures.

use crate::harness::{Harness, TestPacket};
use proptest::prelude::*;
use std::collections::BTreeMap;
use windlass_aqm::*;
use windlass_base::{BitRate, Ecn, Span};

const LIMIT_PACKETS: u32 = 30;
const LIMIT_BYTES: u64 = 20_000;

#[derive(Copy, Clone, Debug)]
enum Event {
    Wait(Span),
    Arrive { flow: u64, size: u32, ecn: Ecn },
    Leave,
}

fn event() -> impl Strategy<Value = Event> {
    let gap = prop_oneof![0u64..3_000_000, 0u64..200_000_000];
    prop_oneof![
        3 => gap.prop_map(|ns| Event::Wait(Span::from_nanos(ns))),
        6 => (0u64..5, 1u32..1600, 0u8..4).prop_map(|(flow, size, ecn)| {
            Event::Arrive { flow, size, ecn: Ecn::from_bits(ecn) }
        }),
        4 => Just(Event::Leave),
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![Just(Limit::Packets(LIMIT_PACKETS)), Just(Limit::Bytes(LIMIT_BYTES))]
}

fn red() -> impl Strategy<Value = Config> {
    let flags = any::<[bool; 7]>();
    (limit(), flags, 0.001..=1.0f64, 0.001..=1.0f64).prop_map(|(limit, on, weight, max_p)| {
        let unit = if on[0] { Unit::Bytes } else { Unit::Packets };
        let min = if on[0] { 2_000.0 } else { 4.0 };
        Config::Red(RedConfig {
            limit,
            unit,
            min,
            max: None,
            weight: Some(weight),
            max_p,
            action: if on[1] { EarlyAction::Mark } else { EarlyAction::Drop },
            spacing: if on[2] { Spacing::Wait } else { Spacing::NoWait },
            gentle: on[3],
            above_max: if on[4] { AboveMax::MarkEct } else { AboveMax::DropAll },
            adaptation: on[5].then(|| adaptation(on[6])),
            ..RedConfig::default()
        })
    })
}

fn adaptation(floyd: bool) -> Adaptation {
    match floyd {
        true => Adaptation::Floyd(AdaptiveConfig::default()),
        false => Adaptation::Feng(SelfConfiguringConfig::default()),
    }
}

fn sred() -> impl Strategy<Value = Config> {
    let parts = (limit(), 1u32..20, 0.01..=1.0f64, any::<[bool; 2]>());
    parts.prop_map(|(limit, zombies, max_p, [full, mark])| {
        // So that the few flows of a short run see drops.
        let (overwrite, most_flows) = (1.0, 1.0);
        let action = if mark { EarlyAction::Mark } else { EarlyAction::Drop };
        Config::Sred(SredConfig { limit, zombies, overwrite, max_p, most_flows, full, action })
    })
}

fn config() -> impl Strategy<Value = Config> {
    let params = any::<bool>().prop_map(|ecn| CoDelParams { ecn, ..CoDelParams::default() });
    let codel = (limit(), params.clone())
        .prop_map(|(limit, params)| Config::CoDel(CoDelConfig { limit, params }));
    let fq = (params, 1u32..6, 1u32..3000, 1u32..20).prop_map(
        |(codel, flows, quantum_bytes, drop_batch)| {
            Config::FqCoDel(FqCoDelConfig {
                limit_packets: LIMIT_PACKETS,
                limit_bytes: LIMIT_BYTES,
                flows,
                quantum_bytes,
                drop_batch,
                codel,
                ..FqCoDelConfig::default()
            })
        },
    );
    let pie = (limit(), any::<bool>(), any::<bool>()).prop_map(|(limit, mark, derandomize)| {
        let mark_up_to = mark.then_some(0.1);
        // Strong gains, so that a short run sees drops.
        let (alpha, beta) = (50.0, 500.0);
        let max_burst = Span::from_millis(15);
        let pie = PieConfig {
            limit,
            mark_up_to,
            derandomize,
            alpha,
            beta,
            max_burst,
            ..Default::default()
        };
        Config::Pie(pie)
    });
    let drop_tail = limit().prop_map(|limit| Config::DropTail(DropTailConfig { limit }));
    let tc_red = (any::<bool>(), 0.001..=1.0f64, 2u32..40).prop_map(|(ecn, probability, burst)| {
        Config::TcRed(TcRedConfig {
            limit_bytes: LIMIT_BYTES,
            min_bytes: 2_000,
            max_bytes: 8_000,
            burst,
            probability,
            ecn,
            ..TcRedConfig::default()
        })
    });
    let fixed = (limit(), 0.01..=1.0f64, any::<bool>()).prop_map(|(limit, probability, mark)| {
        let action = if mark { EarlyAction::Mark } else { EarlyAction::Drop };
        Config::FixedProbability(FixedProbabilityConfig { limit, probability, action })
    });
    let dual_pi2 = (limit(), any::<[bool; 4]>()).prop_map(|(limit, on)| {
        Config::DualPi2(DualPi2Config {
            limit,
            // Strong gains, so that a short run sees drops and overloads.
            alpha: 5.0,
            beta: 50.0,
            mtu_bytes: 500,
            step: if on[0] { Step::Packets(3) } else { Step::Time(Span::from_millis(1)) },
            low_latency: if on[1] { LowLatency::AnyEct } else { LowLatency::Ect1 },
            overload: if on[2] { Overload::Drop } else { Overload::Overflow },
            decides: if on[3] { Decides::Enqueue } else { Decides::Dequeue },
            ..DualPi2Config::default()
        })
    });
    let custom = red().prop_map(|config| Config::custom(Outside(config)));
    prop_oneof![
        1 => drop_tail, 4 => red(), 2 => sred(), 1 => fixed, 2 => codel, 3 => fq, 2 => pie, 3 => dual_pi2, 3 => tc_red,
        2 => custom
    ]
}

/// RED by the way that disciplines of other crates go.
#[derive(Debug)]
struct Outside(Config);

impl QueueFactory for Outside {
    fn build(&self, link: Option<BitRate>) -> Result<CustomQueue, ConfigError> {
        Ok(CustomQueue::new(self.0.build::<Ticket>(link)?))
    }
}

/// Accounts for each packet: offered to the queue, waiting in it, returned by it or dropped.
struct Ledger {
    config: Config,
    harness: Harness<Discipline<TestPacket>>,
    waiting: BTreeMap<u64, TestPacket>,
    last_left: BTreeMap<u64, u64>,
    marked: u64,
    next_id: u64,
    lost_seen: usize,
}

impl Ledger {
    fn new(config: Config, seed: u64) -> Ledger {
        let queue = config.build(BitRate::from_bits_per_sec(10_000_000)).expect("valid");
        Ledger {
            config,
            harness: Harness::new(queue, seed),
            waiting: BTreeMap::new(),
            last_left: BTreeMap::new(),
            marked: 0,
            next_id: 0,
            lost_seen: 0,
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Wait(span) => self.harness.wait(span),
            Event::Arrive { flow, size, ecn } => {
                let packet = TestPacket { flow, id: self.next_id, size, ecn };
                self.next_id += 1;
                self.waiting.insert(packet.id, packet);
                self.harness.arrive(packet);
            }
            Event::Leave => {
                self.leave();
            }
        }
        self.account_lost();
        self.check_counters();
    }

    fn leave(&mut self) -> bool {
        let Some(left) = self.harness.leave() else { return false };
        let came = self.waiting.remove(&left.id).expect("left once, and had come");
        assert_eq!((left.flow, left.size), (came.flow, came.size));
        self.check_codepoint(came.ecn, left.ecn);
        let lane = self.lane(&came);
        let last = self.last_left.insert(lane, left.id);
        assert!(last.is_none_or(|last| last < left.id), "order within a lane");
        true
    }

    /// Packets of the same number leave in the order of their arrival.
    fn lane(&self, packet: &TestPacket) -> u64 {
        match &self.config {
            Config::FqCoDel(_) => packet.flow,
            Config::DualPi2(config) => u64::from(match config.low_latency {
                LowLatency::Ect1 => matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce),
                LowLatency::AnyEct => packet.ecn.is_capable(),
            }),
            _ => 0,
        }
    }

    fn check_codepoint(&mut self, came: Ecn, left: Ecn) {
        if left != came {
            assert!(came.is_capable() && came != Ecn::Ce && left == Ecn::Ce, "{came:?} {left:?}");
            self.marked += 1;
        }
    }

    fn account_lost(&mut self) {
        for index in self.lost_seen..self.harness.lost.len() {
            let (lost, _) = self.harness.lost[index];
            let came = self.waiting.remove(&lost.id).expect("lost once, and had come");
            self.check_codepoint(came.ecn, lost.ecn);
        }
        self.lost_seen = self.harness.lost.len();
    }

    fn check_counters(&self) {
        let queue = &self.harness.queue;
        assert_eq!(queue.len_packets(), self.waiting.len());
        let bytes: u64 = self.waiting.values().map(|p| u64::from(p.size)).sum();
        assert_eq!(queue.len_bytes(), bytes);
        assert!(is_within_limit(&self.config, queue.len_packets(), bytes));
        let stats = queue.stats();
        assert_eq!(stats.offered, self.next_id);
        assert_eq!(stats.dropped(), self.lost_seen as u64);
        assert_eq!(stats.offered, stats.dequeued + stats.dropped() + queue.len_packets() as u64);
    }
}

fn is_within_limit(config: &Config, packets: usize, bytes: u64) -> bool {
    let few = packets <= LIMIT_PACKETS as usize;
    let limit = match config {
        Config::DropTail(config) => config.limit,
        Config::Red(config) => config.limit,
        Config::CoDel(config) => config.limit,
        Config::Pie(config) => config.limit,
        Config::DualPi2(config) => config.limit,
        Config::FixedProbability(config) => config.limit,
        Config::Sred(config) => config.limit,
        Config::TcRed(config) => Limit::Bytes(config.limit_bytes),
        Config::FqCoDel(_) => return few && bytes <= LIMIT_BYTES,
        Config::Custom(_) => return few || bytes <= LIMIT_BYTES,
    };
    match limit {
        Limit::Packets(_) => few,
        Limit::Bytes(most) => bytes <= most,
    }
}

/// Packets that each find the link free: through one queue by `pass`, through its twin by `enqueue`
/// and `dequeue`.
fn pass_and_its_parts(config: &Config, seed: u64, arrivals: &[(u64, u32, u8)]) {
    let rate = BitRate::from_bits_per_sec(10_000_000);
    let harness = || Harness::new(config.build(rate).expect("valid"), seed);
    let (mut passing, mut stepping) = (harness(), harness());
    for (id, &(gap_ns, size, ecn)) in (0..).zip(arrivals) {
        let packet = TestPacket { flow: 0, id, size, ecn: Ecn::from_bits(ecn) };
        passing.wait(Span::from_nanos(gap_ns));
        stepping.wait(Span::from_nanos(gap_ns));
        stepping.arrive(packet);
        assert_eq!(passing.pass(packet), stepping.leave());
        // The link falls idle behind it.
        assert_eq!((passing.leave(), stepping.leave()), (None, None));
        assert_eq!(passing.lost, stepping.lost);
        assert_eq!(passing.queue.stats(), stepping.queue.stats());
        assert_eq!(passing.queue.average_packets(), stepping.queue.average_packets());
    }
}

proptest! {
    #[test]
    fn every_packet_comes_out_once_in_order_and_properly_marked(
        config in config(), seed: u64, events in prop::collection::vec(event(), 1..400),
    ) {
        let mut ledger = Ledger::new(config, seed);
        for event in events {
            ledger.step(event);
        }
        while ledger.leave() {}
        ledger.account_lost();
        prop_assert!(ledger.waiting.is_empty() && ledger.harness.queue.is_empty());
        prop_assert_eq!(ledger.marked, ledger.harness.queue.stats().marked);
    }

    #[test]
    fn the_same_seed_gives_the_same_run(
        config in config(), seed: u64, events in prop::collection::vec(event(), 1..200),
    ) {
        let run = || {
            let mut ledger = Ledger::new(config.clone(), seed);
            events.iter().for_each(|&event| ledger.step(event));
            (*ledger.harness.queue.stats(), ledger.harness.lost)
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn to_pass_is_to_arrive_and_to_leave_at_once(
        config in config(), seed: u64,
        arrivals in prop::collection::vec((0u64..100_000_000, 1u32..30_000, 0u8..4), 1..200),
    ) {
        pass_and_its_parts(&config, seed, &arrivals);
    }
}
