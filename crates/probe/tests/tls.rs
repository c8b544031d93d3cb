//! HTTPS: rustls over the engine at both ends, in virtual time.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::server::config;
use common::{A_TO_E_AND_S, PATH, Path, World, settings};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::sync::Arc;
use windlass_base::Span;
use windlass_probe::ecn::{Echo, Mode};
use windlass_probe::session::Outcome;
use windlass_probe::split::Reaction;
use windlass_probe::{Session, Settings, Target, Test};
use windlass_probe_serve::{EngineServer, Outgoing, Speaker, page, says};
use windlass_tcp::{Config, Profile};

/// A page behind TLS.
struct TlsSpeaker {
    tls: ServerConnection,
    page: Vec<u8>,
    request: Vec<u8>,
}

impl Speaker for TlsSpeaker {
    fn hear(&mut self, mut bytes: &[u8], out: &mut Outgoing) -> bool {
        let mut done = false;
        while !bytes.is_empty() && self.tls.read_tls(&mut bytes).is_ok() {
            if self.tls.process_new_packets().is_err() {
                return true;
            }
            let mut chunk = [0; 4096];
            while let Ok(len @ 1..) = self.tls.reader().read(&mut chunk) {
                self.request.extend_from_slice(&chunk[..len]);
                done = self.request.ends_with(b"\r\n\r\n");
                let mut rest = if done { &self.page[..] } else { &[] };
                // Its buffer is limited; records leave in between.
                while !rest.is_empty() {
                    let taken = self.tls.writer().write(rest).expect("open");
                    rest = &rest[taken..];
                    self.tls.write_tls(out).expect("memory");
                }
            }
        }
        while self.tls.wants_write() {
            self.tls.write_tls(out).expect("memory");
        }
        done
    }
}

/// A TLS configuration whose certificate has `names` bytes of names.
fn server_config(
    names: usize,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ServerConfig> {
    let names: Vec<String> = (0..names / 50).map(|i| format!("{i:0>40}.example")).collect();
    let names = std::iter::once("host.example".to_owned()).chain(names).collect::<Vec<_>>();
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("its own")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into());
    Arc::new(config.expect("a certificate and its key"))
}

fn measure(tcp: Config, names: usize, target: &str, tests: &[Test]) -> Outcome {
    let tls = server_config(names, rustls::DEFAULT_VERSIONS);
    measure_by(tls, PATH, tcp, target, tests)
}

fn measure_by(
    tls: Arc<ServerConfig>,
    path: Path,
    tcp: Config,
    target: &str,
    tests: &[Test],
) -> Outcome {
    run(tls, path, tcp, target, settings(tests, 2)).outcome()
}

fn run(
    tls: Arc<ServerConfig>,
    path: Path,
    tcp: Config,
    target: &str,
    settings: Settings,
) -> Session {
    let speaker = move || {
        let tls = ServerConnection::new(Arc::clone(&tls)).expect("sound");
        Box::new(TlsSpeaker { tls, page: page(300_000), request: Vec::new() }) as Box<dyn Speaker>
    };
    let mut world = World::new(path, 2).with("192.0.2.1:443", EngineServer::new(tcp, speaker));
    let mut session = Session::new(Target::parse(target).expect("a target"), settings);
    world.run(&mut session, &[("host.example", "192.0.2.1")]);
    session
}

#[test]
fn a_server_behind_tls_echoes_the_marks_on_the_first_packets_until_the_client_answers() {
    for version in [&TLS12, &TLS13] {
        let tcp = config(Profile::Linux, 10).with(|c| c.ecn.enabled = true);
        let settings = Settings { ecn: true, ..settings(&[Test::BASELINE], 1) };
        let tls = server_config(0, &[version]);
        let outcome = run(tls, PATH, tcp, "https://host.example/", settings).outcome();
        let ecn = outcome.ecn.expect("asked");
        assert_eq!((ecn.mode, ecn.feedback), (Mode::Classic, Some(Echo::Echoes)), "{version:?}");
        let trial = ecn.trial().expect("answered");
        // ACKs of the handshake, and a few before the CWR of the request arrives.
        let packets = trial.arrived.ect_0;
        assert!(trial.feedback.echoes < packets, "{version:?}: {trial:?}");
        assert!(packets > 3 && trial.arrived.not_ect == 0, "{version:?}: {trial:?}");
    }
}

#[test]
fn bursts_behind_tls_begin_after_the_handshake() {
    let tls = server_config(0, rustls::DEFAULT_VERSIONS);
    let sizes = Settings { bursts: vec![4, 20], ..settings(&[], 5) };
    let session = run(tls, PATH, config(Profile::Linux, 10), "https://host.example/", sizes);
    let outcome = session.burst_outcome();
    for row in &outcome.verdict.sizes {
        assert_eq!((row.runs, row.lost, row.grown), ((5, 5), 0, 5), "{outcome:?}");
        assert!(
            row.sent >= 5 * u64::from(row.packets),
            "records may end in short packets: {row:?}"
        );
    }
    assert_eq!(outcome.verdict.sizes.len(), 2);
}

