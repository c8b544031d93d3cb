//! Many simulations of one scenario in step, for `windlass_lab.environments`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_sim::external::External;
use windlass_sim::scenario::parse_time;
use windlass_sim::{Scenario, Simulation};

/// Numbers of an observation; `windlass_lab.environments.observation` names them.
const OBSERVATION: usize = 9;
/// The step of a round trip before the first RTT sample.
const FIRST_STEP: Span = Span::from_millis(10);

/// When a step ends.
#[derive(Copy, Clone, Debug)]
enum Step {
    Time(Span),
    RoundTrip,
    Acks(u64),
}

/// Simulations of one scenario, in each of which one flow has its window from outside.
#[pyclass(unsendable)]
pub(crate) struct Environments {
    members: Vec<Member>,
    flow: usize,
    step: Step,
}

struct Member {
    scenario: Arc<Scenario>,
    external: External,
    simulation: Option<Simulation<Arc<Scenario>>>,
    /// When the last step ended.
    at: Time,
    last: Counts,
}

/// Counters of a connection when the last step ended.
#[derive(Copy, Clone, Default)]
struct Counts {
    acked_bytes: u64,
    retransmitted: u64,
    timeouts: u64,
    ecn_cuts: u64,
}

#[pymethods]
impl Environments {
    #[new]
    fn new(
        origin: &str,
        text: &str,
        overrides: Vec<String>,
        flow: &str,
        count: usize,
        step: &str,
    ) -> PyResult<Environments> {
        let fault = PyValueError::new_err::<String>;
        let mut scenario = crate::read(origin, text, &overrides).map_err(fault)?.scenario;
        let names: Vec<&str> = scenario.flows.iter().map(|flow| &*flow.name).collect();
        let index = names.iter().position(|name| *name == flow).ok_or_else(|| {
            fault(format!("flow: {origin} has no flow {flow:?}, but {}", names.join(", ")))
        })?;
        // The window holds even while the application does not fill it.
        scenario.flows[index].sender.growth.cwnd_validation = false;
        let member = |_| {
            let (mut scenario, external) = (scenario.clone(), External::default());
            scenario.flows[index].sender.congestion = Arc::new(external.clone());
            let scenario = Arc::new(scenario);
            Member { scenario, external, simulation: None, at: Time::ZERO, last: Counts::default() }
        };
        let members: Vec<Member> = (0..count).map(member).collect();
        if let Some(member) = members.first() {
            Simulation::new(Arc::clone(&member.scenario), 1)
                .map_err(|error| fault(format!("{origin}: {error}")))?;
        }
        Ok(Environments { members, flow: index, step: parse_step(step).map_err(fault)? })
    }

    /// Begins a member's run anew. Nothing has been sent after it.
    fn reset(&mut self, member: usize, seed: u64) -> PyResult<()> {
        let member = self.members.get_mut(member).ok_or_else(no_member)?;
        member.external.reset();
        let simulation = Simulation::new(Arc::clone(&member.scenario), seed);
        member.simulation =
            Some(simulation.map_err(|error| PyValueError::new_err(error.to_string()))?);
        member.at = Time::ZERO;
        member.last = Counts::default();
        Ok(())
    }

    /// The window of each member in segments: what was set last, or the connection's.
    fn windows(&self) -> Vec<f64> {
        self.members.iter().map(|member| member.window(self.flow)).collect()
    }

