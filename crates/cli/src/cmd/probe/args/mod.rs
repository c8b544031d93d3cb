//! The arguments of `windlass probe`.

mod serve;
mod survey;

pub(crate) use serve::{Ecn, Population, Serve};
pub(crate) use survey::Survey;

use crate::value::{parse_test, parse_time, whole};
use clap::{Args, Subcommand};
use serve::SERVE_HELP;
use std::path::PathBuf;
use survey::SURVEY_HELP;
use windlass_base::Span;
use windlass_probe::dialogue::{NAMES, Scheme};
use windlass_probe::{PARTS_MAX, Target, Test};

pub(crate) const PROBE_HELP: &str = "\
Examples:
  windlass probe www.example.org                 # the port is found, redirects are followed
  windlass probe https://host:8443/path --split 1,4 --acks 3 --runs 5 --timeout 3s --json
  windlass probe -6 host --tests A,C,S           # A is the baseline, S one ACK for several segments
  windlass probe host/large.iso --runs 1 | less -S
  windlass probe --cca host/large.iso            # the congestion controller: cubic, reno, bbr ...
  windlass probe --ecn host/large.iso            # and which ECN: AccECN, classic, none
  windlass probe host/large.iso --burst --runs 20       # bursts of 2, 4, 8, 16, 32, 64 packets
  windlass probe host/large.iso --burst=3,20 --runs 20  # what 20 packets at once cost beside 3
  windlass probe survey hosts.txt --out survey/  # thousands of servers: probe survey --help
  windlass probe serve --help                    # servers to try it on
  windlass probe ftp://host/large.iso            # also smtp, smtps, imap, imaps, nntp, nntps, ssh, redis
  windlass probe --dialogue ssh host:2222        # also smtp+starttls, imap+starttls, nntp+starttls
  windlass probe rsync://host/module/large.iso; windlass probe bittorrent://host:51413/INFOHASH
  windlass probe tcp://host:13                   # a server that speaks first; tls:// with TLS
  windlass probe tcp://host:11211 --send 'stats\\r\\n' --until '(?m)^END\\r$'
  windlass probe tls://host:5000 --send @request.bin

Each run is a connection: a GET, the first flight unacknowledged until it is in, then the ACKs of its \
first segments in the parts of the test, then silence for the timeout, then a reset. A page of \
HTTP that is too small for the tests is searched for a link to something larger, on the same server, with at \
most five requests in all; robots.txt is obeyed. Without one, each connection asks for the page several times. \
--no-search leaves both out. Other dialogues ask \
for what their protocol gives to everybody, and with a short answer the probe announces a smaller MSS. \
Each test runs two to five times: the probe stops after a round in which all \
runs are measured and fit one verdict, and all first flights are equal. \
docs/reference/probe.md explains the tests, the models and the words of the verdict. With https no \
certificate is verified: the probe measures the host that answers.

With --burst the server sends so many packets at once. The path's bottleneck delays the last of them behind \
the others, and may drop some. The probe prints the delay and the loss for each size, and how much more \
the largest size costs than the smallest.

With --cca the probe is the bottleneck of one connection, or two. It loses a packet, raises and lowers the \
round-trip time and feeds back marks of congestion, and compares the windows with those of known controllers. \
The page is asked for again until it suffices.

With --ecn a connection asks for AccECN (RFC 9768) before the tests, and another one for classic ECN if the \
server agrees on nothing. Two packets of the request are marked, for the server to count.

Ask before you probe what is not yours: a run costs the server a connection and up to some hundred \
packets.

Needs CAP_NET_RAW: root, or sudo setcap cap_net_raw+ep $(command -v windlass).

Exit status: 0 the reaction is decided, two sizes are compared, or the controller is known; 1 failure \
while working: not permitted, no sockets; 2 bad arguments; 3 measured, but undecided; 4 not measured: no \
such host, refused, unreachable, silent, no HTTP, no such dialogue; 130 interrupted: what is known so far \
is printed.";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Probe {
    #[command(subcommand)]
    pub command: Option<ProbeCommand>,
    /// The server: a URL, or a host with a port or without
    #[arg(value_name = "HOST|URL", value_parser = Target::parse, required = true)]
    pub target: Option<Target>,
    /// The tests: A to E split each ACK in 1, 2, 4, 8, 12; S sends one for several segments
    #[arg(long, value_name = "LETTERS", value_delimiter = ',', value_parser = parse_test)]
    #[arg(default_value = "A,B,C,D,E,S", conflicts_with = "split")]
    pub tests: Vec<Test>,
    /// Measure instead what a larger flight costs: the delay and the loss of so many packets sent at once
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, value_delimiter = ',')]
    #[arg(default_missing_value = "2,4,8,16,32,64", value_parser = whole::<u16>(2..=128))]
    #[arg(conflicts_with_all = ["tests", "split", "acks", "cca", "ecn"])]
    pub burst: Vec<u16>,
    /// Measure the page as it is, and look for no larger object where it is too small
    #[arg(long)]
    pub no_search: bool,
    #[command(flatten)]
    pub how: MeasureArgs,
    /// Print a JSON object, with every run, instead of a table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProbeCommand {
    /// Probe all servers of a list at once, with a limit of new connections a second
    #[command(after_help = SURVEY_HELP)]
    Survey(Box<Survey>),
    /// Play servers behind a TUN device, to try the probe and surveys on
    #[command(after_help = SERVE_HELP)]
    Serve(Box<Serve>),
    /// Judge stored outcomes of --cca again, by the signatures of this version
    #[command(after_help = JUDGE_HELP)]
    Judge(Judge),
    /// Print a mixed population of servers for `serve`
    Population(Population),
}

