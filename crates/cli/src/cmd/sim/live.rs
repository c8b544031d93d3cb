//! `windlass sim run --live`: windows, queues and rates of a run while it is simulated.

use crate::failure::Failure;
use crate::live::{Chart, KEPT, Live, Panels, Row, Screen, Series, Span as Shown, Table, Tone};
use crate::scaled::{self, bits};
use std::thread;
use std::time::{Duration, Instant};
use windlass_base::{Span, Time};
use windlass_sim::model::LinkDirection;
use windlass_sim::{Recorder, Scenario};
use windlass_tcp::cc::{CongestionCause, NewEcn};
use windlass_tcp::{Connection, TraceEvent};

/// With --speed, the real time between two samples.
const INTERVAL_S: f64 = 0.25;

/// A flow at the end of an interval of the run.
#[derive(Clone, Debug, Default)]
struct FlowState {
    mss: u32,
    cwnd_bytes: f64,
    srtt: Option<Span>,
    slope: Option<f64>,
    /// Of the present connection.
    acked_bytes: u64,
    /// On all connections since the beginning of the interval.
    newly_acked_bytes: u64,
    mark_cuts: u64,
    loss_cuts: u64,
    timeouts: u64,
}

/// An interval of the run.
pub(super) struct Sample {
    end: Time,
    span: Span,
    flows: Vec<FlowState>,
    /// The mean over time of packets in the bottleneck's queue.
    queue: f64,
    over: bool,
}

/// Samples a run, and slows it down if wanted.
pub(super) struct Sampling<F> {
    show: F,
    bottleneck: LinkDirection,
    flows: Vec<FlowState>,
    queue_packets: usize,
    queue_since: Time,
    /// Packets times seconds since the last sample.
    queue_area: f64,
    start: Instant,
    /// Simulated seconds a second; `None`: as fast as it can.
    speed: Option<f64>,
    span: Span,
    next: Time,
    /// The time of the latest event.
    latest: Time,
    end: Time,
}

/// Begins the view of a run.
///
/// # Errors
///
/// There is no terminal.
pub(super) fn start(scenario: &Scenario, seed: u64) -> Result<Live<Sample>, Failure> {
    Live::start(RunPanels::new(scenario, seed))
}

impl<F: FnMut(Sample)> Sampling<F> {
    /// Passes samples of a run to `show`.
    pub(super) fn new(scenario: &Scenario, speed: Option<f64>, show: F) -> Sampling<F> {
        // As many samples as a chart keeps, so that it has the whole run, unless that is too slow.
        let whole_run = scenario.duration.as_secs_f64() / KEPT as f64;
        let seconds = speed.map_or(whole_run, |speed| whole_run.min(speed * INTERVAL_S));
        let span = Span::from_nanos((seconds * 1e9) as u64).max(Span::from_nanos(1));
        Sampling {
            show,
            bottleneck: scenario.bottleneck,
            flows: vec![FlowState::default(); scenario.flows.len()],
            queue_packets: 0,
            queue_since: Time::ZERO,
            queue_area: 0.0,
            start: Instant::now(),
            speed,
            span,
            next: Time::ZERO + span,
            latest: Time::ZERO,
            end: Time::ZERO + scenario.duration,
        }
    }

    /// Takes the samples up to the end of the run. With `until_done` that is the latest event.
    pub(super) fn finish(mut self, until_done: bool) {
        if !until_done {
            self.advance(self.end);
        }
        let end = if until_done { self.latest } else { self.end };
        self.sample(end, true);
    }

    /// Takes the samples that are due before the state changes at `now`.
    fn advance(&mut self, now: Time) {
        while self.next <= now {
            self.sample(self.next, false);
            self.next += self.span;
        }
        self.latest = now;
    }

    fn sample(&mut self, end: Time, over: bool) {
        self.count_queue(end);
        let queue = self.queue_area / self.span.as_secs_f64();
        self.queue_area = 0.0;
        let sample = Sample { end, span: self.span, flows: self.flows.clone(), queue, over };
        (self.show)(sample);
        self.flows.iter_mut().for_each(|flow| flow.newly_acked_bytes = 0);
        if let Some(speed) = self.speed.filter(|_| !over) {
            let due = Duration::try_from_secs_f64(end.as_secs_f64() / speed);
            let due = due.unwrap_or(Duration::MAX);
            thread::sleep(due.saturating_sub(self.start.elapsed()));
        }
    }

    fn count_queue(&mut self, now: Time) {
        let span = now.saturating_since(self.queue_since);
        self.queue_area += self.queue_packets as f64 * span.as_secs_f64();
        self.queue_since = self.queue_since.max(now);
    }
}

