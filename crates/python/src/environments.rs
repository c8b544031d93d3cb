//! Many simulations of one scenario in step, for `windlass_lab.environments`.

use crate::interrupt::Watch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use send_wrapper::SendWrapper;
use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_keys::parse_time;
use windlass_sim::external::External;
use windlass_sim::observed::{Observed, Signals};
use windlass_sim::{Scenario, Simulation};

/// Numbers of an observation; `windlass_lab.environments.spec` names them.
const OBSERVATION: usize = 9;
/// Numbers that follow where the signals of a controller are asked for.
const SIGNALS: usize = 4;
/// The window in segments while an agent sets the pacing rate: no limit.
const WINDOW_OF_PACED: f64 = 10_000.0;
/// The time in which a paced flow sends its initial window, before a rate is set.
const FIRST_ROUND_TRIP_S: f64 = 0.1;
/// The step of a round trip before the first RTT sample.
const FIRST_STEP: Span = Span::from_millis(10);

/// When a step ends.
#[derive(Copy, Clone, Debug)]
enum Step {
    Time(Span),
    RoundTrip,
    Acks(u64),
}

/// Which of a flow's settings comes from outside.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Control {
    Window,
    PacingRate,
    /// None: the flow keeps its controller.
    Own,
}

/// Simulations of one scenario, in each of which one flow has its window or its pacing rate from
/// outside.
#[pyclass(unsendable)]
pub(crate) struct Environments {
    members: Vec<Member>,
    flow: usize,
    step: Step,
}

struct Member {
    scenario: Arc<Scenario>,
    external: External,
    control: Control,
    /// The signals of the flow, if they are asked for.
    observed: Option<Observed>,
    simulation: Option<Simulation<Arc<Scenario>>>,
    /// The seed and the actions of the run, from which another process can repeat it.
    origin: Origin,
    /// When the last step ended.
    at: Time,
    last: Counts,
    last_signals: Signals,
}

/// The seed of a run, and the windows or pacing rates of its steps.
#[derive(Clone, Debug, Default)]
struct Origin {
    seed: u64,
    controls: Vec<f64>,
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
    #[expect(clippy::too_many_arguments, reason = "arguments of Python")]
    #[new]
    fn new(
        origin: &str,
        text: &str,
        overrides: Vec<String>,
        flow: &str,
        count: usize,
        step: &str,
        control: &str,
        signals: bool,
    ) -> PyResult<Environments> {
        let fault = PyValueError::new_err::<String>;
        let mut scenario = crate::read(origin, text, &overrides, None).map_err(fault)?.scenario;
        let names: Vec<&str> = scenario.flows.iter().map(|flow| &*flow.name).collect();
        let index = names.iter().position(|name| *name == flow).ok_or_else(|| {
            fault(format!("flow: {origin} has no flow {flow:?}, but {}", names.join(", ")))
        })?;
        let step = parse_step(step).map_err(fault)?;
        let control = parse_control(control).map_err(fault)?;
        let sender = &mut scenario.flows[index].sender;
        match (control, step) {
            (Control::Own, Step::Acks(_)) => {
                let message = "step: with action=\"watch\" expected \"rtt\" or a time";
                return Err(fault(message.into()));
            }
            (Control::Own, _) => {}
            (Control::Window | Control::PacingRate, _) => {
                // The window holds even while the application does not fill it.
                sender.growth.cwnd_validation = false;
                sender.sending.pacing |= control == Control::PacingRate;
            }
        }
        let member = |_| {
            let (mut scenario, external) = (scenario.clone(), External::default());
            if control != Control::Own {
                scenario.flows[index].sender.congestion = Arc::new(external.clone());
            }
            let congestion = &mut scenario.flows[index].sender.congestion;
            let observed = signals.then(|| Observed::new(Arc::clone(congestion)));
            if let Some(observed) = &observed {
                *congestion = Arc::new(observed.clone());
            }
            let scenario = Arc::new(scenario);
            Member {
                scenario,
                external,
                control,
                observed,
                simulation: None,
                origin: Origin::default(),
                at: Time::ZERO,
                last: Counts::default(),
                last_signals: Signals::default(),
            }
        };
        let members: Vec<Member> = (0..count).map(member).collect();
        if let Some(member) = members.first() {
            Simulation::new(Arc::clone(&member.scenario), 1)
                .map_err(|error| fault(format!("{origin}: {error}")))?;
        }
        Ok(Environments { members, flow: index, step })
    }

