//! The same events give the same windows and slopes in the kernel's integer arithmetic and in the
//! simulator's controller: both are held against one table, `vectors.csv`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use windlass_base::{Span, Time};
use windlass_tcp::cc::{
    Ack, Congestion, CongestionCause, Controller, ControllerFactory, NewEcn, Params,
};

const VECTORS: &str = include_str!("vectors.csv");
const MSS: u32 = 1000;
/// The kernel counts in millionths and 2^-32; the table has six digits.
const TOLERANCE: f64 = 1e-4;

/// A line of the table: what happens, and the state after it in segments.
struct Row<'a> {
    case: &'a str,
    event: &'a str,
    times: u64,
    after_ms: u64,
    srtt_ms: u64,
    segments: u64,
    after: State,
}

#[derive(Copy, Clone, Debug)]
struct State {
    cwnd: f64,
    ssthresh: Option<f64>,
    slope: f64,
}

fn rows() -> Vec<Row<'static>> {
    VECTORS.lines().skip(1).map(row).collect()
}

fn row(line: &str) -> Row<'_> {
    let fields: Vec<&str> = line.split(',').collect();
    let [case, event, times, after_ms, srtt_ms, segments, cwnd, ssthresh, slope] = fields[..]
    else {
        panic!("nine columns: {line}");
    };
    let whole = |field: &str| field.parse().expect("a whole number");
    let real = |field: &str| field.parse().expect("a number");
    let after = State { cwnd: real(cwnd), ssthresh: ssthresh.parse().ok(), slope: real(slope) };
    let [times, after_ms, srtt_ms, segments] = [times, after_ms, srtt_ms, segments].map(whole);
    Row { case, event, times, after_ms, srtt_ms, segments, after }
}

fn check(who: &str, row: &Row<'_>, state: State) {
    let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * b.abs();
    let same_ssthresh = match (state.ssthresh, row.after.ssthresh) {
        (Some(a), Some(b)) => near(a, b),
        (a, b) => a == b,
    };
    assert!(
        near(state.cwnd, row.after.cwnd) && same_ssthresh && near(state.slope, row.after.slope),
        "{who}, {}, {}: {state:?}, not {:?}",
        row.case,
        row.event,
        row.after
    );
}

/// The simulator's controller, with the clock of a connection.
struct Simulated {
    controller: Box<dyn Controller>,
    now: Time,
}

impl Simulated {
    fn start(row: &Row<'_>) -> Simulated {
        let mss = u64::from(MSS);
        let mut params = Params::new(MSS);
        params.initial_window = row.segments * mss;
        params.initial_ssthresh =
            row.after.ssthresh.map_or(u64::MAX, |segments| segments as u64 * mss);
        // As the kernel, which counts windows in segments.
        params.whole_segment_cuts = true;
        let controller = NewEcn::default().build(&params);
        Simulated { controller, now: Time::ZERO }
    }

    fn happen(&mut self, row: &Row<'_>) {
        self.now += Span::from_millis(row.after_ms);
        match row.event {
            "start" => {}
            "ack" => self.acknowledge(row.segments * u64::from(MSS), row.srtt_ms),
            // `segments` is what a kernel that skips programs takes for ssthresh.
            "mark" | "skipped-mark" => self.congestion(CongestionCause::Ecn),
            "loss" => self.congestion(CongestionCause::FastRetransmit),
            "timeout" => self.congestion(CongestionCause::Timeout),
            other => panic!("no event: {other}"),
        }
    }

    fn acknowledge(&mut self, bytes: u64, srtt_ms: u64) {
        let ack = Ack::new(self.now, bytes).with_rtt(Span::from_millis(srtt_ms));
        self.controller.on_ack(&ack);
    }

    fn congestion(&mut self, cause: CongestionCause) {
        let signal = Congestion::new(self.now, cause, self.controller.cwnd());
        self.controller.on_congestion(&signal);
    }

    fn state(&self) -> State {
        let segments = |bytes: f64| bytes / f64::from(MSS);
        let ssthresh = Some(self.controller.ssthresh()).filter(|bytes| *bytes != u64::MAX);
        State {
            cwnd: segments(self.controller.cwnd()),
            ssthresh: ssthresh.map(|bytes| segments(bytes as f64)),
            slope: self.controller.trace_values()[0],
        }
    }
}

#[test]
fn the_simulators_controller_keeps_to_the_table() {
    let mut connection = None;
    for row in rows() {
        if row.event == "start" {
            connection = Some(Simulated::start(&row));
        }
        let connection = connection.as_mut().expect("a case begins with its start");
        for _ in 0..row.times {
            connection.happen(&row);
        }
        check("simulator", &row, connection.state());
    }
}

/// As the kernel stores it.
const NO_SSTHRESH: u32 = 0x7fff_ffff;

#[test]
fn the_kernels_arithmetic_keeps_to_the_table() {
    let answers = run_compiled(&requests());
    let mut answers = answers.lines();
    for row in rows() {
        let answer = answers.next().expect("an answer to each line");
        let numbers: Vec<f64> =
            answer.split(' ').map(|word| word.parse().expect("a number")).collect();
        let ssthresh = Some(numbers[1]).filter(|segments| *segments < f64::from(NO_SSTHRESH));
        check("kernel", &row, State { cwnd: numbers[0], ssthresh, slope: numbers[2] });
    }
}

fn requests() -> String {
    let request = |row: &Row<'_>| {
        let ssthresh = row.after.ssthresh.map_or(NO_SSTHRESH, |segments| segments as u32);
        format!(
            "{} {} {} {} {} {ssthresh}\n",
            row.event, row.times, row.after_ms, row.srtt_ms, row.segments
        )
    };
    rows().iter().map(request).collect()
}

/// Compiles `vectors.c` for this machine and runs it.
fn run_compiled(input: &str) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vectors");
    let status = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&binary)
        .arg(tests.join("vectors.c"))
        .status()
        .expect("cc, which links Rust programs too");
    assert!(status.success(), "cc: {status}");
    let mut child =
        Command::new(&binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("reads all");
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).expect("numbers")
}