impl<F: FnMut(Sample)> Recorder for Sampling<F> {
    fn connection_started(&mut self, now: Time, flow: usize, connection: &Connection) {
        self.advance(now);
        let state = &mut self.flows[flow];
        state.acked_bytes = 0;
        state.mss = connection.mss();
        state.cwnd_bytes = connection.cwnd();
    }

    fn connection_established(&mut self, now: Time, flow: usize, connection: &Connection) {
        self.connection_started(now, flow, connection);
        self.flows[flow].slope = connection.trace_value(NewEcn::SLOPE);
    }

    fn connection_resumed(&mut self, _: Time, flow: usize, connection: &Connection) {
        self.flows[flow].acked_bytes = connection.bytes_acked();
    }

    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        self.advance(now);
        let state = &mut self.flows[flow];
        match event {
            TraceEvent::Cwnd { bytes } => state.cwnd_bytes = bytes,
            TraceEvent::Rtt { smoothed, .. } => state.srtt = Some(smoothed),
            TraceEvent::Controller(value) if value.name == NewEcn::SLOPE => {
                state.slope = Some(value.value);
            }
            TraceEvent::Acked { bytes } => {
                state.newly_acked_bytes += bytes.saturating_sub(state.acked_bytes);
                state.acked_bytes = bytes;
            }
            TraceEvent::Congestion(CongestionCause::Ecn) => state.mark_cuts += 1,
            TraceEvent::Congestion(CongestionCause::FastRetransmit) => state.loss_cuts += 1,
            TraceEvent::Timeout => state.timeouts += 1,
            _ => {}
        }
    }

    fn queue_changed(
        &mut self,
        now: Time,
        direction: LinkDirection,
        packets: usize,
        _average: Option<f64>,
    ) {
        if direction == self.bottleneck {
            self.advance(now);
            self.count_queue(now);
            // An event that an early delivery brought before this one may be later.
            let counted_already = self.queue_since.saturating_since(now).as_secs_f64();
            self.queue_area += (packets as f64 - self.queue_packets as f64) * counted_already;
            self.queue_packets = packets;
        }
    }
}

/// Throughput, queue, windows and cuts of a run.
struct RunPanels {
    title: String,
    names: Vec<(String, &'static str)>,
    seed: u64,
    duration: Span,
    bottleneck: String,
    last: Option<Sample>,
    began: Instant,
    /// The real time at which the run was over.
    took: Option<Duration>,
    throughput: Series,
    queue: Series,
    cuts_per_s: Series,
    cwnd: Series,
    /// cwnd in packets and throughput in bits per second of each flow.
    flows: Vec<(Series, Series)>,
    counted: u64,
}

impl RunPanels {
    fn new(scenario: &Scenario, seed: u64) -> RunPanels {
        let names = scenario.flows.iter();
        let names: Vec<_> =
            names.map(|flow| (flow.name.clone(), flow.sender.congestion.name())).collect();
        RunPanels {
            title: format!("windlass sim run: {}", scenario.name),
            seed,
            duration: scenario.duration,
            bottleneck: scenario.links[scenario.bottleneck.link].name.clone(),
            last: None,
            began: Instant::now(),
            took: None,
            throughput: Series::default(),
            queue: Series::default(),
            cuts_per_s: Series::default(),
            cwnd: Series::default(),
            flows: vec![Default::default(); names.len()],
            names,
            counted: 0,
        }
    }

    fn row(&self, index: usize, state: &FlowState) -> Row {
        let ((name, controller), (cwnd, rate)) = (&self.names[index], &self.flows[index]);
        let cells = vec![
            name.clone(),
            (*controller).to_owned(),
            bits(rate.recent_mean(4)),
            format!("{:.1}", cwnd.recent_mean(1)),
            state.srtt.map_or("-".to_owned(), |srtt| format!("{:.1}", srtt.as_millis_f64())),
            state.slope.map_or("-".to_owned(), |slope| format!("{slope:.3}")),
            state.mark_cuts.to_string(),
            state.loss_cuts.to_string(),
            state.timeouts.to_string(),
        ];
        Row { cells, trend: cwnd.values() }
    }
}

impl Panels<Sample> for RunPanels {
    fn take(&mut self, sample: Sample) {
        let seconds = sample.span.as_secs_f64();
        let rate = |flow: &FlowState| flow.newly_acked_bytes as f64 * 8.0 / seconds;
        let packets = |flow: &FlowState| flow.cwnd_bytes / f64::from(flow.mss.max(1));
        // The interval at the end is not a whole one.
        if !sample.over {
            self.throughput.push(sample.flows.iter().map(rate).sum());
            self.queue.push(sample.queue);
            self.cwnd.push(sample.flows.iter().map(packets).sum());
            let cuts = |flow: &FlowState| flow.mark_cuts + flow.loss_cuts + flow.timeouts;
            let counted: u64 = sample.flows.iter().map(cuts).sum();
            self.cuts_per_s.push((counted - self.counted) as f64 / seconds);
            self.counted = counted;
            for ((cwnd, throughput), flow) in self.flows.iter_mut().zip(&sample.flows) {
                cwnd.push(packets(flow));
                throughput.push(rate(flow));
            }
        }
        self.took = sample.over.then(|| self.began.elapsed());
        self.last = Some(sample);
    }

