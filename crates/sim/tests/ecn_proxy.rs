//! The ECN proxy in a closed loop: the network of the paper (papers/000 section 4.1), its RED, its
//! cross traffic. What counts is the time of a transfer beside that of hosts with ECN of their own.

use windlass_sim::summary::{EcnProxyCounters, MiddleboxCounters, Summary};
use windlass_sim::{run, scenario};

/// Which way the data go, seen from the served host.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Way {
    Up,
    Down,
}

/// Who has ECN.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Ecn {
    None,
    Native,
    /// The server alone; a proxy of that policy serves the client.
    Proxy(&'static str),
}

struct Case {
    way: Way,
    ecn: Ecn,
    flows: usize,
    bytes: u64,
    cross_traffic: bool,
    /// Further options of the TCP flows.
    tcp: &'static str,
    /// One way, from the client to the server, in microseconds.
    delay_us: u64,
}

impl Case {
    fn new(way: Way, ecn: Ecn, flows: usize) -> Case {
        let bytes = std::env::var("BYTES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000_000);
        Case { way, ecn, flows, bytes, cross_traffic: true, tcp: "", delay_us: 10_000 }
    }

    fn text(&self) -> String {
        let (from, to) =
            if self.way == Way::Up { ("client", "server") } else { ("server", "client") };
        let client = matches!(self.ecn, Ecn::Native);
        let server = !matches!(self.ecn, Ecn::None);
        let (sender, receiver) =
            if self.way == Way::Up { (client, server) } else { (server, client) };
        let slow = if self.way == Way::Up { "router-far" } else { "router-near" };
        let rate = |link: &str| if link == slow { "10Mbit/s" } else { "100Mbit/s" };
        let (near_rate, far_rate) = (rate("router-near"), rate("router-far"));
        let delay = self.delay_us / 2;
        let tcp = self.tcp;
        let mut text = format!(
            r#"
schema = 1
name = "proxy"
duration = "2000s"
until_done = true
jitter = "1ms"
nodes = ["client", "proxy", "near", "udp_near", "router", "far", "udp_far", "server"]
bottleneck = "{slow}"
links = [
  {{ a = "client", b = "proxy", rate = "1Gbit/s", delay = "0ms", queue = "big" }},
  {{ a = "proxy", b = "near", rate = "1Gbit/s", delay = "0ms", queue = "big" }},
  {{ a = "udp_near", b = "near", rate = "1Gbit/s", delay = "0ms", queue = "big" }},
  {{ a = "router", b = "near", rate = "{near_rate}", delay = "{delay}us", queue = "marking", back = {{ rate = "1Gbit/s", queue = "big" }} }},
  {{ a = "router", b = "far", rate = "{far_rate}", delay = "{delay}us", queue = "marking", back = {{ rate = "1Gbit/s", queue = "big" }} }},
  {{ a = "udp_far", b = "far", rate = "1Gbit/s", delay = "0ms", queue = "big" }},
  {{ a = "far", b = "server", rate = "1Gbit/s", delay = "0ms", queue = "big" }},
]
[queues]
big = {{ kind = "droptail", limit = "1000 packets" }}
marking = {{ kind = "tc-red", limit = "40000B", min = "2000B", max = "8000B", avpkt_bytes = 1000, burst = 4, probability = 0.3 }}

[[flows]]
name = "flow"
from = "{from}"
to = "{to}"
count = {flows}
profile = "linux"
ecn = {sender}
receiver = {{ ecn = {receiver} }}
app = {{ kind = "transfer", size = "{bytes}B" }}
{tcp}
"#,
            flows = self.flows,
            bytes = self.bytes,
        );
        if self.cross_traffic {
            for (from, to) in [("udp_near", "udp_far"), ("udp_far", "udp_near")] {
                text += &format!(
                    "[[udp]]\nfrom = \"{from}\"\nto = \"{to}\"\npacket_bytes = 1498\n\
                     rate = \"10Mbit/s\"\nstart = \"500ms\"\n"
                );
            }
        }
        if let Ecn::Proxy(policy) = self.ecn {
            text += &format!(
                "[[middleboxes]]\nkind = \"ecn-proxy\"\nnode = \"proxy\"\nserved = [\"client\"]\n\
                 policy = \"{policy}\"\n"
            );
        }
        text
    }

    fn run(&self, seed: u64) -> Summary {
        let document = scenario::from_toml("proxy.toml", &self.text(), &[]).expect("a scenario");
        run(&document.scenario, seed, &mut ()).expect("a network")
    }
}

/// The time until the last transfer is complete.
fn completion_s(summary: &Summary) -> f64 {
    let times = summary.flows.iter().map(|flow| {
        let transfers = flow.transfers.as_ref().expect("a transfer");
        assert_eq!((transfers.completed, transfers.failed), (1, 0), "{}", flow.name);
        transfers.completion_s[0]
    });
    times.fold(0.0, f64::max)
}

fn counters(summary: &Summary) -> &EcnProxyCounters {
    let MiddleboxCounters::EcnProxy(counters) = &summary.middleboxes[0].did;
    counters
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The table of docs/ecn-proxy-protocol.md: `cargo test --release -p windlass-sim --test ecn_proxy
/// -- --ignored --nocapture`.
#[test]
#[ignore = "prints a table; takes minutes without optimisation"]
fn table_of_completion_times() {
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let policy = "virtual-loss";
    for way in [Way::Up, Way::Down] {
        for flows in [1, 2, 3, 5] {
            let mut native = vec![];
            for ecn in [Ecn::Native, Ecn::None, Ecn::Proxy(policy)] {
                let runs: Vec<Summary> =
                    (1..=seeds).map(|seed| Case::new(way, ecn, flows).run(seed)).collect();
                let times: Vec<f64> = runs.iter().map(completion_s).collect();
                let sum = |f: fn(&windlass_sim::summary::FlowSummary) -> u64| -> u64 {
                    runs.iter().flat_map(|run| &run.flows).map(f).sum()
                };
                if ecn == Ecn::Native {
                    native = times.clone();
                }
                let ratio = median(times.clone()) / median(native.clone());
                println!(
                    "{way:?} {flows} {ecn:?}: {:.2} s, ratio {ratio:.3}, rto {} fr {} retr {} cuts {} marks {} drops {}",
                    median(times),
                    sum(|f| f.timeouts),
                    sum(|f| f.fast_retransmits),
                    sum(|f| f.retransmitted_segments),
                    sum(|f| f.window_cuts_by_ecn),
                    sum(|f| f.marks),
                    sum(|f| f.drops),
                );
                if ecn == Ecn::Proxy(policy) {
                    println!("    {:?}", counters(&runs[0]));
                }
            }
        }
    }
}

#[test]
#[ignore = "trace"]
fn trace() {
    let s = Case::new(Way::Up, Ecn::Proxy("virtual-loss"), 3).run(1);
    eprintln!(
        "{:?}",
        s.flows
            .iter()
            .map(|f| (f.timeouts, f.fast_retransmits, f.retransmitted_segments, f.drops))
            .collect::<Vec<_>>()
    );
}
