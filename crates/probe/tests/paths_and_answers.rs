//! Disturbances by paths, and servers that speak before their answers: the verdict names the true
//! reason.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::server::config;
use common::{A_TO_E_AND_S, PATH, World, settings};
use std::collections::VecDeque;
use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_probe::session::{Failure, Outcome};
use windlass_probe::split::Reaction;
use windlass_probe::{Session, Target, Test};
use windlass_probe_serve::{Answer, EngineServer, Server, says};
use windlass_tcp::Profile;
use windlass_tcp::cc::{Ack, Congestion, Controller, ControllerFactory, Params, Window};

const PAGE_BYTES: usize = 400_000;

fn run(server: impl Server, tests: &[Test], url: &str, names: &[(&str, &str)]) -> Outcome {
    let mut world = World::new(PATH, 1).with("192.0.2.1:80", server);
    let mut session = Session::new(Target::parse(url).expect("a URL"), settings(tests, 3));
    world.run(&mut session, names);
    session.outcome()
}

fn reaction(outcome: &Outcome) -> &Reaction {
    &outcome.verdict.as_ref().expect("measured").reaction
}

fn page_server(profile: Profile) -> impl Server {
    EngineServer::new(config(profile, 3), says(Answer::page(PAGE_BYTES)))
}

/// A path that delivers each packet of the server so many times.
struct Copied<S> {
    inner: S,
    copies: usize,
    queue: VecDeque<Vec<u8>>,
}

impl<S: Server> Server for Copied<S> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        self.inner.handle_packet(now, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.queue.is_empty() {
            let packet = self.inner.poll_packet(now)?;
            self.queue.extend(std::iter::repeat_n(packet, self.copies));
        }
        self.queue.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.inner.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
    }
}

#[test]
fn copies_that_the_path_makes_are_no_retransmissions() {
    let server = Copied { inner: page_server(Profile::Rfc2581), copies: 2, queue: VecDeque::new() };
    let outcome = run(server, &A_TO_E_AND_S, "http://192.0.2.1/", &[]);
    assert_eq!(reaction(&outcome), &Reaction::CountsAcks, "{outcome:?}");
    let runs = outcome.runs.iter().flat_map(|report| &report.observation);
    assert!(runs.clone().all(|run| run.duplicated > 5 && !run.timeout_before_acks));
    let notes = &outcome.verdict.as_ref().expect("measured").notes;
    assert!(notes.iter().any(|note| note.contains("copies of packets")), "{notes:?}");
}

/// Slow start that gains so many segments for so many ACKs.
#[derive(Copy, Clone, Debug)]
struct Rate {
    segments: u64,
    acks: u64,
}

impl ControllerFactory for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let (mss, window) = (u64::from(params.mss), Window::new(params));
        Box::new(AtRate { rule: *self, mss, window, acks: 0, gained: 0 })
    }
}

#[derive(Clone, Debug)]
struct AtRate {
    rule: Rate,
    mss: u64,
    window: Window,
    acks: u64,
    gained: u64,
}

impl Controller for AtRate {
    fn cwnd(&self) -> f64 {
        self.window.cwnd() + (self.gained * self.mss) as f64
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, _: &Ack) {
        self.acks += 1;
        self.gained = self.acks * self.rule.segments / self.rule.acks;
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.reduce(congestion, 0.5);
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
    }
}

#[test]
fn servers_that_gain_more_or_less_than_a_segment_an_ack_are_named_so() {
    for (segments, acks) in [(2, 1), (1, 2), (3, 1)] {
        let config =
            config(Profile::Rfc2581, 10).with(|c| c.congestion = Arc::new(Rate { segments, acks }));
        let server = EngineServer::new(config, says(Answer::page(PAGE_BYTES)));
        let outcome = run(server, &A_TO_E_AND_S, "http://192.0.2.1/", &[]);
        let expected = Reaction::CountsAcksAtRate { segments: segments as u32, acks: acks as u32 };
        assert_eq!(reaction(&outcome), &expected, "{:?}", outcome.tests);
        let window = outcome.verdict.expect("measured").initial_window.expect("seen");
        assert_eq!((window.packets, window.exact), (10, true));
    }
}

