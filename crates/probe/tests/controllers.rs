//! Which controller a server runs: servers made of the engine, in virtual time.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::Path;
use common::accurate::AccurateServer;
use common::engine::{self, known, measure_server};
use common::marking::Marked;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use windlass_base::{Rng, Span, Time};
use windlass_probe::cca::{Answer, Controller, Library, Sample, Show, Signature, Trace};
use windlass_probe_serve::Server;
use windlass_tcp::cc::{self, Ack, Congestion, ControllerFactory, Params, Window};

const KNOWN: [&str; 4] = ["reno", "cubic", "new-ecn", "tahoe"];

/// Measures a server with this controller and a page of so many bytes.
fn measure(
    controller: Arc<dyn ControllerFactory>,
    path: Path,
    library: Library,
    bytes: usize,
) -> (Controller, Vec<Trace>) {
    measure_server(engine::server(controller, bytes), path, library)
}

fn path(delay_ms: u64, loss: f64) -> Path {
    Path { delay: Span::from_millis(delay_ms), loss }
}

/// The signatures of the engine's controllers on one path.
fn library() -> Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(make_library).clone()
}

fn make_library() -> Library {
    let sample = |name: &&str| {
        let (_, traces) = measure(known(name), path(10, 0.0), Library::default(), 8 << 20);
        let trace = traces.first().expect("a trace");
        Sample {
            controller: (*name).to_owned(),
            rtt_ms: trace.rtt_ms,
            source: "a test".to_owned(),
            signature: Signature::of(trace),
        }
    };
    Library::of(KNOWN.iter().map(sample).collect())
}

#[test]
fn controllers_are_distinguished_on_paths_that_the_library_does_not_have() {
    let library = library();
    for path in [path(1, 0.0), path(70, 0.0), path(20, 0.01)] {
        for name in KNOWN {
            let (verdict, traces) = measure(known(name), path, library.clone(), 8 << 20);
            assert_eq!(verdict.identity.controllers, [name], "{verdict:?}");
            assert!(verdict.identity.confidence > 0.7, "{verdict:?}");
            let answer = verdict.marks.map(|marks| marks.answer);
            assert_eq!(answer, Some(Answer::Once), "{name}: {:?}", verdict.marks);
            assert!(traces.iter().all(|trace| trace.bytes < 8_000_000));
        }
    }
}

#[test]
fn with_accecn_one_mark_is_fed_back_once_and_the_controllers_are_the_same() {
    for name in KNOWN {
        let server = engine::server(known(name), 8 << 20);
        let (server, marks) = AccurateServer::new(server);
        let (verdict, traces) = measure_server(server, path(20, 0.0), library());
        let [trace] = &traces[..] else { panic!("one trial: {verdict:?}") };
        assert!(trace.ecn && trace.accurate, "{name}");
        assert_eq!(verdict.identity.controllers, [name], "{verdict:?}");
        let seen = verdict.marks.expect("whole");
        assert_eq!((seen.answer, seen.accurate), (Answer::Once, true), "{name}: {seen:?}");
        let of = |show| {
            let rounds = trace.rounds.iter().filter(move |round| round.show == show);
            rounds.map(|round| round.marks).sum::<u32>()
        };
        assert_eq!(of(Show::Mark), 1, "{name}: {trace:?}");
        // The server decodes from ACE the marks that the script has fed back, and those of at most
        // one more round.
        let fed_back: u32 = trace.rounds.iter().map(|round| round.marks).sum();
        let last_round = 40;
        assert!(of(Show::Marks) > 8 && fed_back <= marks.get(), "{name}: {fed_back}");
        assert!(marks.get() <= fed_back + last_round, "{name}: {} {fed_back}", marks.get());
    }
}

#[test]
fn without_accecn_a_mark_is_fed_back_until_the_server_answers() {
    let (_, traces) = measure(known("reno"), path(20, 0.0), Library::default(), 8 << 20);
    let rounds = traces[0].rounds.iter().filter(|round| round.show == Show::Mark);
    let marks: u32 = rounds.map(|round| round.marks).sum();
    assert!(marks > 10 && !traces[0].accurate, "{marks}");
}

#[test]
fn losses_of_the_path_are_hidden_from_the_server() {
    let (_, clean) = measure(known("reno"), path(20, 0.0), Library::default(), 8 << 20);
    let (_, lossy) = measure(known("reno"), path(20, 0.02), Library::default(), 8 << 20);
    assert!(lossy[0].path_losses > 20 && clean[0].path_losses == 0, "{:?}", lossy[0].path_losses);
    let distance = Signature::of(&clean[0]).distance(&Signature::of(&lossy[0]));
    assert!(distance.is_some_and(|distance| distance < 0.03), "{distance:?}");
}

/// A path that delivers every seventh packet a millisecond late, and every fifth one twice, as asked.
struct Untidy<S> {
    inner: S,
    late: bool,
    twice: bool,
    count: u64,
    held: VecDeque<(Time, Vec<u8>)>,
}