    fn screen(&self) -> Screen {
        let Some(last) = &self.last else { return Screen::default() };
        let (end, duration) = (last.end.as_secs_f64(), self.duration.as_secs_f64());
        let real = self.took.unwrap_or_else(|| self.began.elapsed()).as_secs_f64();
        let packets = |count: f64| format!("{count:.1} pkt");
        let table = Table {
            name: "flows".to_owned(),
            columns: vec![
                "flow",
                "control",
                "rate",
                "cwnd",
                "sRTT ms",
                "slope",
                "mark cuts",
                "loss cuts",
                "RTOs",
            ],
            trend: Some("cwnd over time"),
            rows: last.flows.iter().enumerate().map(|(at, flow)| self.row(at, flow)).collect(),
        };
        let queue = format!("queue {}", self.bottleneck);
        Screen {
            title: self.title.clone(),
            facts: vec![
                format!("{end:.1} of {duration:.1} s"),
                format!("x{:.0}", end / real.max(1e-3)),
                format!("seed {}", self.seed),
            ],
            progress: Some(if last.over { 1.0 } else { end / duration.max(1e-9) }),
            charts: vec![
                Chart::new("throughput", &self.throughput, 4, bits, Tone::Rate),
                Chart::new(queue, &self.queue, 4, packets, Tone::Queue),
                Chart::new("cwnd, all", &self.cwnd, 1, packets, Tone::Window),
                Chart::new("cuts", &self.cuts_per_s, 8, scaled::per_s, Tone::Signal),
            ],
            tables: vec![table],
            span: Shown::Whole,
            output: None,
            note: last.over.then(|| "the run is over: q prints its figures".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::registry;

    /// A run of ten seconds over a narrow link.
    const NARROW: &str = r#"
        schema = 1
        name = "narrow"
        duration = "10s"
        flows = [{ name = "one", from = "s1" }]

        [defaults]
        profile = "rfc5681"
        controller = "newreno"

        [dumbbell]
        bottleneck = { rate = "2Mbit/s", delay = "20ms" }
        access = [{ rate = "100Mbit/s", delay = "1ms" }]
    "#;

    #[test]
    fn the_last_screen_agrees_with_the_summary() {
        let document = registry().read_toml("test", NARROW, &[]).expect("a scenario");
        let scenario = &document.scenario;
        let mut samples = Vec::new();
        let mut sampling = Sampling::new(scenario, None, |sample| samples.push(sample));
        let summary = windlass_sim::run(scenario, 1, &mut sampling).expect("runs");
        sampling.finish(false);
        assert_eq!(samples.len(), KEPT + 1, "one for each bar, and the end");
        let mut panels = RunPanels::new(scenario, 1);
        samples.into_iter().for_each(|sample| panels.take(sample));
        let screen = panels.screen();

        let flow = &summary.flows[0];
        let mean = |chart: usize| {
            let values = &screen.charts[chart].values;
            values.iter().sum::<f64>() / values.len() as f64
        };
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.01;
        let bits = flow.packets_per_s.whole_run * f64::from(scenario.flows[0].sender.mss) * 8.0;
        assert!(near(mean(0), bits), "{} and {bits}", mean(0));
        let queue = summary.queues[0].mean_packets.whole_run.expect("it was seen");
        assert!(near(mean(1), queue), "{} and {queue}", mean(1));
        let cells = &screen.tables[0].rows[0].cells;
        assert_eq!(cells[..2], ["one", "newreno"]);
        assert_eq!(cells[8], flow.timeouts.to_string());
        assert!(cells[7] != "0", "the narrow link drops packets: {cells:?}");
        assert_eq!((screen.progress, &screen.facts[0][..]), (Some(1.0), "10.0 of 10.0 s"));
        assert!(screen.note.is_some_and(|note| note.contains("over")));
    }
}
