//! Time series of a run.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use windlass_base::Span;
use windlass_sim::model::TcpApp;
use windlass_sim::model::traffic::{ArrivalList, Arrivals, Process, Sizes};
use windlass_sim::series::columns::ColumnSeries;
use windlass_sim::series::csv::CsvSeries;
use windlass_sim::{Scenario, run};

#[derive(Clone, Default)]
struct Buffer(Rc<RefCell<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All series of a run by name, each as lines of fields.
fn series(scenario: &Scenario) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut buffers: BTreeMap<String, Buffer> = BTreeMap::new();
    let mut series =
        CsvSeries::new(scenario, |name| Ok(buffers.entry(name.into()).or_default().clone()))
            .expect("memory takes everything");
    run(scenario, 1, &mut series).expect("a sound scenario");
    series.finish().expect("memory takes everything");
    let lines = |buffer: Buffer| -> Vec<Vec<String>> {
        let text = String::from_utf8(buffer.0.borrow().clone()).expect("text");
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    buffers.into_iter().map(|(name, buffer)| (name, lines(buffer))).collect()
}

fn new_ecn() -> Scenario {
    let mut scenario =
        dumbbell(channel(mbit(2.0), ms(10.0), red()), &[ms(1.0)], Span::from_secs(10));
    scenario.flows.push(ns2_flow(2, 3, "new-ecn", true));
    scenario
}

fn column(lines: &[Vec<String>], name: &str) -> Vec<Option<f64>> {
    let position = lines[0].iter().position(|field| field == name).expect("a column");
    lines[1..].iter().map(|line| line[position].parse().ok()).collect()
}

#[test]
fn there_is_a_series_for_each_flow_and_each_queue_between_routers() {
    let names: Vec<String> = series(&new_ecn()).into_keys().collect();
    assert_eq!(names, ["flow-2-3", "queue-0-1-backward", "queue-0-1-forward"]);
}

#[test]
fn a_flows_series_tells_its_window_from_the_start_to_the_end() {
    let scenario = new_ecn();
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    let lines = &series(&scenario)["flow-2-3"];
    assert_eq!(lines[1], ["0.000000000", "1.0", "128.0", "", "1.0", "0.0"]);
    let times = column(lines, "time_s");
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "one line for each time, in order");
    let acked = column(lines, "acked_packets").pop().flatten().expect("a number");
    assert!((acked / 10.0 - summary.flows[0].packets_per_s.whole_run).abs() < 1e-9);
    let slope = column(lines, "slope");
    assert!(slope.iter().flatten().any(|&slope| slope != 1.0), "marks moved the slope");
    let lowest = column(lines, "cwnd_packets").into_iter().flatten().fold(f64::MAX, f64::min);
    assert_eq!(lowest, 1.0);
}

#[test]
fn a_queues_series_tells_its_length_and_its_average() {
    let scenario = new_ecn();
    let summary = run(&scenario, 1, &mut ()).expect("a sound scenario");
    let lines = &series(&scenario)["queue-0-1-forward"];
    assert_eq!(lines[1], ["0.000000000", "0", "", ""]);
    let delays = column(lines, "delay_ms");
    let longest_ms = delays.into_iter().flatten().fold(0.0, f64::max);
    let whole = Scenario { steady_from: Span::ZERO, ..scenario.clone() };
    let queue = &run(&whole, 1, &mut ()).expect("a sound scenario").queues[0];
    assert_eq!(Some(longest_ms), queue.queue_delay_ms.map(|delay| delay.max.as_millis_f64()));
    let longest = column(lines, "queue_packets").into_iter().flatten().fold(0.0, f64::max);
    assert_eq!(longest, summary.queues[0].max_packets as f64);
    // The mean over time, from the series.
    let (times, lengths) = (column(lines, "time_s"), column(lines, "queue_packets"));
    let ends = times[1..].iter().flatten().chain([&10.0]);
    let area: f64 = times
        .iter()
        .flatten()
        .zip(ends)
        .zip(lengths.iter().flatten())
        .map(|((begin, end), length)| length * (end - begin))
        .sum();
    let mean = summary.mean_queue_packets.whole_run.expect("time has passed");
    assert!((area / 10.0 - mean).abs() < 1e-6, "{} and {mean}", area / 10.0);
}