impl<S: Server> Server for Untidy<S> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        self.inner.handle_packet(now, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.held.front().is_some_and(|(due, _)| *due <= now) {
            return self.held.pop_front().map(|(_, packet)| packet);
        }
        let packet = self.inner.poll_packet(now)?;
        self.count += 1;
        if self.twice && self.count.is_multiple_of(5) {
            self.held.push_front((now, packet.clone()));
        }
        if self.late && self.count.is_multiple_of(7) {
            self.held.push_back((now + Span::from_millis(1), packet));
            return self.poll_packet(now);
        }
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        let held = self.held.iter().map(|(due, _)| *due).min();
        self.inner.poll_timeout().into_iter().chain(held).min()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
    }
}

/// A path that passes a packet in each `spacing`, behind a queue that is long enough for all.
struct Slow<S> {
    inner: S,
    spacing: Span,
    queue: VecDeque<(Time, Vec<u8>)>,
    free: Time,
}

impl<S: Server> Slow<S> {
    fn new(inner: S, spacing: Span) -> Slow<S> {
        Slow { inner, spacing, queue: VecDeque::new(), free: Time::ZERO }
    }
}

impl<S: Server> Server for Slow<S> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        self.inner.handle_packet(now, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        while let Some(packet) = self.inner.poll_packet(now) {
            self.free = self.free.max(now) + self.spacing;
            self.queue.push_back((self.free, packet));
        }
        let (due, _) = self.queue.front()?;
        if *due > now { None } else { self.queue.pop_front().map(|(_, packet)| packet) }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let due = self.queue.front().map(|(due, _)| *due);
        self.inner.poll_timeout().into_iter().chain(due).min()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
    }
}

/// With the probe's segments of 256 bytes, 1 and 2 Mbit/s are some 400 and 800 packets a second.
#[test]
fn on_a_slow_path_the_reason_is_its_rate() {
    for packets_per_s in [85, 400, 800] {
        for name in KNOWN {
            let server = engine::server(known(name), 8 << 20);
            let server = Slow::new(server, Span::from_nanos(1_000_000_000 / packets_per_s));
            let (verdict, traces) = measure_server(server, path(20, 0.0), library());
            let says = format!("at most {packets_per_s} packets a second came");
            match &verdict.why {
                Some(why) => assert!(why.contains(&says), "{name}: {verdict}"),
                None => assert_eq!(verdict.names(), name),
            }
            // Half of a window of 120 segments is less than a round brings at 800 packets a second.
            assert!(
                packets_per_s == 800 || traces.iter().all(Trace::is_slow),
                "{name}: {traces:?}"
            );
        }
    }
    for name in KNOWN {
        let (_, traces) = measure(known(name), path(20, 0.0), library(), 8 << 20);
        assert!(!traces.iter().any(Trace::is_slow), "{name}: {traces:?}");
    }
}

#[test]
fn packets_that_come_late_or_twice_are_not_lost_and_hide_no_loss_of_the_script() {
    for (late, twice) in [(true, false), (false, true)] {
        let inner = engine::server(known("cubic"), 8 << 20);
        let server = Untidy { inner, late, twice, count: 0, held: VecDeque::new() };
        let (verdict, traces) = measure_server(server, path(20, 0.0), library());
        assert_eq!(verdict.names(), "cubic", "{verdict}");
        let trace = &traces[0];
        assert!(!trace.lossy && trace.path_losses == 0, "{} lost", trace.path_losses);
        assert_eq!((trace.reordered > 50, trace.duplicated > 50), (late, twice), "{trace:?}");
    }
}

#[test]
fn a_path_that_loses_much_ends_the_script() {
    let (verdict, _) = measure(known("reno"), path(20, 0.12), library(), 8 << 20);
    assert_eq!(verdict.to_string(), "unknown: the path loses too many packets");
}

/// A packet in the stage after the first loss.
const MARKED: u32 = 600;

#[test]
fn a_mark_of_the_path_is_fed_back_until_cwr_and_the_next_trial_asks_for_no_ecn() {
    let server = engine::server(known("cubic"), 8 << 20);
    let (server, seen) = Marked::new(server, MARKED);
    let (verdict, traces) = measure_server(server, path(20, 0.0), library());
    let [first, second] = &traces[..] else { panic!("two trials: {verdict:?}") };
    // RFC 3168 sections 6.1.2 and 6.1.3.
    assert!(seen.echoes.get() > 1 && seen.reduced.get() == 2, "{seen:?}");
    assert_eq!((first.path_marks, first.complete, first.ecn), (1, false, true));
    assert!(first.rounds.iter().all(|round| !round.marked), "{first:?}");
    assert_eq!((second.path_marks, second.complete, second.ecn), (0, true, false));
    assert_eq!((verdict.names().as_str(), &verdict.marks), ("cubic", &None), "{verdict:?}");
}

