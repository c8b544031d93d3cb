use super::{Played, Report, capture, divergence, line, qlog};
use crate::packet::{Ip, Packet, Tcp, Transport, flags};
use crate::run::{Captured, Divergence, Entry, Line, Run, Side, Verdict};
use crate::script::{Error, Position};
use windlass_base::{Span, Time};

fn entry(ms: u64, side: Side, text: &str) -> Entry {
    Entry { at: Span::from_millis(ms), side, text: text.to_owned() }
}

fn run(verdict: Verdict) -> Run {
    let tcp = Tcp { source: 5, destination: 80, seq: 100, flags: flags::SYN, ..Tcp::default() };
    let [source, destination] =
        ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().expect("an address"));
    let ip = Ip { source, destination, tos: 2, ttl: 64, flow_label: 0 };
    let bytes = Packet { ip, transport: Transport::Tcp(tcp) }.bytes().expect("bytes");
    Run {
        verdict,
        entries: (0..10).map(|ms| entry(ms, Side::Inbound, "< S 0:0(0) win 5")).collect(),
        left: vec![entry(300, Side::Outbound, "> R. 1:1(0) ack 1")],
        packets: vec![Captured { at: Time::from_nanos(7), inbound: true, bytes }],
        printed: vec!["10".to_owned()],
        elapsed: Span::from_millis(250),
    }
}

fn report() -> Report {
    let side = |text: &str| vec![Line { at: "0.200000".to_owned(), text: text.to_owned() }];
    let divergence = Divergence {
        position: Position { line: 7, column: 2 },
        summary: "ack: expected 1, was 2".to_owned(),
        expected: side("> . 1:1(0) ack 1"),
        actual: side("> . 1:1(0) ack 2"),
    };
    let played = |name: &str, run| Played { name: name.to_owned(), run };
    let position = Position { line: 1, column: 3 };
    Report {
        subject: "engine (linux)".to_owned(),
        scripts: vec![
            played("a.pkt", Ok(run(Verdict::Passed))),
            played("b.pkt", Ok(run(Verdict::Failed(Box::new(divergence))))),
            played("c.pkt", Ok(run(Verdict::Skipped("it has no shell".to_owned())))),
            played("d.pkt", Err(Error { position, message: "expected an event".to_owned() })),
        ],
    }
}

#[test]
fn a_script_is_one_line_and_a_failure_a_diff() {
    let report = report();
    let lines: Vec<String> = report.scripts.iter().map(line).collect();
    let expected = [
        "passed  a.pkt",
        "FAILED  b.pkt:7:2: ack: expected 1, was 2",
        "skipped c.pkt: it has no shell",
        "invalid d.pkt:1:3: expected an event",
    ];
    assert_eq!(lines, expected);
    let diff = divergence(&report.scripts[1]).expect("a diff");
    let last: Vec<&str> = diff.lines().rev().take(3).collect();
    let expected = [
        "    0.300000  > R. 1:1(0) ack 1",
        "+   0.200000  > . 1:1(0) ack 2",
        "-   0.200000  > . 1:1(0) ack 1",
    ];
    assert_eq!(last, expected);
    assert!(diff.starts_with("  ...\n    0.002000  < S"), "{diff}");
    assert_eq!(divergence(&report.scripts[0]), None);
}

#[test]
fn json_has_the_verdicts_and_both_sides() {
    let document = report().document();
    assert_eq!((document["passed"].as_u64(), document["invalid"].as_u64()), (Some(1), Some(1)));
    let failed = &document["scripts"][1];
    assert_eq!((failed["verdict"].as_str(), failed["line"].as_u64()), (Some("failed"), Some(7)));
    assert_eq!(failed["actual"][0]["text"], "> . 1:1(0) ack 2");
    assert_eq!(failed["after"][0]["at_ns"], 300_000_000u64);
    assert_eq!(document["scripts"][3]["column"], 3);
}

#[test]
fn junit_has_a_case_for_each_script() {
    let xml = report().junit().expect("XML");
    let document = roxmltree::Document::parse(&xml).expect("XML");
    let children = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();
    assert_eq!(["testcase", "failure", "skipped", "error"].map(children), [4, 1, 1, 1]);
    assert!(xml.contains("+   0.200000"), "{xml}");
}

#[test]
fn packets_become_a_capture_and_qlog() {
    let run = run(Verdict::Passed);
    let file = capture("a", &run);
    assert_eq!(file[..4], 0x0a0d_0d0a_u32.to_le_bytes());
    assert!(file.windows(40).any(|bytes| bytes == run.packets[0].bytes));
    let log = String::from_utf8(qlog("a", &run)).expect("text");
    assert!(
        log.contains(r#""name":"tcp:segment_received""#) && log.contains(r#""ecn":"ect0""#),
        "{log}"
    );
}