#[test]
fn acknowledged_packets_add_up_over_connections() {
    let wire = || channel(mbit(10.0), ms(10.0), drop_tail(100));
    let mut scenario = pair(wire(), wire(), Span::from_secs(2));
    let pause = ms(100.0);
    let app = TcpApp::Repeated { bytes: 14_480, pause, exponential: false, count: Some(3) };
    scenario.flows.push(modern_flow(0, 1, app));
    let acked = column(&series(&scenario)["flow-0-1"], "acked_packets");
    let acked: Vec<f64> = acked.into_iter().flatten().collect();
    assert!(acked.is_sorted());
    // Each transfer is ten segments of 1448 bytes.
    assert_eq!(acked.last(), Some(&30.0));
}

/// A disk that is full after a while.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_writing_is_reported_at_the_end() {
    let scenario = new_ecn();
    let mut series = CsvSeries::new(&scenario, |_| Ok(Full(5_000))).expect("room for the headers");
    run(&scenario, 1, &mut series).expect("a sound scenario");
    let error = series.finish().expect_err("the disk is full");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

/// The handshake takes options off the segment size: ten segments stay ten.
#[test]
fn the_initial_window_is_a_whole_number_of_segments_after_the_handshake_too() {
    let wire = || channel(mbit(10.0), ms(10.0), drop_tail(100));
    let mut scenario = pair(wire(), wire(), Span::from_secs(1));
    let mut flow = modern_flow(0, 1, TcpApp::Bulk);
    flow.sender.window.initial = 10;
    scenario.flows.push(flow);
    let lines = &series(&scenario)["flow-0-1"];
    assert_eq!((lines[1][1].as_str(), lines[2][1].as_str()), ("10.0", "10.0"));
}

#[test]
fn transfers_have_a_line_each_and_no_window() {
    let wire = || channel(mbit(10.0), ms(10.0), drop_tail(100));
    let mut scenario = pair(wire(), wire(), Span::from_secs(5));
    let list = ArrivalList::parse("1 1000\n2.25 2000\n").expect("a list");
    let app = TcpApp::Arriving { arrivals: Arrivals::Listed(Arc::new(list)) };
    scenario.flows.push(modern_flow(0, 1, app));
    let all = series(&scenario);
    assert!(!all.contains_key("flow-0-1"));
    let lines = &all["transfers-0-1"];
    assert_eq!(lines[0], ["time_s", "begun_s", "bytes"]);
    assert_eq!(lines[1][1..], ["1.000000000", "1000"]);
    assert_eq!(lines[2][1..], ["2.250000000", "2000"]);
}

#[test]
fn columns_in_memory_hold_what_the_lines_say() {
    let mut scenario = new_ecn();
    let process = Process::Poisson { per_second: 2.0 };
    let sizes = Sizes::Exponential { mean: 10_000.0 };
    let arrivals = Arrivals::Drawn { process, sizes, count: Some(9) };
    let mut flow = modern_flow(2, 3, TcpApp::Arriving { arrivals });
    flow.name = "arriving".into();
    scenario.flows.push(flow);
    let lines = series(&scenario);
    let mut columns = ColumnSeries::in_memory(&scenario, true);
    run(&scenario, 1, &mut columns).expect("a sound scenario");
    let tables = columns.into_tables();
    assert_eq!(tables.len(), lines.len());
    for table in tables {
        let lines = &lines[&table.name];
        assert_eq!(lines[0], table.columns.iter().map(|one| one.name).collect::<Vec<_>>());
        for kept in &table.columns {
            let known = |value: &f64| (!value.is_nan()).then_some(*value);
            let values: Vec<_> = kept.values.iter().map(known).collect();
            assert!(kept.nullable || values.iter().all(Option::is_some), "{}", kept.name);
            assert_eq!(values, column(lines, kept.name), "{} {}", table.name, kept.name);
        }
    }
}
