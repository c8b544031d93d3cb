//! Endpoints of other transports: their datagrams share links, queues and middleboxes with TCP.

use std::cell::RefCell;
use std::rc::Rc;
use windlass_base::{Ecn, Span, Time};
use windlass_scenario::Document;
use windlass_sim::endpoint::{Datagram, EndpointEvent, Side, Transmit};
use windlass_sim::packet::{Body, Packet};
use windlass_sim::series::endpoints::EndpointSeries;
use windlass_sim::summary::EndpointSummary;
use windlass_sim::{Middlebox, Recorder, Simulation, Summary, run};

/// Two hosts on a link of 10 Mbit/s, 10 ms each way, and these lines of the scenario.
fn document(lines: &str) -> Document {
    let text = format!(
        r#"
        schema = 2
        name = "endpoints"
        duration = "10s"
        steady_from = "1s"
        nodes = ["a", "b"]
        {lines}
        "#
    );
    windlass_scenario::from_toml("endpoints.toml", &text, &[]).expect("a valid scenario")
}

const LINK: &str = r#"links = [{ a = "a", b = "b", rate = "10Mbit/s", delay = "10ms" }]"#;

fn summary(lines: &str) -> Summary {
    let document = document(lines);
    run(&document.scenario, document.seed, &mut ()).expect("a network")
}

fn alone(lines: &str) -> EndpointSummary {
    summary(lines).endpoints.remove(0)
}

#[test]
fn a_window_of_one_datagram_sends_one_each_round_trip() {
    let window =
        r#"endpoints = [{ from = "a", to = "b", stack = { kind = "fixed-window", window = 1 } }]"#;
    let flow = alone(&format!("{LINK}\n{window}"));
    // 20 ms of delay, 1228 bytes one way and 36 back, at 10 Mbit/s.
    let round_trip_s = 0.020 + (1228.0 + 36.0) * 8.0 / 10e6;
    let expected = 1200.0 * 8.0 / round_trip_s / 1e6;
    let goodput = flow.goodput_mbit_per_s.steady;
    assert!((goodput / expected - 1.0).abs() < 0.005, "{goodput} Mbit/s, expected {expected}");
    assert_eq!(flow.stack, "fixed-window");
    assert!(flow.sender.sent - flow.receiver.received <= 1, "one is on its way at most");
    assert_eq!(flow.cwnd_bytes.time_mean, Some(1200.0));
}

#[test]
fn a_large_window_fills_the_link_and_its_headers_count() {
    let window =
        r#"endpoints = [{ from = "a", to = "b", stack = { kind = "fixed-window", window = 60 } }]"#;
    let flow = alone(&format!("{LINK}\n{window}"));
    let goodput = flow.goodput_mbit_per_s.steady;
    assert!((goodput / (10.0 * 1200.0 / 1228.0) - 1.0).abs() < 0.005, "{goodput} Mbit/s");
}

#[test]
fn lost_datagrams_are_sent_again_and_each_byte_is_delivered_once() {
    let link = r#"links = [{ a = "a", b = "b", rate = "10Mbit/s", delay = "10ms", loss = { packets = [2, 5, 6] } }]"#;
    let flow = r#"endpoints = [{ from = "a", to = "b", stack = "fixed-window", app = { kind = "transfer", size = "120kB" } }]"#;
    let flow = alone(&format!("{link}\n{flow}"));
    assert_eq!(flow.lost, 3);
    assert_eq!(flow.declared_lost, Some(3));
    assert_eq!(flow.sender.counters["resent_datagrams"], 3);
    assert_eq!(flow.receiver.delivered_bytes, 120_000);
    let transfers = flow.transfers.expect("it is a transfer");
    assert_eq!(transfers.completed, 1);
    assert!((1.0..1.3).contains(&transfers.completion_s[0]), "{:?}", transfers.completion_s);
}

#[test]
fn a_run_until_done_ends_with_the_last_transfer() {
    let flows = r#"
        until_done = true
        endpoints = [
            { name = "short", from = "a", to = "b", stack = "fixed-window", app = { kind = "transfer", size = "12kB" } },
            { name = "late", from = "b", to = "a", start = "2s", stack = "fixed-window", app = { kind = "transfer", size = "12kB" } },
        ]"#;
    let summary = summary(&format!("{LINK}\n{flows}"));
    assert!((2.0..2.1).contains(&summary.duration_s), "{} s", summary.duration_s);
    assert_eq!(summary.endpoints.len(), 2);
}

#[test]
fn a_stop_ends_the_writing() {
    let flow = r#"endpoints = [{ from = "a", to = "b", start = "1s", stop = "2s", stack = "fixed-window" }]"#;
    let flow = alone(&format!("{LINK}\n{flow}"));
    // Ten datagrams in each round trip of 21 ms.
    let expected = 10.0 / 0.021 + 10.0;
    assert!((flow.receiver.received as f64 / expected - 1.0).abs() < 0.03, "{flow:?}");
    assert_eq!(flow.sender.sent, flow.receiver.received);
}

#[test]
fn endpoints_share_the_bottleneck_with_tcp() {
    let flows = r#"
        flows = [{ from = "a", to = "b", controller = "newreno" }]
        endpoints = [{ from = "a", to = "b", stack = { kind = "fixed-window", window = 20 } }]"#;
    let both = summary(&format!("{LINK}\n{flows}"));
    let tcp = both.flows[0].mbit_per_s.steady;
    let other = both.endpoints[0].goodput_mbit_per_s.steady;
    assert!(tcp > 1.0 && other > 1.0 && tcp + other < 10.0, "{tcp} and {other} Mbit/s");
    assert!(both.utilisation.expect("a rate").steady > 0.95);
}

