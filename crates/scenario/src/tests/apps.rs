use super::*;
use windlass_base::Span;
use windlass_sim::model::{Requests, Reuse, TcpApp};
use windlass_traffic::video::Rule;
use windlass_traffic::{Arrivals, Process, Sizes};

const FLOW: &str = r#"schema = 2
name = "apps"
duration = "1s"
nodes = ["a", "b"]
links = [{ a = "a", b = "b", delay = "1ms", rate = "8Mbit/s" }]
defaults = { profile = "rfc5681", mss = 1012 }

[[flows]]
from = "a"
to = "b"
"#;

fn app(keys: &str) -> TcpApp {
    scenario(&format!("{FLOW}{keys}"), &[]).flows[0].app.clone()
}

fn messages(keys: &str) -> Vec<String> {
    let problems = from_toml("x.toml", &format!("{FLOW}{keys}"), &[]).expect_err("a fault");
    problems.to_string().lines().map(str::to_owned).collect()
}

#[test]
fn a_load_is_the_arrivals_whose_packets_take_so_much_of_the_bottleneck() {
    let found =
        app("[flows.app]\nkind = \"arrivals\"\narrivals = { load = 0.5 }\nsizes = \"10kB\"");
    let TcpApp::Arriving { arrivals: Arrivals::Drawn { process, sizes, count } } = found else {
        panic!("drawn arrivals");
    };
    assert_eq!((sizes, count), (Sizes::Fixed(10_000), None));
    let Process::Poisson { per_second } = process else { panic!("independent arrivals") };
    // Ten segments of 1000 bytes, which timestamps leave of 1012, with 52 bytes of headers each: 10,520
    // bytes of the 500,000 that are half of 8 Mbit/s.
    assert!((per_second - 500_000.0 / 10_520.0).abs() < 1e-3, "{per_second}");
}

#[test]
fn the_flows_of_a_table_have_its_load_together() {
    let keys =
        "count = 4\napp = { kind = \"arrivals\", arrivals = { load = 0.8 }, sizes = \"9kB\" }";
    let flows = scenario(&format!("{FLOW}{keys}"), &[]).flows;
    let alone = app("app = { kind = \"arrivals\", arrivals = { load = 0.2 }, sizes = \"9kB\" }");
    assert_eq!(flows.len(), 4);
    assert!(flows.iter().all(|flow| flow.app == alone));
}

#[test]
fn a_request_is_small_and_its_connection_kept_unless_keys_say_otherwise() {
    let least = app("app = { kind = \"requests\", response = \"50kB\" }");
    let TcpApp::Requests(least) = least else { panic!("requests") };
    assert_eq!((least.reuse, least.barrier), (Reuse::Kept, None));
    assert_eq!(least.dialogue.request, Sizes::Fixed(300));
    assert_eq!((least.dialogue.think, least.dialogue.count), (Span::ZERO, None));
    let all =
        app("[flows.app]\nkind = \"requests\"\nrequest = \"1kB\"\nresponse = \"web-search\"\n\
         think = \"2s\"\nexponential = true\ncount = 9\nconnection = \"new\"\nbarrier = true");
    let TcpApp::Requests(Requests { dialogue, reuse, barrier }) = all else { panic!("requests") };
    assert_eq!((reuse, barrier), (Reuse::New, Some(0)));
    assert_eq!((dialogue.think, dialogue.count), (Span::from_secs(2), Some(9)));
    assert!(dialogue.exponential && matches!(dialogue.response, Sizes::Empirical(_)));
}

#[test]
fn flows_of_one_table_share_a_barrier_and_others_have_their_own() {
    let flows = "count = 3\napp = { kind = \"requests\", response = \"9kB\", barrier = true }\n\
                 [[flows]]\nfrom = \"a\"\nto = \"b\"\n\
                 app = { kind = \"requests\", response = \"9kB\", barrier = true }\n";
    let flows = scenario(&format!("{FLOW}{flows}"), &[]).flows;
    let barrier = |flow: &windlass_sim::model::Flow| match &flow.app {
        TcpApp::Requests(requests) => requests.barrier,
        _ => None,
    };
    let found: Vec<_> = flows.iter().map(barrier).collect();
    assert_eq!(found, [Some(0), Some(0), Some(0), Some(1)]);
}

#[test]
fn a_page_opens_six_connections_unless_keys_say_otherwise() {
    let found =
        app("[flows.app]\nkind = \"pages\"\ndocument = \"30kB\"\nobjects = { min = 5, max = 9 }\n\
         object = { kind = \"exponential\", mean = \"20kB\" }");
    let TcpApp::Pages(pages) = found else { panic!("pages") };
    assert_eq!(pages.page.connections, 6);
    assert_eq!(pages.page.objects, Sizes::Uniform { min: 5, max: 9 });
}

#[test]
fn a_video_fills_its_buffer_by_its_rule() {
    let found = app(
        "[flows.app]\nkind = \"video\"\nladder = [\"1Mbit/s\", \"4Mbit/s\"]\nbuffer = \"40s\"\n\
         rule = { kind = \"bba\" }",
    );
    let TcpApp::Video(player) = found else { panic!("a video") };
    let [reservoir, cushion] = [10, 20].map(Span::from_secs);
    assert_eq!(player.video.rule, Rule::Bba0 { reservoir, cushion });
    assert_eq!(player.video.startup, Span::from_secs(8));
    let fixed = app("[flows.app]\nkind = \"video\"\nladder = [\"1Mbit/s\", \"4Mbit/s\"]\n\
         rule = { kind = \"fixed\", level = 2 }");
    let TcpApp::Video(player) = fixed else { panic!("a video") };
    assert_eq!(player.video.rule, Rule::Fixed { level: 1 });
}

#[test]
fn applications_that_cannot_be_are_refused() {
    for (keys, expected) in [
        (
            "app = { kind = \"limited\", size = \"1kB\", interval = \"0s\" }",
            "interval: expected a time above zero",
        ),
        (
            "app = { kind = \"arrivals\", arrivals = { rate = 1 } }",
            "arrivals: expected `sizes` beside it",
        ),
        (
            "app = { kind = \"pages\", document = \"1kB\", objects = { min = 3, max = 2 }, object = \"1kB\" }",
            "objects: expected min up to max, found 3 to 2",
        ),
        (
            "app = { kind = \"pages\", document = \"1kB\", objects = 1.5, object = \"1kB\" }",
            "objects: expected a whole number above zero",
        ),
        (
            "app = { kind = \"video\", ladder = [\"4Mbit/s\", \"1Mbit/s\"], rule = { kind = \"rate\" } }",
            "ladder: expected bitrates",
        ),
        (
            "app = { kind = \"video\", ladder = [\"1Mbit/s\"], rule = { kind = \"fixed\", level = 2 } }",
            "app: expected",
        ),
        (
            "app = { kind = \"requests\", response = \"9kB\", connection = \"old\" }",
            "connection: expected a connection (\"kept\", \"new\")",
        ),
    ] {
        let found = messages(keys);
        assert!(found.len() == 1 && found[0].contains(expected), "{keys}: {found:?}");
    }
}
