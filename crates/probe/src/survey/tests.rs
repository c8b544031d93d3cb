use super::*;
use crate::dialogue::Exchange;
use crate::session::Runs;
use crate::topic::Ending;
use crate::topic::split::Test;
use crate::{http, tls};
use proptest::prelude::*;

fn settings() -> Settings {
    Settings {
        tests: vec![Test::Split(1), Test::Split(4)],
        bursts: Vec::new(),
        runs: Runs::Exactly(2),
        acks: 3,
        timeout: Span::from_secs(3),
        patience: Span::from_secs(6),
        mss: None,
        family: None,
        user_agent: http::USER_AGENT.to_owned(),
        find_object: false,
        ecn: false,
        controllers: None,
        scheme: None,
        exchange: Exchange::default(),
        tls: tls::client_config().expect("sound"),
    }
}

const PACE: Pace = Pace { rate: 1000.0, under_way_max: 10, pause: Span::from_secs(1) };

fn survey(hosts: &[&str], pace: Pace, excluded: &str) -> Survey {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let exclusions = Exclusions::parse(excluded).expect("a list");
    Survey::new(hosts, &BTreeSet::new(), settings(), pace, Arc::new(exclusions))
}

fn silent() -> Report {
    Report {
        ending: Ending::Silent,
        syn_ack: None,
        rtt_ms: None,
        head: None,
        not_http: false,
        body: None,
        heard: None,
        ecn: None,
        observation: None,
        trace: None,
        packets_asked: None,
        burst: None,
    }
}

type Begun = (Time, SocketAddr);

/// Lets every connection be silent for a second, and every name be 192.0.2.1; gives when and where to
/// connections were begun, and what came of the hosts.
fn run(mut survey: Survey) -> (Vec<Begun>, Vec<(usize, Outcome)>) {
    let (mut now, mut begun, mut finished) = (Time::ZERO, Vec::new(), Vec::new());
    let mut open: VecDeque<(Time, usize)> = VecDeque::new();
    while !survey.is_done() {
        while let Some(action) = survey.poll_action(now) {
            match action {
                Action::Resolve { host, name, port } => {
                    let ip = name.parse().unwrap_or([192, 0, 2, 1].into());
                    survey.handle_addresses(now, host, Ok(vec![SocketAddr::new(ip, port)]));
                }
                Action::Connect { host, remote, .. } => {
                    begun.push((now, remote));
                    open.push_back((now + Span::from_secs(1), host));
                }
                Action::Finished { host, outcome } => finished.push((host, *outcome)),
            }
        }
        let over = open.front().map(|(at, _)| *at);
        let Some(next) = over.into_iter().chain(survey.poll_timeout()).min() else { break };
        now = now.max(next);
        if open.front().is_some_and(|(at, _)| *at <= now) {
            let (_, host) = open.pop_front().expect("there");
            survey.handle_report(now, host, silent());
        }
    }
    (begun, finished)
}

#[test]
fn names_of_one_address_take_turns_and_rest_in_between() {
    let hosts =
        ["http://a.example/", "http://b.example/", "http://192.0.2.1:8080/", "http://c.example/"];
    let (begun, finished) = run(survey(&hosts, PACE, ""));
    let starts: Vec<u64> = begun.iter().map(|(at, _)| at.as_nanos() / 1_000_000_000).collect();
    assert_eq!(starts, [0, 3, 6, 9], "each a second of connection, its rest, and that of the next");
    assert_eq!(finished.len(), 4);
}

#[test]
fn the_excluded_are_never_connected_to_whatever_name_they_have() {
    let hosts =
        ["http://a.example/", "http://198.51.100.1/", "http://[2001:db8::1]/", "http://224.0.0.1/"];
    let (begun, mut finished) = run(survey(&hosts, PACE, "192.0.2.0/24\n2001:db8::/32\n"));
    assert_eq!(begun.len(), 1);
    finished.sort_by_key(|(host, _)| *host);
    let failures: Vec<String> =
        finished.iter().map(|(_, outcome)| HostRow::of("", outcome).outcome).collect();
    assert_eq!(failures, ["excluded", "silent", "excluded", "excluded"]);
}

#[test]
fn no_more_hosts_are_under_way_and_no_more_connections_begun_than_allowed() {
    let hosts: Vec<String> = (0..200).map(|n| format!("http://10.0.0.{n}/")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let pace = Pace { rate: 20.0, under_way_max: 30, ..PACE };
    let (begun, finished) = run(survey(&hosts, pace, ""));
    assert_eq!((begun.len(), finished.len()), (200, 200));
    for (first, (from, _)) in begun.iter().enumerate() {
        let within = begun[first..].iter().filter(|(at, _)| *at < *from + Span::from_secs(1));
        assert!(within.count() <= 21);
        let open = begun[first..].iter().filter(|(at, _)| *at < *from + Span::from_secs(2));
        assert!(open.count() <= 30, "a second each, and a second of rest");
    }
}

#[test]
fn hosts_that_are_done_are_left_out() {
    let hosts = vec!["http://10.0.0.1/".to_owned(), "http://10.0.0.2/".to_owned()];
    let done = BTreeSet::from(["http://10.0.0.1/"]);
    let survey = Survey::new(hosts, &done, settings(), PACE, Arc::default());
    assert_eq!(survey.left(), (1, 0));
    let (begun, finished) = run(survey);
    assert_eq!(begun[0].1, "10.0.0.2:80".parse().expect("an address"));
    assert_eq!(finished[0].0, 1);
}

#[test]
fn a_polite_rate_has_no_bursts() {
    let burst = |rate| Pace { rate, ..PACE }.limit().burst;
    assert_eq!((burst(50.0), burst(500.0)), (1, 10));
}

proptest! {
    #[test]
    fn no_stretch_of_time_has_more_connections_than_the_burst_and_its_share(
        rate in 0.1f64..20_000.0,
        gaps in prop::collection::vec((0u64..200_000_000, 1usize..30), 1..30),
    ) {
        let limit = Pace { rate, ..PACE }.limit();
        let mut bucket = TokenBucket::default();
        let burst = limit.burst as f64;
        let mut now = Time::ZERO;
        let mut taken = Vec::new();
        for (gap_ns, asks) in gaps {
            now += Span::from_nanos(gap_ns);
            taken.extend((0..asks).filter(|_| bucket.take(&limit, now, 1)).map(|_| now));
        }
        for (first, from) in taken.iter().enumerate() {
            for (last, to) in taken.iter().enumerate().skip(first) {
                let count = (last - first + 1) as f64;
                let t = to.saturating_since(*from).as_secs_f64();
                prop_assert!(count <= burst + rate * t + 1e-6, "{} in {} s", count, t);
            }
        }
    }

    #[test]
    fn a_survey_that_always_has_hosts_ready_gets_the_whole_rate(rate in 0.1f64..20_000.0) {
        let limit = Pace { rate, ..PACE }.limit();
        let mut bucket = TokenBucket::default();
        let mut now = Time::ZERO;
        let count = 500;
        for _ in 0..count {
            now = now.max(bucket.ready_at(&limit, 1));
            prop_assert!(bucket.take(&limit, now, 1));
        }
        let least = f64::from(count) / rate;
        let took = now.saturating_since(Time::ZERO).as_secs_f64();
        prop_assert!(took <= least * 1.001 + 1e-3, "{} s, at least {}", took, least);
    }
}