    /// Restarts a member's run. Nothing has been sent after it.
    fn reset(&mut self, member: usize, seed: u64) -> PyResult<()> {
        self.member(member)?.reset(seed)
    }

    /// The seed of a member's run and the windows or pacing rates of its steps so far; `None` without a
    /// run.
    fn state(&mut self, member: usize) -> PyResult<Option<(u64, Vec<f64>)>> {
        let member = self.member(member)?;
        let Origin { seed, controls } = member.origin.clone();
        Ok(member.simulation.is_some().then_some((seed, controls)))
    }

    /// Runs a member again up to the step of a [`Environments::state`].
    fn restore(
        &mut self,
        py: Python<'_>,
        member: usize,
        seed: u64,
        controls: Vec<f64>,
    ) -> PyResult<()> {
        self.member(member)?.reset(seed)?;
        let members = vec![member; controls.len()];
        self.step(py, members, controls).map(drop)
    }

    /// The window of each member in segments, or its pacing rate in segments per second: what was set
    /// last, or the connection's.
    fn controls(&self) -> Vec<f64> {
        self.members.iter().map(|member| member.control(self.flow)).collect()
    }

    /// Sets the windows or pacing rates of some members, and runs each for a step, while other threads
    /// of Python go on. Returns their observations one after the other, as 64-bit floats, and a byte
    /// for each: 0 if it goes on, 1 if its time is over, 2 if its flows are done before.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        members: Vec<usize>,
        controls: Vec<f64>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        // The simulations stay on this thread, and hold nothing of Python.
        let own = SendWrapper::new(self);
        let (bytes, over) = py.detach(move || own.take().advance(&members, &controls))?;
        Ok((PyBytes::new(py, &bytes), PyBytes::new(py, &over)))
    }

    /// The summary of a member's run so far as JSON, which ends it.
    fn finish(&mut self, member: usize) -> PyResult<String> {
        let run = self.member(member)?.simulation.take();
        let simulation = run.ok_or_else(|| PyValueError::new_err(NO_RUN))?;
        crate::json(&simulation.finish(&mut ()))
    }
}

const NO_MEMBER: &str = "there is no such environment";
const NO_RUN: &str = "reset the environment first";

impl Environments {
    fn member(&mut self, number: usize) -> PyResult<&mut Member> {
        self.members.get_mut(number).ok_or_else(|| PyValueError::new_err(NO_MEMBER))
    }

    /// The observations as bytes, and how each member goes on.
    fn advance(&mut self, members: &[usize], controls: &[f64]) -> PyResult<(Vec<u8>, Vec<u8>)> {
        let (flow, step) = (self.flow, self.step);
        let mut bytes = Vec::with_capacity(members.len() * (OBSERVATION + SIGNALS) * 8);
        let mut over = Vec::with_capacity(members.len());
        for (number, control) in members.iter().zip(controls) {
            let member = self.member(*number)?;
            let observation = member.advance(flow, step, *control)?;
            bytes.extend(observation.iter().flat_map(|number| number.to_ne_bytes()));
            over.push(member.ending());
        }
        Ok((bytes, over))
    }
}

impl Member {
    fn reset(&mut self, seed: u64) -> PyResult<()> {
        self.external.reset();
        let simulation = Simulation::new(Arc::clone(&self.scenario), seed);
        self.simulation =
            Some(simulation.map_err(|error| PyValueError::new_err(error.to_string()))?);
        self.origin = Origin { seed, controls: Vec::new() };
        self.at = Time::ZERO;
        self.last = Counts::default();
        if let Some(observed) = &self.observed {
            observed.reset();
        }
        self.last_signals = Signals::default();
        Ok(())
    }

