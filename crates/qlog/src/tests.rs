use crate::{ConnectionLog, Folder, Header, Vantage};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use windlass_base::{Span, Time};
use windlass_tcp::cc::{CongestionCause, Cubic, TraceValue};
use windlass_tcp::{Connection, Observer, Profile, SeqNumber, State, TraceEvent};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn header(title: &str) -> Header<'_> {
    let clock = Some(UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    Header { title, vantage: Vantage::Client, start: at(1000), clock }
}

fn connection() -> Connection {
    Connection::connect(
        Profile::Linux.config(1000, Arc::new(Cubic::default())),
        at(1000),
        SeqNumber(1),
    )
}

fn records(bytes: &[u8]) -> Vec<Value> {
    let texts = bytes.split(|byte| *byte == 0x1e).skip(1);
    texts
        .map(|text| {
            assert_eq!(text.last(), Some(&b'\n'), "RFC 7464 section 2.4");
            serde_json::from_slice(text).expect("JSON")
        })
        .collect()
}

fn rtt(ms: u64) -> TraceEvent {
    let span = Span::from_millis(ms);
    TraceEvent::Rtt { sample: span, exact: span, smoothed: span, rto: span, changed: true }
}

#[test]
fn the_header_names_schemas_clock_and_vantage_point() {
    let log = ConnectionLog::begin(vec![], &header("a \"title\""), &connection());
    let first = records(&log.finish().expect("a vector")).remove(0);
    assert_eq!(first["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(first["title"], "a \"title\"");
    let trace = &first["trace"];
    assert_eq!(trace["vantage_point"]["type"], "client");
    let reference = &trace["common_fields"]["reference_time"];
    assert_eq!(reference["wall_clock_time"], "2001-09-09T01:46:40.000Z");
}

#[test]
fn metrics_of_one_call_are_one_record() {
    let mut log = ConnectionLog::begin(vec![], &header("t"), &connection());
    log.observe(at(1100), rtt(100));
    log.observe(at(1100), TraceEvent::Controller(TraceValue { name: "slope", value: 0.5 }));
    log.observe(at(1100), TraceEvent::Cwnd { bytes: 20_000.5 });
    log.observe(at(1100), TraceEvent::Acked { bytes: 10_000 });
    log.observe(at(1150), rtt(150));
    let records = records(&log.finish().expect("a vector"));
    let metrics: Vec<_> = records
        .iter()
        .filter(|record| record["name"] == "quic:recovery_metrics_updated")
        .map(|record| (&record["time"], &record["data"]))
        .collect();
    let expected = json!({
        "min_rtt": 100.0, "latest_rtt": 100.0, "smoothed_rtt": 100.0, "slope": 0.5,
        "congestion_window": 20_000, "acked_bytes": 10_000,
    });
    assert_eq!(metrics[1], (&json!(100.0), &expected));
    let later = json!({ "latest_rtt": 150.0, "smoothed_rtt": 150.0 });
    assert_eq!(metrics[2], (&json!(150.0), &later), "the minimum did not change");
}

#[test]
fn phases_follow_from_the_windows_and_have_a_cause() {
    let mut log = ConnectionLog::begin(vec![], &header("t"), &connection());
    log.observe(at(1100), TraceEvent::Cwnd { bytes: 20_000.0 });
    log.observe(at(1200), TraceEvent::Congestion(CongestionCause::Ecn));
    log.observe(at(1200), TraceEvent::Ssthresh { bytes: 10_000 });
    log.observe(at(1200), TraceEvent::Cwnd { bytes: 10_000.0 });
    log.observe(at(1300), TraceEvent::Cwnd { bytes: 10_100.0 });
    let phases: Vec<_> = records(&log.finish().expect("a vector"))
        .into_iter()
        .filter(|record| record["name"] == "quic:congestion_state_updated")
        .map(|record| record["data"].clone())
        .collect();
    let expected = [
        json!({ "new": "slow_start" }),
        json!({ "old": "slow_start", "new": "congestion_avoidance", "trigger": "ecn" }),
    ];
    assert_eq!(phases, expected);
}

#[test]
fn states_have_the_names_of_the_rfc() {
    let mut log = ConnectionLog::begin(vec![], &header("t"), &connection());
    log.observe(at(1100), TraceEvent::State(State::Established));
    log.observe(at(1200), TraceEvent::State(State::FinWait1));
    log.observe(at(1300), TraceEvent::State(State::TimeWait));
    let states: Vec<_> = records(&log.finish().expect("a vector"))
        .into_iter()
        .filter(|record| record["name"] == "tcp:state_updated")
        .map(|record| record["data"]["new"].clone())
        .collect();
    assert_eq!(states, ["syn_sent", "established", "fin_wait1", "time_wait"]);
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_in_the_end() {
    let mut log = ConnectionLog::begin(Full, &header("t"), &connection());
    log.observe(at(1100), rtt(100));
    let error = log.finish().err().map(|error| error.kind());
    assert_eq!(error, Some(io::ErrorKind::StorageFull));
}

#[test]
fn each_connection_gets_a_file_and_a_lost_folder_is_reported_once() {
    let path = std::env::temp_dir().join(format!("windlass-qlog-{}", std::process::id()));
    let folder = Folder::create(&path).expect("a folder");
    for title in ["one", "two"] {
        folder.begin(&header(title), &connection()).expect("a file");
    }
    let mut titles: Vec<Value> = std::fs::read_dir(folder.path())
        .expect("made above")
        .map(|file| records(&std::fs::read(file.expect("a file").path()).expect("readable")))
        .map(|mut records| records.remove(0)["title"].take())
        .collect();
    titles.sort_by_key(Value::to_string);
    assert_eq!(titles, ["one", "two"]);
    std::fs::remove_dir_all(&path).expect("made above");
    assert!(folder.begin(&header("three"), &connection()).is_none());
    assert_eq!(folder.take_error().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
    assert!(folder.take_error().is_none());
}
