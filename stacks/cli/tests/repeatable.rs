//! The same seed twice gives the same packet sizes at the same times, for every transport and controller.

use windlass_base::Time;
use windlass_sim::endpoint::{EndpointEvent, Side, Transmit};
use windlass_sim::{Recorder, Summary, run};
use windlass_stacks_seeded::on_seeded_thread;

/// Transports with their controllers.
const STACKS: [&str; 6] = [
    r#"{ kind = "quinn", controller = "cubic" }"#,
    r#"{ kind = "quinn", controller = "newreno" }"#,
    r#"{ kind = "quinn", controller = "bbr" }"#,
    r#"{ kind = "noq", controller = "cubic" }"#,
    r#"{ kind = "noq", controller = "newreno" }"#,
    r#"{ kind = "noq", controller = "bbr3" }"#,
];
/// Those without requests.
const TCP: [&str; 2] = [
    r#"{ kind = "smoltcp", controller = "cubic" }"#,
    r#"{ kind = "smoltcp", controller = "reno" }"#,
];
const UPLOAD: &str = r#"app = { kind = "bulk" }"#;
const DOWNLOAD: &str = r#"app = { kind = "transfer", size = "2MB" }, opens = "receiver""#;
const REQUESTS: &str =
    r#"app = { kind = "requests", response = "50kB", think = "100ms", count = 10 }"#;

/// Times, ends and sizes of the datagrams, with their ECN codepoints.
#[derive(Debug, Default, PartialEq)]
struct Datagrams(Vec<(Time, Side, Transmit)>);

impl Recorder for Datagrams {
    fn datagram_sent(&mut self, now: Time, _: usize, side: Side, sent: &Transmit, _: &[u8]) {
        self.0.push((now, side, *sent));
    }

    fn endpoint_event(&mut self, _: Time, _: usize, _: Side, event: &EndpointEvent) {
        assert!(!matches!(event, EndpointEvent::Failed { .. }), "{event:?}");
    }
}

fn simulate(stack: &str, flow: &str, seed: u64) -> (Datagrams, Summary) {
    let text = format!(
        r#"
        schema = 2
        name = "repeatable"
        duration = "8s"
        until_done = true
        jitter = "10ms"
        nodes = ["a", "b"]
        links = [{{ a = "a", b = "b", rate = "20Mbit/s", delay = "15ms", loss = 0.002,
                    queue = {{ kind = "codel", limit = "200kB" }} }}]
        endpoints = [{{ from = "a", to = "b", stack = {stack}, {flow} }}]
        "#
    );
    let document =
        windlass_stacks::registry().read_toml("repeatable", &text, &[]).expect("a valid scenario");
    on_seeded_thread(seed, || {
        let mut datagrams = Datagrams::default();
        let summary = run(&document.scenario, seed, &mut datagrams).expect("a network");
        (datagrams, summary)
    })
}

fn repeats(flow: &str, stacks: &[&str]) {
    for stack in stacks {
        let (first, summary) = simulate(stack, flow, 1);
        let (second, again) = simulate(stack, flow, 1);
        assert!(first == second, "{stack}: other datagrams");
        assert_eq!(summary, again, "{stack}");
        let (other, _) = simulate(stack, flow, 2);
        assert!(first != other, "{stack}: the seed has no effect");
    }
}

#[test]
fn uploads_repeat() {
    repeats(UPLOAD, &[&STACKS[..], &TCP].concat());
}

#[test]
fn downloads_repeat() {
    repeats(DOWNLOAD, &[&STACKS[..], &TCP].concat());
}

#[test]
fn requests_repeat() {
    repeats(REQUESTS, &STACKS);
}

#[test]
fn a_download_delivers_every_byte_once() {
    for stack in STACKS.into_iter().chain(TCP) {
        let flow = simulate(stack, DOWNLOAD, 3).1.endpoints.remove(0);
        assert_eq!(flow.receiver.delivered_bytes, 2_000_000, "{stack}");
        assert_eq!(flow.transfers.expect("a transfer").completed, 1, "{stack}");
    }
}

#[test]
fn requests_are_answered_one_after_the_other() {
    for stack in STACKS {
        let flow = simulate(stack, REQUESTS, 3).1.endpoints.remove(0);
        assert_eq!(flow.receiver.delivered_bytes, 10 * 50_000, "{stack}");
        assert_eq!(flow.sender.delivered_bytes, 10 * 300, "{stack}");
        assert_eq!(flow.transfers.expect("responses").completed, 10, "{stack}");
    }
}

#[test]
fn marks_reach_the_sender() {
    let flow = simulate(STACKS[0], UPLOAD, 1).1.endpoints.remove(0);
    assert!(flow.marks > 0, "the queue marks");
    let events = flow.sender.counters["congestion_events"];
    assert!(events > flow.lost, "{events} congestion events, {} losses", flow.lost);
}

#[test]
fn transports_of_two_kinds_understand_each_other() {
    for [sender, receiver] in [["quinn", "noq"], ["noq", "quinn"]] {
        let flow = format!(r#"receiver_stack = "{receiver}", {DOWNLOAD}"#);
        let flow = simulate(&format!("\"{sender}\""), &flow, 1).1.endpoints.remove(0);
        assert_eq!(flow.stack, sender);
        assert_eq!(flow.receiver.delivered_bytes, 2_000_000, "{sender} to {receiver}");
    }
}