    fn control(&self, flow: usize) -> f64 {
        let sender = self.simulation.as_ref().and_then(|simulation| simulation.sender(flow));
        let initial = f64::from(self.scenario.flows[flow].sender.window.initial);
        let window = sender.map_or(initial, |sender| sender.cwnd() / f64::from(sender.mss()));
        match self.control {
            Control::Window => self.external.window().unwrap_or(window),
            Control::Own => window,
            Control::PacingRate => {
                self.external.pacing_rate().unwrap_or(initial / FIRST_ROUND_TRIP_S)
            }
        }
    }

    fn ending(&self) -> u8 {
        let over = self.simulation.as_ref().filter(|simulation| simulation.is_over());
        match over.map(|simulation| simulation.end() < Time::ZERO + self.scenario.duration) {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        }
    }

    /// Runs for a step with this window or pacing rate. An interruption ends the run.
    fn advance(&mut self, flow: usize, step: Step, control: f64) -> PyResult<Vec<f64>> {
        self.set(control);
        let no_run = || PyValueError::new_err(NO_RUN);
        let mut simulation = self.simulation.take().ok_or_else(no_run)?;
        let mut watch = Watch::new(None);
        let until = match step {
            Step::Time(span) => self.at + span,
            Step::RoundTrip => {
                let rtt = simulation.sender(flow).and_then(|sender| sender.smoothed_rtt());
                self.at + rtt.unwrap_or(FIRST_STEP)
            }
            Step::Acks(_) => Time::MAX,
        };
        let enough = match step {
            Step::Acks(acks) => self.external.acks() + acks,
            _ => u64::MAX,
        };
        let external = &self.external;
        simulation.advance(until, &mut (), || external.acks() >= enough || watch.ends());
        watch.into_result()?;
        let now = match step {
            _ if simulation.is_over() => simulation.end(),
            Step::Acks(_) => simulation.now(),
            _ => until,
        };
        self.simulation = Some(simulation);
        self.origin.controls.push(control);
        let began = std::mem::replace(&mut self.at, now);
        let mut observation = self.observe(flow, (now - began).as_secs_f64()).to_vec();
        observation.extend(self.observe_signals(flow).into_iter().flatten());
        Ok(observation)
    }

    fn set(&self, control: f64) {
        match self.control {
            Control::Window => self.external.set_window(control),
            Control::Own => {}
            Control::PacingRate => {
                self.external.set_window(WINDOW_OF_PACED);
                self.external.set_pacing_rate(control);
            }
        }
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

    /// The signals of the step, if they are asked for: the fastest sample of the delivery rate in segments per
    /// second, segments lost and marked, and the share of the samples that the application limited.
    fn observe_signals(&mut self, flow: usize) -> Option<[f64; SIGNALS]> {
        let now = self.observed.as_ref()?.take();
        let sender = self.simulation.as_ref().and_then(|simulation| simulation.sender(flow));
        let mss = sender.map_or(1.0, |sender| f64::from(sender.mss()));
        let last = std::mem::replace(&mut self.last_signals, now);
        let samples = now.samples - last.samples;
        let limited = (now.limited_samples - last.limited_samples) as f64;
        Some([
            now.fastest_bytes_per_s / mss,
            (now.lost_bytes - last.lost_bytes) as f64 / mss,
            (now.marked_bytes - last.marked_bytes) as f64 / mss,
            if samples > 0 { limited / samples as f64 } else { 0.0 },
        ])
    }
}

fn parse_control(text: &str) -> Result<Control, String> {
    match text {
        "window" => Ok(Control::Window),
        "pacing_rate" => Ok(Control::PacingRate),
        "own" => Ok(Control::Own),
        _ => Err(format!("control={text:?}: expected \"window\", \"pacing_rate\" or \"own\"")),
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
