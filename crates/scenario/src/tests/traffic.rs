use super::*;
use std::sync::Arc;
use windlass_base::{BitRate, Span};
use windlass_sim::model::{ConstantRate, UdpTraffic};
use windlass_traffic::media::Media;
use windlass_traffic::{Arrivals, EmpiricalCdf, OnOff, Process, Sizes};

const UDP: &str = r#"schema = 2
name = "udp"
duration = "1s"
nodes = ["a", "b"]
links = [{ a = "a", b = "b", delay = "1ms", rate = "8Mbit/s" }]

[[udp]]
from = "a"
to = "b"
"#;

fn traffic(keys: &str) -> UdpTraffic {
    scenario(&format!("{UDP}{keys}"), &[]).udp[0].traffic.clone()
}

fn messages(keys: &str) -> Vec<String> {
    let problems = from_toml("x.toml", &format!("{UDP}{keys}"), &[]).expect_err("a fault");
    problems.to_string().lines().map(str::to_owned).collect()
}

fn poisson(per_second: f64, sizes: Sizes) -> UdpTraffic {
    let process = Process::Poisson { per_second };
    UdpTraffic::Arrivals(Arrivals::Drawn { process, sizes, count: None })
}

#[test]
fn a_udp_source_has_a_constant_rate_drawn_packets_or_frames() {
    let rate = BitRate::from_bits_per_sec(1_000_000).expect("not zero");
    let constant = ConstantRate { packet_bytes: 1000, rate, on_off: None };
    assert_eq!(traffic("packet_bytes = 1000\nrate = \"1Mbit/s\""), UdpTraffic::Constant(constant));
    assert_eq!(
        traffic("arrivals = { rate = 100 }\nsizes = \"1500B\""),
        poisson(100.0, Sizes::Fixed(1500))
    );
    let media = Media {
        frames_per_second: 30.0,
        bitrate: vec![(Span::ZERO, rate)],
        key_every: 1,
        key_factor: 1.0,
        packet_bytes: 1200,
        spread: 0.0,
        deadline: Span::from_millis(100),
    };
    let least = traffic("media = { bitrate = \"1Mbit/s\", deadline = \"100ms\" }");
    assert_eq!(least, UdpTraffic::Media(media.clone()));
    let all = traffic(
        "[udp.media]\nbitrate = { steps = [{ at = \"0s\", rate = \"1Mbit/s\" }] }\n\
         deadline = \"100ms\"\nframes_per_second = 25\nkey_frames = { every = 50, factor = 4.5 }\n\
         packet_bytes = 1000\nspread = 0.5",
    );
    let expected = Media {
        frames_per_second: 25.0,
        key_every: 50,
        key_factor: 4.5,
        packet_bytes: 1000,
        spread: 0.5,
        ..media
    };
    assert_eq!(all, UdpTraffic::Media(expected));
}

#[test]
fn sizes_are_fixed_or_a_distribution() {
    let sizes = |keys: &str| {
        let text = format!("arrivals = {{ rate = 1 }}\nsizes = {keys}");
        let UdpTraffic::Arrivals(Arrivals::Drawn { sizes, .. }) = traffic(&text) else {
            panic!("drawn");
        };
        sizes
    };
    assert_eq!(sizes("\"64KiB\""), Sizes::Fixed(65_536));
    let uniform = sizes("{ kind = \"uniform\", min = \"40B\", max = \"1500B\" }");
    assert_eq!(uniform, Sizes::Uniform { min: 40, max: 1500 });
    let exponential = sizes("{ kind = \"exponential\", mean = \"1kB\" }");
    assert_eq!(exponential, Sizes::Exponential { mean: 1000.0 });
    let pareto = sizes("{ kind = \"pareto\", shape = 1.2, min = \"1kB\", max = \"10MB\" }");
    let expected = Sizes::Pareto { shape: 1.2, minimum: 1000.0, maximum: Some(1e7) };
    assert_eq!(pareto, expected);
    let log_normal = sizes("{ kind = \"log-normal\", median = \"1kB\", sigma = 2 }");
    assert_eq!(log_normal, Sizes::LogNormal { median: 1000.0, sigma: 2.0 });
    let table = |table| Sizes::Empirical(Arc::new(table));
    assert_eq!(sizes("\"web-search\""), table(EmpiricalCdf::web_search()));
    assert_eq!(sizes("\"data-mining\""), table(EmpiricalCdf::data_mining()));
}

#[test]
fn a_load_is_a_share_of_the_bottleneck() {
    // 500 packets of 1000 bytes a second are 4 of 8 Mbit/s, headers included.
    let half = traffic("arrivals = { load = 0.5 }\nsizes = \"1000B\"");
    assert_eq!(half, poisson(500.0, Sizes::Fixed(1000)));
    let bursts = traffic(
        "arrivals = { load = 0.5, on_off = { on = \"1s\", off = \"3s\" }, count = 9 }\n\
         sizes = \"1000B\"",
    );
    let UdpTraffic::Arrivals(Arrivals::Drawn { process, count, .. }) = bursts else {
        panic!("drawn");
    };
    let (on, off) = (Span::from_secs(1), Span::from_secs(3));
    let expected = OnOff { per_second: 2000.0, on, off, shape: 1.5 };
    assert_eq!((process, count), (Process::ParetoOnOff(expected), Some(9)));
}

