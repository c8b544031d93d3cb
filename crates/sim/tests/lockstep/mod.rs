//! Closed loops of Prague on drawn paths, and a record of each ACK.

use crate::common::*;
use std::fmt;
use std::sync::{Arc, Mutex};
use windlass_aqm::{AboveMax, Config as Queue, DualPi2Config, Limit, RedConfig};
use windlass_base::{Rng, Time};
use windlass_sim::model::{Loss, NodeId, TcpApp};
use windlass_sim::{Scenario, run};
use windlass_tcp::Profile;
use windlass_tcp::cc::*;
use windlass_tcp::config::{AckPolicy, EcnEcho};

/// Payload bytes of a segment.
pub(crate) const MSS: u32 = 1460;

/// An ACK: the counters that the reference class takes, and the answer. Counts are packets since the beginning.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) now_us: u64,
    /// The RTT sample; 0 without one.
    rtt_us: u64,
    received: u64,
    marked: u64,
    lost: u64,
    sent: u64,
    /// Before this ACK the window was in slow start.
    is_slow_start: bool,
    window_before: f64,
    /// cwnd in bytes after it.
    pub(crate) window: f64,
    pub(crate) alpha: f64,
    /// A loss turned out to be none.
    is_undone: bool,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Row { now_us, rtt_us, received, marked, lost, sent, .. } = self;
        let (slow, undone) = (u8::from(self.is_slow_start), u8::from(self.is_undone));
        let Row { window_before, window, alpha, .. } = self;
        write!(f, "{now_us} {rtt_us} {received} {marked} {lost} {sent} {slow} ")?;
        write!(f, "{window_before:.3} {window:.3} {alpha:.9} {undone}")
    }
}

/// A Prague factory whose controllers write down their ACKs.
#[derive(Clone, Debug, Default)]
struct Recorded {
    prague: Prague,
    rows: Arc<Mutex<Vec<Row>>>,
}

impl ControllerFactory for Recorded {
    fn name(&self) -> &'static str {
        "recorded-prague"
    }

    fn paces(&self) -> bool {
        true
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let prague = self.prague.build(params);
        Box::new(Recording {
            rows: self.rows.clone(),
            mss: u64::from(params.mss),
            last: Row { is_slow_start: true, window_before: prague.cwnd(), ..Row::default() },
            marked: 0,
            lost: 0,
            lost_before: 0,
            prague,
        })
    }
}

#[derive(Debug)]
struct Recording {
    prague: Box<dyn Controller>,
    rows: Arc<Mutex<Vec<Row>>>,
    mss: u64,
    /// The last row, with the state before the next ACK.
    last: Row,
    /// Bytes marked and lost so far.
    marked: u64,
    lost: u64,
    /// Bytes lost before the last loss that reduced the window.
    lost_before: u64,
}

impl Recording {
    fn note_loss(&mut self, bytes: u64) {
        self.lost += bytes;
    }
}

impl Controller for Recording {
    fn cwnd(&self) -> f64 {
        self.prague.cwnd()
    }

    fn flight_limit(&self) -> u64 {
        self.prague.flight_limit()
    }

    fn ssthresh(&self) -> u64 {
        self.prague.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.prague.on_ack(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let before = self.prague.cwnd();
        self.prague.on_congestion(congestion);
        if congestion.cause == CongestionCause::Timeout {
            self.last.is_slow_start = true;
            self.last.window_before = self.prague.cwnd();
        } else if self.prague.cwnd() < before {
            self.lost_before = self.lost - self.mss.min(self.lost);
        }
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.prague.on_idle_restart(restart);
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.mss = u64::from(mss);
        self.prague.on_mss_change(mss);
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.prague.pacing_rate()
    }

    fn send_quantum(&self) -> Option<u64> {
        self.prague.send_quantum()
    }

    fn reduces_by_itself(&self) -> bool {
        self.prague.reduces_by_itself()
    }

    fn ecn_codepoint(&self) -> windlass_base::Ecn {
        self.prague.ecn_codepoint()
    }

    fn counts_marks(&self) -> bool {
        true
    }

    fn on_marks(&mut self, marks: &Marks) {
        self.marked += marks.marked;
        self.prague.on_marks(marks);
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.prague.on_sent(sent);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.note_loss(lost.bytes);
        self.prague.on_lost(lost);
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        self.prague.on_delivery(delivery);
        let packets = |bytes: u64| bytes / self.mss;
        let known = delivery.delivered_total + self.lost;
        let row = Row {
            now_us: delivery.now.saturating_since(Time::ZERO).as_nanos() / 1000,
            rtt_us: delivery.rtt.map_or(0, |rtt| rtt.as_nanos() / 1000),
            received: packets(delivery.delivered_total),
            marked: packets(self.marked),
            lost: packets(self.lost),
            sent: packets(known + delivery.in_flight),
            window: self.prague.cwnd(),
            alpha: self.prague.trace_values()[0],
            ..self.last
        };
        self.rows.lock().expect("one thread").push(row);
        self.last.window_before = row.window;
        self.last.is_undone = false;
        // Slow start ends once; the window may fall below ssthresh later.
        self.last.is_slow_start &= row.window < self.prague.ssthresh() as f64 - 1.0;
    }

    fn on_repair_end(&mut self, end: RepairEnd) {
        let before = self.prague.cwnd();
        self.prague.on_repair_end(end);
        if end == RepairEnd::Needless && self.prague.cwnd() > before {
            self.last.is_undone = true;
            self.lost = self.lost_before;
        }
    }

    fn trace_names(&self) -> &'static [&'static str] {
        self.prague.trace_names()
    }