    /// Sets the windows of some members, in segments, and runs each for a step. Returns their
    /// observations one after the other, as 64-bit floats, and a byte for each: 0 if it goes on, 1 if
    /// its time is over, 2 if its flows are done before.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        members: Vec<usize>,
        windows: Vec<f64>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let mut bytes = Vec::with_capacity(members.len() * OBSERVATION * 8);
        let mut over = Vec::with_capacity(members.len());
        for (number, window) in members.into_iter().zip(windows) {
            let member = self.members.get_mut(number).ok_or_else(no_member)?;
            let observation = member.advance(self.flow, self.step, window).ok_or_else(no_run)?;
            bytes.extend(observation.iter().flat_map(|number| number.to_ne_bytes()));
            over.push(member.ending());
        }
        Ok((PyBytes::new(py, &bytes), PyBytes::new(py, &over)))
    }

    /// The summary of a member's run so far as JSON, which ends it.
    fn finish(&mut self, member: usize) -> PyResult<String> {
        let member = self.members.get_mut(member).ok_or_else(no_member)?;
        let simulation = member.simulation.take().ok_or_else(no_run)?;
        serde_json::to_string(&simulation.finish(&mut ()))
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

fn no_member() -> PyErr {
    PyValueError::new_err("there is no such environment")
}

fn no_run() -> PyErr {
    PyValueError::new_err("reset the environment first")
}

impl Member {
    fn window(&self, flow: usize) -> f64 {
        let sender = self.simulation.as_ref().and_then(|simulation| simulation.sender(flow));
        let initial = f64::from(self.scenario.flows[flow].sender.window.initial);
        let connection = sender.map(|sender| sender.cwnd() / f64::from(sender.mss()));
        self.external.window().or(connection).unwrap_or(initial)
    }

    fn ending(&self) -> u8 {
        let over = self.simulation.as_ref().filter(|simulation| simulation.is_over());
        match over.map(|simulation| simulation.end() < Time::ZERO + self.scenario.duration) {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        }
    }

    /// Runs for a step with this window; `None` if no run has begun.
    fn advance(&mut self, flow: usize, step: Step, window: f64) -> Option<[f64; OBSERVATION]> {
        self.external.set_window(window);
        let simulation = self.simulation.as_mut()?;
        let until = match step {
            Step::Time(span) => self.at + span,
            Step::RoundTrip => {
                let rtt = simulation.sender(flow).and_then(|sender| sender.smoothed_rtt());
                self.at + rtt.unwrap_or(FIRST_STEP)
            }
            Step::Acks(_) => Time::MAX,
        };
        let external = &self.external;
        match step {
            Step::Acks(acks) => {
                let enough = external.acks() + acks;
                simulation.advance(until, &mut (), || external.acks() >= enough);
            }
            _ => simulation.advance(until, &mut (), || false),
        }
        let now = match step {
            _ if simulation.is_over() => simulation.end(),
            Step::Acks(_) => simulation.now(),
            _ => until,
        };
        let began = std::mem::replace(&mut self.at, now);
        Some(self.observe(flow, (now - began).as_secs_f64()))
    }

    fn observe(&mut self, flow: usize, seconds: f64) -> [f64; OBSERVATION] {
        let sender = self.simulation.as_ref().and_then(|simulation| simulation.sender(flow));
        let Some(sender) = sender else {
            return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, seconds];
        };
        let (mss, stats) = (f64::from(sender.mss()), sender.stats());
        let now = Counts {
            acked_bytes: sender.bytes_acked(),
            retransmitted: stats.retransmitted_segments,
            timeouts: stats.timeouts,
            ecn_cuts: stats.ecn_cuts,
        };
        // A flow's next connection begins at zero.
        let last = match now.acked_bytes < self.last.acked_bytes {
            true => Counts::default(),
            false => self.last,
        };
        let acked = (now.acked_bytes - last.acked_bytes) as f64 / mss;
        let ms = |span: Option<Span>| span.map_or(0.0, Span::as_millis_f64);
        let observation = [
            sender.cwnd() / mss,
            sender.in_flight() as f64 / mss,
            ms(sender.smoothed_rtt()),
            ms(sender.min_rtt()),
            if seconds > 0.0 { acked / seconds } else { 0.0 },
            now.retransmitted.saturating_sub(last.retransmitted) as f64,
            now.timeouts.saturating_sub(last.timeouts) as f64,
            now.ecn_cuts.saturating_sub(last.ecn_cuts) as f64,
            seconds,
        ];
        self.last = now;
        observation
    }
}

/// `rtt`, a number of ACKs such as `8 acks`, or a time such as `100ms`.
fn parse_step(text: &str) -> Result<Step, String> {
    let expected =
        || format!("step={text:?}: expected \"rtt\", \"8 acks\" or a time such as \"100ms\"");
    if text == "rtt" {
        return Ok(Step::RoundTrip);
    }
    if let Some(acks) = text.strip_suffix(" acks") {
        let acks = acks.parse().map_err(|_| expected())?;
        return if acks > 0 { Ok(Step::Acks(acks)) } else { Err(expected()) };
    }
    match parse_time(text) {
        Ok(span) if !span.is_zero() => Ok(Step::Time(span)),
        _ => Err(expected()),
    }
}