#[test]
fn with_accecn_a_mark_of_the_path_is_counted_once() {
    let server = engine::server(known("cubic"), 8 << 20);
    let (accurate, marks) = AccurateServer::new(server);
    let (server, _) = Marked::new(accurate, MARKED);
    let (verdict, traces) = measure_server(server, path(20, 0.0), library());
    let [first, second] = &traces[..] else { panic!("two trials: {verdict:?}") };
    assert_eq!((marks.get(), first.path_marks, first.accurate), (1, 1, true));
    assert!(!first.complete && second.complete && !second.ecn, "{traces:?}");
    assert_eq!(verdict.names(), "cubic", "{verdict:?}");
}

#[test]
fn a_short_page_is_asked_for_again_and_again() {
    let library = library();
    let (verdict, _) = measure(known("cubic"), path(20, 0.0), library, 100_000);
    // The engine's server answers one request and ends.
    assert!(verdict.to_string().starts_with("unknown: the server's data ended"), "{verdict}");
}

/// The names that the library gives the engine's controllers: those that coincide with Linux's
/// share its name.
const NAMED: [(&str, &str); 6] = [
    ("reno", "reno"),
    ("newreno", "reno"),
    ("cubic", "cubic"),
    ("new-ecn", "new-ecn"),
    ("tahoe", "windlass tahoe"),
    ("vegas", "windlass vegas"),
];

/// On how many of the paths each is known alone, and the verdicts on the others.
fn known_on(paths: &[Path]) -> Vec<(&'static str, usize, Vec<String>)> {
    let library = Library::measured().expect("sound");
    let judge = |(name, named): (&'static str, &str)| {
        let names =
            paths.iter().map(|path| engine::measure(name, *path, library.clone()).0.names());
        let (right, other): (Vec<_>, Vec<_>) = names.partition(|found| found == named);
        (name, right.len(), other)
    };
    NAMED.into_iter().map(judge).collect()
}

#[test]
fn the_engines_controllers_are_known_by_the_library_of_this_version() {
    for (name, right, other) in known_on(&[path(9, 0.0), path(100, 0.005)]) {
        assert_eq!((right, &other[..]), (2, &[][..]), "{name}");
    }
}

#[test]
#[ignore = "minutes; make verify-probe"]
fn the_engines_controllers_are_known_on_twenty_paths() {
    let mut rng = Rng::new(7);
    let mut draw = |_| path(1 + rng.below(70), rng.uniform() * 0.02);
    let paths: Vec<Path> = (0..20).map(&mut draw).collect();
    for (name, right, other) in known_on(&paths) {
        println!("{name}: {right} of 20; {other:?}");
        assert!(right >= 18, "{name}: {other:?}");
    }
}

/// Growth and reduction that no controller of the library has.
#[derive(Copy, Clone, Debug)]
struct MadeUp {
    growth: f64,
    factor: f64,
}

impl ControllerFactory for MadeUp {
    fn name(&self) -> &'static str {
        "made-up"
    }

    fn build(&self, params: &Params) -> Box<dyn cc::Controller> {
        Box::new(MadeUpController { rule: *self, window: Window::new(params) })
    }
}

#[derive(Clone, Debug)]
struct MadeUpController {
    rule: MadeUp,
    window: Window,
}

impl cc::Controller for MadeUpController {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        let rest = self.window.slow_start(ack.credit);
        if rest > 0.0 {
            self.window.congestion_avoidance(rest, self.rule.growth);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.reduce(congestion, self.rule.factor);
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
    }
}

const MADE_UP: [MadeUp; 3] = [
    MadeUp { growth: 3.0, factor: 0.6 },
    MadeUp { growth: 0.2, factor: 0.9 },
    MadeUp { growth: 6.0, factor: 0.35 },
];

#[test]
fn controllers_that_nobody_knows_are_unknown() {
    let measured = Library::measured().expect("sound");
    for rule in MADE_UP {
        for library in [library(), measured.clone()] {
            let (verdict, _) = measure(Arc::new(rule), path(20, 0.0), library, 8 << 20);
            assert_eq!(verdict.names(), "unknown", "{rule:?}: {verdict:?}");
        }
    }
}

#[test]
#[ignore = "a minute; make verify-probe"]
fn controllers_that_nobody_knows_are_unknown_on_twenty_paths() {
    let measured = Library::measured().expect("sound");
    let mut rng = Rng::new(1);
    for rule in MADE_UP {
        let verdicts: Vec<String> = (0..20)
            .map(|_| {
                let path = path(1 + rng.below(70), rng.uniform() * 0.02);
                measure(Arc::new(rule), path, measured.clone(), 8 << 20).0.names()
            })
            .collect();
        let unknown = verdicts.iter().filter(|names| *names == "unknown").count();
        println!("{rule:?}: {unknown} of 20 unknown; {verdicts:?}");
        assert!(unknown >= 16, "{rule:?}: {verdicts:?}");
    }
}
