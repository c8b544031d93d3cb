//! The daemon over the sockets of this host: registrations, introductions, relays, discovery and
//! figures, over UDP, TCP and TLS.

mod coturn;
mod host;
mod relay;
mod running;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use host::{Host, Way};
use running::{Running, address};
use windlass_rendezvous::behavior::discover;
use windlass_rendezvous::client::Event;
use windlass_rendezvous::daemon::{BindError, Daemon, Options, StreamLimits, serve_metrics};

#[test]
fn hosts_meet_over_every_transport() {
    let running = Running::start(|_| {});
    let mut hosts = Vec::new();
    for (number, ways) in [
        (10, [Way::Udp, Way::Udp]),
        (20, [Way::Udp, Way::Tls]),
        (30, [Way::Tls, Way::Udp]),
        (40, [Way::Tcp, Way::Tls]),
    ] {
        let mut asking = Host::start(&running, number, ways[0]);
        let mut target = Host::start(&running, number + 1, ways[1]);
        let mapped = asking.wait_for(|event| match event {
            Event::Mapped(address) => Some(*address),
            _ => None,
        });
        assert_eq!(mapped, asking.local_address());
        target.wait_for(|event| (*event == Event::Registered).then_some(()));
        let introduction = asking.introduce(target.key(), b"offer");
        let from = target.wait_for(|event| match event {
            Event::Offer(offer) if offer.body == b"offer" => Some(offer.from),
            _ => None,
        });
        assert_eq!(from, asking.key());
        target.answer(introduction, b"answer");
        asking.wait_for(|event| match event {
            Event::Answer { body, .. } if body == b"answer" => Some(()),
            _ => None,
        });
        hosts.extend([asking, target]);
    }
    let figures = running.handle.figures().expect("it runs");
    assert_eq!(figures.server.registrations, 8, "{figures:?}");
    assert_eq!(figures.streams(), 4, "{figures:?}");
}

#[test]
fn a_registration_ends_with_its_stream() {
    let running = Running::start(|_| {});
    for way in [Way::Tcp, Way::Tls] {
        let mut host = Host::start(&running, 1, way);
        host.wait_for(|event| (*event == Event::Registered).then_some(()));
        assert_eq!(running.handle.figures().expect("it runs").server.registrations, 1);
        drop(host);
        running::await_that("the registration ends", || {
            running.handle.figures().expect("it runs").server.registrations == 0
        });
    }
}

#[test]
fn hosts_stay_registered_with_a_server_that_was_restarted() {
    let first = Running::start(|_| {});
    let at = first.addresses.udp[0];
    let mut host = Host::start(&first, 1, Way::Udp);
    let credentials = |event: &Event| match event {
        Event::Credentials(credentials) => Some(credentials.clone()),
        _ => None,
    };
    let before = host.wait_for(credentials);
    drop(first);
    let second = Running::start(|options| options.listen = vec![at]);
    host.restart();
    let registrations = || second.handle.figures().expect("it runs").server.registrations;
    host.serve_until(|| registrations() == 1);
    let after = Host::start(&second, 1, Way::Udp).wait_for(credentials);
    assert_eq!((before.username, before.password), (after.username, after.password));
}

#[test]
fn a_server_with_two_addresses_tells_what_nat_a_host_is_behind() {
    let port = running::free_pair_of_ports();
    let running = Running::start(|options| {
        options.listen = vec![SocketAddr::new([127, 0, 0, 1].into(), port)];
        options.alternate = Some([127, 0, 0, 2].into());
    });
    let findings = discover(running.addresses.udp[0]).expect("sockets");
    assert!(!findings.is_translated(), "{findings:?}");
    assert_eq!(findings.mapped, Some(findings.local));
    use windlass_rendezvous::behavior::Dependence::Independent;
    assert_eq!(findings.filtering, Some(Independent), "all three other sockets answer");
}

#[test]
fn an_alternate_address_must_go_with_the_first() {
    let key = running::key();
    for (listen, alternate) in [
        ("0.0.0.0:3478", "127.0.0.2"),
        ("127.0.0.1:0", "127.0.0.2"),
        ("127.0.0.1:3478", "127.0.0.1"),
        ("127.0.0.1:3478", "::1"),
    ] {
        let mut options = Options::new(key.clone(), vec![address(listen)]);
        options.alternate = Some(alternate.parse().expect("an address"));
        let error = Daemon::bind(options).expect_err("refused");
        assert!(matches!(error, BindError::Alternate(_)), "{listen} {alternate}: {error}");
    }
}

#[test]
fn invalid_stun_ends_its_stream_and_no_other() {
    let running = Running::start(|_| {});
    let mut host = Host::start(&running, 1, Way::Tls);
    host.wait_for(|event| (*event == Event::Registered).then_some(()));
    let (tcp, tls) = (running.addresses.tcp[0], running.addresses.tls[0]);
    let http = b"GET / HTTP/1.1\r\n\r\n";
    let no_hello = [0x16, 3, 1, 0, 5, 9, 9, 9, 9, 9];
    for (at, junk) in [(tcp, &http[..]), (tcp, &[0xff; 40]), (tls, http), (tls, &no_hello)] {
        running::expect_end(at, junk);
    }
    assert_eq!(running.handle.figures().expect("it runs").server.registrations, 1);
}

#[test]
fn one_network_cannot_take_all_streams() {
    let running = Running::start(|options| {
        options.stream_limits = StreamLimits { streams: 100, per_network: 3 };
    });
    let _held: Vec<_> = (0..3).map(|_| running.connect(running.addresses.tcp[0])).collect();
    running::await_that("the streams are open", || {
        running.handle.figures().expect("it runs").streams() == 3
    });
    running::expect_end(running.addresses.tcp[0], &[]);
    assert_eq!(running.handle.figures().expect("it runs").streams(), 3);
}

#[test]
fn the_page_of_metrics_has_the_figures() {
    let running = Running::start(|_| {});
    let mut host = Host::start(&running, 1, Way::Udp);
    host.wait_for(|event| (*event == Event::Registered).then_some(()));
    let any = address("127.0.0.1:0");
    let at = serve_metrics(any, running.handle.clone()).expect("a free port");
    let page = running::get(at, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    for line in [
        "windlass_rendezvous_registrations 1",
        "windlass_rendezvous_registered_total 1",
        "# TYPE windlass_rendezvous_sent_total counter",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is missing:\n{page}");
    }
    for (request, status) in [
        ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200"),
        ("GET /other HTTP/1.1\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
        ("\x01\r\n\r\n", "400"),
        (&format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000)), "431"),
    ] {
        let answer = running::get(at, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    drop(running);
    let answer = running::get(at, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let running = Running::start(|_| {});
    let taken = running.addresses.udp[0];
    let options = Options::new(running::key(), vec![taken]);
    let error = Daemon::bind(options).expect_err("taken").to_string();
    assert!(error.starts_with(&format!("UDP at {taken}: ")), "{error}");
}

#[test]
fn a_wildcard_address_serves_both_families() {
    let running = Running::start(|options| options.listen = vec![address("[::]:0")]);
    let port = running.addresses.udp[0].port();
    for ip in [IpAddr::from([127, 0, 0, 3]), "::1".parse().expect("an address")] {
        let findings = discover(SocketAddr::new(ip, port)).expect("sockets");
        assert_eq!(findings.mapped, Some(findings.local), "in the family of the request");
    }
}

#[test]
fn it_ends_when_it_is_stopped() {
    let running = Running::start(|_| {});
    running.handle.stop();
    running::expect_end_within(running, Duration::from_secs(5));
}