const HINT: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload; as=style\r\n\r\n";

fn answer(head: &str) -> Answer {
    let head = format!("{head}Content-Length: {PAGE_BYTES}\r\nConnection: close\r\n\r\n");
    let mut bytes = head.into_bytes();
    bytes.resize(bytes.len() + PAGE_BYTES, b'x');
    Answer::from(bytes)
}

#[test]
fn heads_of_all_forms_precede_a_measured_page() {
    let many: String = (0..140).map(|n| format!("X-{n}: 1\r\n")).collect();
    for head in [
        format!("{HINT}HTTP/1.1 200 OK\r\nServer: demo\r\n"),
        format!("HTTP/1.1 100 Continue\r\n\r\n{HINT}{HINT}HTTP/1.1 200 OK\r\nServer: demo\r\n"),
        "HTTP/1.1 200 OK\r\nX-Policy: one;\r\n two\r\nServer: demo\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\n{many}Server: demo\r\n"),
        "HTTP/1.1 200 OK\r\nX-Name : 1\r\nServer : demo\r\n".to_owned(),
    ] {
        let server = EngineServer::new(config(Profile::Rfc2581, 10), says(answer(&head)));
        let outcome = run(server, &[Test::Split(1), Test::Split(4)], "http://192.0.2.1/", &[]);
        assert_eq!(
            (outcome.status, outcome.server.as_deref()),
            (Some(200), Some("demo")),
            "{head}"
        );
        assert_eq!(reaction(&outcome), &Reaction::CountsAcks, "{head}: {outcome:?}");
    }
}

#[test]
fn an_interim_answer_may_precede_a_redirect() {
    let redirect = format!(
        "{HINT}HTTP/1.1 301 Moved\r\nLocation:\r\n http://b.example/page\r\nContent-Length: 0\r\n\r\n"
    );
    let mut world = World::new(PATH, 1)
        .with(
            "192.0.2.1:80",
            EngineServer::new(config(Profile::Rfc2581, 10), says(redirect.into_bytes())),
        )
        .with("192.0.2.2:80", page_server(Profile::Rfc2581));
    let target = Target::parse("http://192.0.2.1/").expect("a URL");
    let mut session = Session::new(target, settings(&[Test::Split(1), Test::Split(4)], 2));
    world.run(&mut session, &[("b.example", "192.0.2.2")]);
    let outcome = session.outcome();
    assert_eq!(outcome.url.as_deref(), Some("http://b.example/page"));
    assert_eq!(reaction(&outcome), &Reaction::CountsAcks);
}

#[test]
fn a_redirect_to_an_address_that_two_programs_read_differently_is_not_followed() {
    for to in ["http://010.0.0.1/", "http://2130706433/", "//0x7f.1/"] {
        let redirect = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        let server = EngineServer::new(config(Profile::Rfc2581, 10), says(redirect.into_bytes()));
        let outcome = run(server, &[Test::Split(1)], "http://192.0.2.1/", &[]);
        assert!(matches!(outcome.failure, Some(Failure::BadRedirect { .. })), "{to}: {outcome:?}");
        assert!(outcome.runs.is_empty());
    }
}

#[test]
fn a_name_with_addresses_that_lead_nowhere_is_measured_at_the_one_that_answers() {
    let mut world = World::new(PATH, 1).with("192.0.2.1:80", page_server(Profile::Rfc2581));
    let target = Target::parse("http://one.example/").expect("a URL");
    let mut session = Session::new(target, settings(&[Test::Split(1), Test::Split(4)], 2));
    let names = [
        ("one.example", "2001:db8::dea1"),
        ("one.example", "2001:db8::dea2"),
        ("one.example", "::ffff:192.0.2.1"),
    ];
    let begun = world.now;
    world.run(&mut session, &names);
    let outcome = session.outcome();
    assert_eq!(outcome.address.as_deref(), Some("192.0.2.1:80"));
    assert_eq!(outcome.unanswered, ["2001:db8::dea1"]);
    // Half a second for the dead address, and four runs of some three seconds.
    let took = world.now.saturating_since(begun);
    assert!(took < Span::from_secs(16), "{took:?}");
}
