//! A web server whose page is too small, and its robots.txt. For every input the search for an object must end
//! after at most five requests, all of the same server.

use std::net::SocketAddr;
use std::sync::LazyLock;
use windlass_base::Span;
use windlass_probe::dialogue::Exchange;
use windlass_probe::http::{Head, USER_AGENT};
use windlass_probe::session::Runs;
use windlass_probe::{
    Body, Ending, Purpose, ReadOrder, Report, Session, Settings, Step, Target, Test, tls,
};

static SETTINGS: LazyLock<Settings> = LazyLock::new(|| Settings {
    tests: vec![Test::BASELINE, Test::Split(4)],
    bursts: Vec::new(),
    runs: Runs::Exactly(1),
    acks: 3,
    timeout: Span::from_secs(3),
    patience: Span::from_secs(6),
    mss: None,
    family: None,
    user_agent: USER_AGENT.to_owned(),
    scheme: None,
    exchange: Exchange::default(),
    find_object: true,
    ecn: false,
    controllers: None,
    tls: tls::client_config().expect("sound"),
});

/// The first byte is the share of the page in the others; the rest is robots.txt.
pub(crate) fn run(bytes: &[u8]) {
    let Some((share, texts)) = bytes.split_first() else { return };
    let (page, robots) = texts.split_at(texts.len() * usize::from(*share) / 255);
    let target = Target::parse("http://192.0.2.1:81/dir/page").expect("a target");
    let mut session = Session::new(target, SETTINGS.clone());
    let server: SocketAddr = ([192, 0, 2, 1], 81).into();
    session.handle_addresses(Ok(vec![server]));
    let mut requests = 0;
    loop {
        let Step::Connect { remote, order } = session.step() else { panic!("a page was found") };
        assert_eq!(remote, server);
        let text = match order.purpose {
            Purpose::Read(ReadOrder::Page { .. }) => page,
            Purpose::Read(ReadOrder::Text) => robots,
            Purpose::Scout => b"",
            _ => break,
        };
        requests += 1;
        assert!(requests <= 5, "too many requests");
        session.handle_report(answer(text, u64::from(*share) * requests));
    }
    let outcome = session.outcome();
    let url = outcome.url.expect("found");
    assert!(url.starts_with("http://192.0.2.1:81/"), "{url}");
    assert!(requests > 1 || url.ends_with("/dir/page"), "{url}");
}

fn answer(text: &[u8], content_length: u64) -> Report {
    let content_length = Some(content_length);
    let head =
        Head { status: 200, content_length, is_html: true, head_bytes: 99, ..Head::default() };
    Report {
        ending: Ending::HeadRead,
        syn_ack: None,
        rtt_ms: None,
        head: Some(head),
        not_http: false,
        body: Some(Body { begin: text.to_vec(), bytes: text.len() as u64, is_whole: true }),
        observation: None,
        packets_asked: None,
        burst: None,
        trace: None,
        heard: None,
        ecn: None,
    }
}