    fn trace_values(&self) -> [f64; TRACE_VALUES] {
        self.prague.trace_values()
    }
}

/// A path of one flow, drawn from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    seed: u64,
    mbit_per_s: f64,
    rtt_ms: f64,
    queue: Queue,
    loss: Loss,
    /// The share of the link that UDP packets take.
    udp_share: f64,
    acks: AckPolicy,
}

/// A number from `least` to `most`, whose logarithm is uniform.
fn log_uniform(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least * (most / least).powf(rng.below(1_000_001) as f64 / 1e6)
}

impl Path {
    pub(crate) fn draw(seed: u64) -> Path {
        let mut rng = Rng::new(seed);
        let mbit_per_s = log_uniform(&mut rng, 3.0, 150.0);
        let rtt_ms = log_uniform(&mut rng, 3.0, 80.0);
        let queue = match rng.below(3) {
            0 => step(mbit_per_s),
            _ => Queue::DualPi2(DualPi2Config::default()),
        };
        let loss = match rng.below(3) {
            0 => Loss::None,
            _ => Loss::Random { probability: log_uniform(&mut rng, 1e-5, 2e-3) },
        };
        let udp_share = [0.0, 0.2, 0.5][rng.below(3) as usize];
        let acks = if rng.chance(0.5) {
            AckPolicy::Immediate
        } else {
            Profile::Linux.config(MSS as u16, by_name("reno").expect("known")).acks.policy
        };
        Path { seed, mbit_per_s, rtt_ms, queue, loss, udp_share, acks }
    }

    fn scenario(&self, congestion: Recorded) -> Scenario {
        let mut there = channel(mbit(self.mbit_per_s), ms(self.rtt_ms / 2.0), self.queue.clone());
        there.loss = self.loss.clone();
        let back = channel(None, ms(self.rtt_ms / 2.0), drop_tail(10_000));
        // 280 virtual RTTs, some milliseconds of queue included, and slow start.
        let round_ms = (self.rtt_ms + 3.0).max(27.0);
        let mut scenario = pair(there, back, ms(280.0 * round_ms + 1000.0));
        let (from, to): (NodeId, NodeId) = (0, 1);
        let mut flow = modern_flow(from, to, TcpApp::Bulk);
        // Without the option of timestamps, a segment has as many bytes as the MSS option says.
        flow.sender = Profile::Linux.config(MSS as u16, Arc::new(congestion));
        (flow.sender.buffers.send, flow.sender.buffers.receive) = (32 << 20, 32 << 20);
        flow.sender.extensions.timestamps = false;
        flow.sender.ecn.enabled = true;
        flow.receiver = flow.sender.clone();
        flow.receiver.ecn.echo = EcnEcho::Dctcp;
        flow.receiver.acks.policy = self.acks;
        scenario.flows.push(flow);
        if self.udp_share > 0.0 {
            scenario.udp.push(udp(from, to, 1000, mbit(self.mbit_per_s * self.udp_share)));
        }
        scenario
    }
}

/// Marks every packet that finds more than a millisecond's packets, but at least three.
fn step(mbit_per_s: f64) -> Queue {
    let threshold = (mbit_per_s / 8.0 * 1000.0 / 1500.0).max(3.0);
    Queue::Red(RedConfig {
        limit: Limit::Packets(2000),
        min: threshold - 1.0,
        max: Some(threshold),
        weight: Some(1.0),
        gentle: false,
        above_max: AboveMax::MarkEct,
        ..RedConfig::default()
    })
}

/// The ACKs of a closed loop over the path.
pub(crate) fn rows(path: &Path, prague: Prague) -> Vec<Row> {
    let recorded = Recorded { prague, ..Recorded::default() };
    run(&path.scenario(recorded.clone()), path.seed, &mut ()).expect("a sound scenario");
    let mut rows = recorded.rows.lock().expect("one thread");
    std::mem::take(&mut *rows)
}
