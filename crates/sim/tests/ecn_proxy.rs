//! The ECN proxy in a closed loop: the network of the paper (Sprenger 2016, section 4.1), its RED,
//! its cross traffic. Each test compares the time of a transfer with that of hosts with ECN of
//! their own.

use windlass_sim::run;
use windlass_sim::summary::{EcnProxyCounters, MiddleboxCounters, Summary};

/// Direction of the data, from the view of the served host.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Transfer {
    Upload,
    Download,
}

/// The ends that use ECN.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Ecn {
    None,
    Native,
    /// The server alone; a proxy of that policy serves the client.
    Proxy(&'static str),
}

struct Case {
    way: Transfer,
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
    fn new(way: Transfer, ecn: Ecn, flows: usize) -> Case {
        let bytes = 2_000_000;
        Case { way, ecn, flows, bytes, cross_traffic: true, tcp: "", delay_us: 10_000 }
    }

    fn text(&self) -> String {
        let (from, to) =
            if self.way == Transfer::Upload { ("client", "server") } else { ("server", "client") };
        let client = matches!(self.ecn, Ecn::Native);
        let server = !matches!(self.ecn, Ecn::None);
        let (sender, receiver) =
            if self.way == Transfer::Upload { (client, server) } else { (server, client) };
        let slow = if self.way == Transfer::Upload { "router-far" } else { "router-near" };
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
        let document =
            windlass_scenario::from_toml("proxy.toml", &self.text(), &[]).expect("a scenario");
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
    let MiddleboxCounters::EcnProxy(counters) = &summary.middleboxes[0].did else {
        panic!("an ECN proxy")
    };
    counters
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn runs(case: &Case, seeds: u64) -> Vec<Summary> {
    (1..=seeds).map(|seed| case.run(seed)).collect()
}

fn median_s(case: &Case, seeds: u64) -> f64 {
    median(runs(case, seeds).iter().map(completion_s).collect())
}

/// Every episode has ended, but for those that the end of the run cut off, one a flow.
fn assert_accounted(counters: &EcnProxyCounters, flows: u64) {
    let answered = counters.answered_floor
        + counters.answered_virtual_loss
        + counters.answered_loss
        + counters.answered_drop;
    let ended = answered + counters.passed_over;
    assert!(ended <= counters.episodes && counters.episodes <= ended + flows, "{counters:?}");
    assert!(answered * 100 >= counters.episodes * 98, "{counters:?}");
}

#[test]
fn a_download_through_the_proxy_is_as_fast_as_with_ecn_at_both_ends() {
    for flows in [1, 2, 3, 5] {
        let native = median_s(&Case::new(Transfer::Download, Ecn::Native, flows), 3);
        let case = Case::new(Transfer::Download, Ecn::Proxy("virtual-loss"), flows);
        let ratio = median_s(&case, 3) / native;
        assert!((0.90..=1.05).contains(&ratio), "{flows} flows: {ratio}");
        let counters = counters(&case.run(1)).clone();
        assert!(counters.ce > 0 && counters.echoes > 0, "{counters:?}");
        assert_eq!((counters.ect, counters.dropped, counters.virtual_losses), (0, 0, 0));
    }
}

#[test]
fn an_upload_through_the_proxy_is_as_fast_as_with_ecn_at_both_ends() {
    for flows in [1, 2, 3, 5] {
        let native = median_s(&Case::new(Transfer::Upload, Ecn::Native, flows), 21);
        let case = Case::new(Transfer::Upload, Ecn::Proxy("virtual-loss"), flows);
        let proxied = runs(&case, 21);
        let ratio = median(proxied.iter().map(completion_s).collect()) / native;
        assert!((0.90..=1.05).contains(&ratio), "{flows} flows: {ratio}");
        for run in &proxied {
            assert_accounted(counters(run), flows as u64);
            assert_eq!(counters(run).dropped, 0);
        }
    }
}

/// No virtual loss ends in a timeout, and each costs one retransmission.
#[test]
fn a_hole_is_one_fast_retransmit() {
    for tcp in ["", "timestamps = false", "window_scaling = false", "controller = \"newreno\""] {
        let case = Case { tcp, ..Case::new(Transfer::Upload, Ecn::Proxy("virtual-loss"), 1) };
        for run in runs(&case, 3) {
            let (flow, counters) = (&run.flows[0], counters(&run));
            assert_eq!((flow.timeouts, counters.dropped), (0, 0), "{tcp}");
            assert!(counters.virtual_losses > 20, "{tcp}: {counters:?}");
            // One that the FIN finds open is passed over, and the sender may repair it all the same.
            let repaired = counters.answered_virtual_loss..=counters.virtual_losses;
            assert!(repaired.contains(&flow.fast_retransmits), "{tcp}: {flow:?} {counters:?}");
            assert!(
                counters.virtual_losses <= counters.answered_virtual_loss + 1,
                "{tcp}: {counters:?}"
            );
        }
    }
}

#[test]
fn without_marks_the_proxy_costs_nothing() {
    let time = |ecn| {
        let tcp = "window_limit = \"16 segments\"";
        Case { cross_traffic: false, tcp, ..Case::new(Transfer::Upload, ecn, 1) }.run(1)
    };
    let (none, proxied) = (time(Ecn::None), time(Ecn::Proxy("virtual-loss")));
    assert!(completion_s(&proxied) / completion_s(&none) <= 1.01);
}

#[test]
fn policy_no_ect_leaves_uploads_as_they_are_without_ecn() {
    let case = Case::new(Transfer::Upload, Ecn::Proxy("no-ect"), 2);
    let run = case.run(1);
    assert_eq!((counters(&run).ect, counters(&run).virtual_losses, run.flows[0].marks), (0, 0, 0));
    let none = completion_s(&Case::new(Transfer::Upload, Ecn::None, 2).run(1));
    assert!((completion_s(&run) / none - 1.0).abs() < 0.01);
}

#[test]
fn policy_drop_tells_a_sender_by_a_loss() {
    let run = Case::new(Transfer::Upload, Ecn::Proxy("drop"), 2).run(1);
    let counters = counters(&run);
    assert!(counters.answered_drop > 20 && counters.answered_drop <= counters.dropped);
    assert_accounted(counters, 2);
}

/// Whatever a path does to packets, a proxied transfer ends as it does without a proxy.
#[test]
fn transfers_over_bad_paths_end_complete() {
    let paths = [
        "loss = 0.01",
        "reorder = { probability = 0.05, max_extra_delay = \"8ms\" }",
        "loss = 0.05, reorder = { probability = 0.1, max_extra_delay = \"30ms\" }",
    ];
    let options = ["", "sack = false", "timestamps = false", "nagle = false\nmss = 300"];
    for (seed, (path, tcp)) in
        paths.iter().flat_map(|path| options.map(|tcp| (path, tcp))).enumerate()
    {
        for policy in ["virtual-loss", "drop"] {
            let case =
                Case { tcp, bytes: 300_000, ..Case::new(Transfer::Upload, Ecn::Proxy(policy), 2) };
            let far = "a = \"far\", b = \"server\", ";
            let mut text = case.text().replace(far, &format!("{far} {path}, "));
            text += "without_sack = true\n";
            let document =
                windlass_scenario::from_toml("proxy.toml", &text, &[]).expect("a scenario");
            let run = run(&document.scenario, seed as u64, &mut ()).expect("a network");
            completion_s(&run);
        }
    }
}

/// Times of completion by policy, over those with ECN at both ends. BYTES and SEEDS say how much.
#[test]
#[ignore = "prints a table; takes minutes without optimisation"]
fn table_of_completion_times() {
    let number = |name, default| {
        std::env::var(name).ok().and_then(|text: String| text.parse().ok()).unwrap_or(default)
    };
    let (bytes, seeds) = (number("BYTES", 2_000_000), number("SEEDS", 10));
    for way in [Transfer::Upload, Transfer::Download] {
        for flows in [1, 2, 3, 5] {
            let case = |ecn| Case { bytes, ..Case::new(way, ecn, flows) };
            let native = median_s(&case(Ecn::Native), seeds);
            for ecn in
                [Ecn::None, Ecn::Proxy("no-ect"), Ecn::Proxy("drop"), Ecn::Proxy("virtual-loss")]
            {
                let ratio = median_s(&case(ecn), seeds) / native;
                println!("{way:?}, {flows} flows, {ecn:?}: {ratio:.3} of {native:.2} s");
            }
            println!("{:?}", counters(&case(Ecn::Proxy("virtual-loss")).run(1)));
        }
    }
}