#[test]
fn arrivals_and_distributions_may_stand_in_files() {
    let directory = std::env::temp_dir().join(format!("windlass-traffic-{}", std::process::id()));
    std::fs::create_dir(&directory).expect("a new folder");
    let file = |name: &str, text: &str| {
        std::fs::write(directory.join(name), text).expect("a file");
    };
    file("arrivals.csv", "0,1500\n0.5,40\n");
    file("sizes.txt", "40 0.5\n1500 1\n");
    file("wrong.txt", "0,1500\n0.5\n");
    let origin = directory.join("x.toml").display().to_string();
    let read = |keys: &str| from_toml(&origin, &format!("{UDP}{keys}"), &[]);
    let listed = read("arrivals = { file = \"arrivals.csv\" }").expect("a list");
    let sizes = "arrivals = { rate = 1 }\nsizes = { file = \"sizes.txt\" }";
    let sized = read(sizes).expect("a distribution");
    let wrong = read("arrivals = { file = \"wrong.txt\" }").expect_err("a fault").to_string();
    std::fs::remove_dir_all(&directory).expect("the folder");
    let UdpTraffic::Arrivals(Arrivals::Listed(list)) = &listed.scenario.udp[0].traffic else {
        panic!("listed");
    };
    assert_eq!(list.arrivals()[1].at, Span::from_millis(500));
    let table = EmpiricalCdf::new(vec![(40.0, 0.5), (1500.0, 1.0)]).expect("a table");
    assert_eq!(sized.scenario.udp[0].traffic, poisson(1.0, Sizes::Empirical(Arc::new(table))));
    let expected =
        "wrong.txt: line 2: expected seconds and a number of bytes above 0, found \"0.5\"";
    assert!(wrong.ends_with(expected), "{wrong}");
}

#[test]
fn mistakes_of_traffic_are_named() {
    for (keys, expected) in [
        (
            "",
            "x.toml:7:1: udp.0.packet_bytes: missing: expected a number of bytes from 28 to 65535",
        ),
        (
            "packet_bytes = 1000",
            "x.toml:7:1: udp.0.rate: missing: expected a rate above zero such as \"10Mbit/s\" \
             (bit/s, kbit/s, Mbit/s, Gbit/s)",
        ),
        (
            "rate = \"1Mbit/s\"\narrivals = { rate = 1 }\nsizes = \"1kB\"",
            "x.toml:10:8: udp.0.rate: a source of arrivals has no such key",
        ),
        (
            "sizes = \"1kB\"\nrate = \"1Mbit/s\"\npacket_bytes = 1000",
            "x.toml:10:9: udp.0.sizes: a source of a constant rate has no such key",
        ),
        ("arrivals = { rate = 1 }", "x.toml:10:12: udp.0.arrivals: expected `sizes` beside it"),
        (
            "sizes = \"1kB\"\narrivals = { rate = 1, load = 1 }",
            "x.toml:11:12: udp.0.arrivals: expected either `rate`, `load` or `file`",
        ),
        (
            "sizes = \"1kB\"\narrivals = { rate = 0 }",
            "x.toml:11:12: udp.0.arrivals: expected a rate of arrivals above 0",
        ),
        (
            "sizes = \"1kB\"\narrivals = { load = -1 }",
            "x.toml:11:12: udp.0.arrivals: load: expected a number above 0",
        ),
        (
            "sizes = \"1kB\"\narrivals = { rate = 1, on_off = { on = \"1s\", off = \"1s\", shape = 1 } }",
            "x.toml:11:12: udp.0.arrivals: shape: expected at least 1.05; up to 1, the times have no \
             mean",
        ),
        (
            "arrivals = { load = 1 }\nsizes = { kind = \"pareto\", shape = 1, min = \"1kB\" }",
            "x.toml:10:12: udp.0.arrivals: load: the sizes have no mean; expected a shape above 1, or \
             a greatest size",
        ),
        (
            "arrivals = { rate = 1 }\nsizes = \"web-serach\"",
            "x.toml:11:9: udp.0.sizes: expected a size such as \"64KiB\", \"web-search\", \
             \"data-mining\", { file = PATH } or { kind = ... }, found \"web-serach\"; did you mean \
             \"web-search\"?",
        ),
        (
            "arrivals = { rate = 1 }\nsizes = { kind = \"paretto\" }",
            "x.toml:11:18: udp.0.sizes.kind: expected a distribution, found \"paretto\"; did you \
             mean \"pareto\"?",
        ),
        (
            "arrivals = { rate = 1 }\nsizes = { kind = \"uniform\", min = \"2B\", max = \"1B\" }",
            "x.toml:11:9: udp.0.sizes: expected a greatest size above the least one",
        ),
        (
            "media = { bitrate = \"1Mbit/s\", deadline = \"1s\", spread = 2 }",
            "x.toml:10:9: udp.0.media: expected packets of at least a byte, at most 10 million a \
             second, and a spread from 0 to 1",
        ),
        (
            "media = { bitrate = \"1Mbit/s\" }",
            "x.toml:10:9: udp.0.media.deadline: missing: expected a time such as \"94ms\" (ns, us, \
             ms, s, min, h)",
        ),
    ] {
        assert_eq!(messages(keys)[0], expected, "{keys}");
    }
}