/// The dialogue of a name: a URL scheme, or `first` for `tcp`.
fn parse_dialogue(name: &str) -> Result<Scheme, String> {
    let scheme = Scheme::by_name(if name == "first" { "tcp" } else { name });
    scheme.ok_or_else(|| format!("expected first or one of {}", NAMES.join(", ")))
}

pub(crate) const JUDGE_HELP: &str = "\
Examples:
  windlass probe --cca --json host/large.iso > host.json; windlass probe judge host.json
  windlass probe judge --library mine.jsonl traces/*.json     # with signatures of one's own

Each FILE has an object as `windlass probe --cca --json` prints it. A library has a signature a line: \
controller, rtt_ms, source, parts; docs/reference/probe.md says what they are.

Exit status: 0 done; 2 bad arguments or files.";

/// Stored outcomes to judge again.
#[derive(Debug, Args)]
pub(crate) struct Judge {
    /// Outcomes of `windlass probe --cca --json`
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Signatures to compare with, instead of this version's
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// Print a JSON object for each file instead of a table
    #[arg(long)]
    pub json: bool,
}

/// How a server is measured.
#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Which congestion controller does the server run? Follows a script of losses, delays and marks instead
    /// of the tests; 12 s and 1 to 8 MB
    #[arg(long, conflicts_with_all = ["split", "runs", "acks", "timeout", "tests"])]
    pub cca: bool,
    /// Which ECN does the server speak? Asks for AccECN on a connection of its own, before the tests; --cca
    /// does so too
    #[arg(long)]
    pub ecn: bool,
    /// Other tests: in how many parts to split each ACK; 1 is the baseline
    #[arg(long, value_name = "N", value_delimiter = ',')]
    #[arg(value_parser = whole::<u16>(1..=u64::from(PARTS_MAX)))]
    pub split: Vec<u16>,
    /// How many segments to acknowledge so, the first ones
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u16>(1..=64))]
    pub acks: u16,
    /// Runs of each test [default: 2 to 5, until the answer is certain; with --burst 5]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=1000))]
    pub runs: Option<u32>,
    /// How long to look on after the ACKs, so that retransmissions are seen
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_time)]
    pub timeout: Span,
    /// How long to wait for a handshake, and again for an answer
    #[arg(long, value_name = "TIME", default_value = "6s", value_parser = parse_time)]
    pub patience: Span,
    /// The MSS to announce [default: 1460, with IPv6 1440; less for tests that would not fit into the window
    /// of a server without window scaling]
    #[arg(long, value_name = "BYTES", value_parser = whole::<u16>(88..=65_495))]
    pub mss: Option<u16>,
    /// The User-Agent of the requests
    #[arg(long, value_name = "TEXT", default_value = windlass_probe::http::USER_AGENT)]
    pub user_agent: String,
    /// How to get the server to send, where the URL has no scheme that says it
    #[arg(long, value_name = "NAME", value_parser = parse_dialogue)]
    pub dialogue: Option<Scheme>,
    /// With tcp and tls: the text to send, with \r, \n, \t, \0, \\ and \xNN, or @FILE
    #[arg(long, value_name = "TEXT|@FILE")]
    pub send: Option<String>,
    /// With tcp and tls: the answer is complete where this matches [default: at the end of the connection]
    #[arg(long, value_name = "REGEX")]
    pub until: Option<String>,
    /// Only IPv4
    #[arg(short = '4', conflicts_with = "v6")]
    pub v4: bool,
    /// Only IPv6
    #[arg(short = '6')]
    pub v6: bool,
    /// Split in more than 64 parts: it is a small attack
    #[arg(long)]
    pub force: bool,
}