#[test]
fn an_ack_counter_behind_tls_is_recognized_and_the_port_is_found() {
    let outcome = measure(config(Profile::Rfc2581, 10), 0, "host.example", &A_TO_E_AND_S);
    assert_eq!(outcome.url.as_deref(), Some("https://host.example/"));
    let verdict = outcome.verdict.expect("measured");
    assert_eq!(verdict.reaction, Reaction::CountsAcks, "{:?}", outcome.tests);
    let window = verdict.initial_window.expect("seen");
    assert!(window.packets >= 10 && !window.exact, "records end in short packets: {window:?}");
}

#[test]
fn a_byte_counter_behind_tls_gains_nothing() {
    let tests = [Test::Split(1), Test::Split(4), Test::Split(12)];
    let outcome = measure(config(Profile::Linux, 10), 0, "https://host.example/", &tests);
    let reaction = outcome.verdict.expect("measured").reaction;
    assert!(matches!(reaction, Reaction::CountsBytes { .. }), "{reaction}");
}

#[test]
fn certificates_that_fill_the_first_flight_tell_the_initial_window_exactly() {
    let config = config(Profile::Rfc2581, 3);
    let tests = [Test::Split(1), Test::Split(4)];
    let outcome = measure(config, 8000, "https://host.example/", &tests);
    let verdict = outcome.verdict.expect("measured");
    let window = verdict.initial_window.expect("seen");
    assert_eq!((window.packets, window.bytes, window.exact), (3, 3 * 1460, true));
    assert_eq!(verdict.reaction, Reaction::CountsAcks, "{:?}", outcome.tests);
}

#[test]
fn a_handshake_that_leaves_room_in_the_window_makes_it_a_lower_bound() {
    let tests = [Test::Split(1), Test::Split(4)];
    for names in [500, 1000, 2000, 3000, 4000, 5000] {
        let config = config(Profile::Rfc2581, 10);
        let outcome = measure(config, names, "https://host.example/", &tests);
        let window = outcome.verdict.and_then(|verdict| verdict.initial_window).expect("seen");
        assert!(window.segments <= 10 && !window.exact, "{names} bytes of names: {window:?}");
    }
}

/// TLS 1.2 needs one more round trip before the request; a server's timer expires after three.
#[test]
fn both_versions_of_tls_are_measured_at_round_trips_from_2_to_400_ms() {
    for version in [&TLS12, &TLS13] {
        for (names, initial_window) in [(0, 10), (4000, 10), (0, 3), (4000, 3), (0, 4)] {
            for delay_ms in [1, 20, 50, 60, 200] {
                for profile in [Profile::Rfc2581, Profile::Linux] {
                    assert_right_verdict(version, names, initial_window, delay_ms, profile);
                }
            }
        }
    }
}

fn assert_right_verdict(
    version: &'static SupportedProtocolVersion,
    names: usize,
    initial_window: u32,
    delay_ms: u64,
    profile: Profile,
) {
    let path = Path { delay: Span::from_millis(delay_ms), loss: 0.0 };
    let tests = [Test::Split(1), Test::Split(4)];
    let tcp = config(profile, initial_window);
    let tls = server_config(names, &[version]);
    let outcome = measure_by(tls, path, tcp, "https://host.example/", &tests);
    let verdict = outcome.verdict.expect("measured");
    let case = format!("{version:?}, {names}, {initial_window}, {delay_ms} ms: {verdict:?}");
    match profile {
        Profile::Rfc2581 => assert_eq!(verdict.reaction, Reaction::CountsAcks, "{case}"),
        _ => assert!(matches!(verdict.reaction, Reaction::CountsBytes { .. }), "{case}"),
    }
    let window = verdict.initial_window.expect("seen");
    let bytes = u64::from(initial_window) * 1460;
    assert!(window.bytes <= bytes && (!window.exact || window.bytes == bytes), "{case}");
    let segments = window.segments;
    assert!(segments <= initial_window && segments <= window.packets, "{case}");
}

#[test]
fn a_server_without_tls_is_reported_as_such() {
    let server = EngineServer::new(config(Profile::Linux, 10), says(page(10)));
    let mut world = World::new(PATH, 2).with("192.0.2.1:443", server);
    let target = Target::parse("https://192.0.2.1/").expect("a target");
    let mut session = Session::new(target, settings(&[Test::BASELINE], 1));
    world.run(&mut session, &[]);
    let failure = session.outcome().failure.expect("none");
    assert!(failure.to_string().contains("no answer") || failure.to_string().contains("TLS"));
}