/// Keeps what passes between the ends.
#[derive(Debug, Default, PartialEq)]
struct Log {
    sent: Vec<(Time, Side, u32, Vec<u8>)>,
    received: Vec<(Time, Side, u32, Ecn, Vec<u8>)>,
    delivered: u64,
}

impl Recorder for Log {
    fn datagram_sent(&mut self, now: Time, _: usize, side: Side, out: &Transmit, payload: &[u8]) {
        self.sent.push((now, side, out.size, payload.to_vec()));
    }

    fn datagram_received(&mut self, now: Time, _: usize, side: Side, datagram: &Datagram) {
        let Datagram { payload, size, ecn } = datagram.clone();
        self.received.push((now, side, size, ecn, payload));
    }

    fn endpoint_event(&mut self, _: Time, _: usize, _: Side, event: &EndpointEvent) {
        if let EndpointEvent::Delivered { bytes } = event {
            self.delivered += bytes;
        }
    }
}

const TRANSFER: &str = r#"endpoints = [{ from = "a", to = "b", stack = "fixed-window", app = { kind = "transfer", size = "120kB" } }]"#;

#[test]
fn bytes_and_sizes_arrive_as_they_were_sent() {
    let document = document(&format!("{LINK}\n{TRANSFER}"));
    let mut log = Log::default();
    run(&document.scenario, 1, &mut log).expect("a network");
    let sent = |side| log.sent.iter().filter(move |sent| sent.1 == side);
    let received = |side| log.received.iter().filter(move |got| got.1 == side);
    for (from, to) in [(Side::Sender, Side::Receiver), (Side::Receiver, Side::Sender)] {
        let sent: Vec<_> = sent(from).map(|(_, _, size, bytes)| (*size, bytes)).collect();
        let got: Vec<_> = received(to).map(|(_, _, size, _, bytes)| (*size, bytes)).collect();
        assert_eq!(sent.len(), 100);
        assert_eq!(sent, got);
    }
    assert_eq!(log.delivered, 120_000);
}

#[test]
fn the_same_seed_gives_the_same_datagrams_at_the_same_times() {
    let lossy = r#"links = [{ a = "a", b = "b", rate = "10Mbit/s", delay = "10ms", loss = 0.1 }]"#;
    let document = document(&format!("{lossy}\njitter = \"50ms\"\n{TRANSFER}"));
    let log = |seed| {
        let mut log = Log::default();
        let summary = run(&document.scenario, seed, &mut log).expect("a network");
        (log, summary)
    };
    assert_eq!(log(7), log(7));
    assert_ne!(log(7).0, log(8).0);
}

/// Marks every datagram to the receiver, and sends each one twice.
#[derive(Debug, Default)]
struct Copier {
    copied: u64,
}

impl Middlebox for Copier {
    fn handle_packet(&mut self, _: Time, packet: Packet, out: &mut Vec<Packet>) {
        assert!(matches!(packet.body, Body::Udp { .. }));
        out.push(Packet { ecn: Ecn::Ce, ..packet });
        out.push(packet);
        self.copied += 1;
    }
}

#[test]
fn middleboxes_may_copy_and_mark_datagrams_and_their_bytes_come_along() {
    let document = document(&format!("{LINK}\n{TRANSFER}"));
    let mut simulation = Simulation::new(&document.scenario, 1).expect("a network");
    let copier = Rc::new(RefCell::new(Copier::default()));
    simulation.add_middlebox(1, Rc::clone(&copier));
    let mut log = Log::default();
    simulation.advance(Time::ZERO + Span::from_secs(5), &mut log, || false);
    let to_receiver: Vec<_> = log.received.iter().filter(|got| got.1 == Side::Receiver).collect();
    assert_eq!(to_receiver.len() as u64, 2 * copier.borrow().copied);
    for pair in to_receiver.chunks(2) {
        let [(_, _, _, first, bytes), (_, _, _, second, again)] = pair else { panic!("{pair:?}") };
        assert_eq!((*first, *second), (Ecn::Ce, Ecn::NotEct));
        assert!(bytes == again && bytes.len() == 8);
    }
    assert_eq!(log.delivered, 120_000);
}

/// A file in memory that the test keeps.
#[derive(Clone, Debug, Default)]
struct File(Rc<RefCell<Vec<u8>>>);

impl std::io::Write for File {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn series_have_a_line_for_each_change_and_each_datagram() {
    let document = document(&format!("{LINK}\n{TRANSFER}"));
    let files = RefCell::new(std::collections::BTreeMap::<String, File>::new());
    let open = |name: &str| Ok(files.borrow_mut().entry(name.to_owned()).or_default().clone());
    let mut series = EndpointSeries::new(&document.scenario, true, open).expect("files");
    run(&document.scenario, 1, &mut series).expect("a network");
    series.finish().expect("no file fails");
    let text = |name: &str| {
        let files = files.borrow();
        String::from_utf8(files[name].0.borrow().clone()).expect("text")
    };
    let states = text("endpoint-endpoint1");
    let last = states.lines().last().expect("lines");
    assert!(last.ends_with(",100,120000,12000,,,0,120000"), "{last}");
    assert!(
        states.lines().nth(1).expect("lines").starts_with("0.000000000,10,12000,12000,"),
        "{states}"
    );
    let datagrams = text("datagrams-endpoint1");
    assert_eq!(datagrams.lines().nth(1), Some("0.000000000,sender,sent,1200,0"));
    // Each of 100 datagrams and of their acknowledgments, twice.
    assert_eq!(datagrams.lines().count(), 1 + 400);
}
