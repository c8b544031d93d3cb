//! The arguments of `windlass tou`.

use super::nat::args::{NAT_HELP, TouNat};
use super::perf::STREAMS_MAX;
use super::rendezvous::args::{RENDEZVOUS_HELP, TouRendezvous};
use super::session::args::{
    EXPOSE_HELP, FORWARD_HELP, KEY_HELP, PIPE_HELP, RUN_HELP, SOCKS_HELP, STATUS_HELP, TouExpose,
    TouForward, TouKey, TouPipe, TouRun, TouSocks, TouStatus,
};
use crate::live::KEYS_HELP;
use crate::value::{
    HostPort, Local, parse_buffer, parse_bytes, parse_cc, parse_echo, parse_nonzero_time,
    parse_profile, parse_rto_rule, parse_time, whole,
};
use clap::{Args, Subcommand};
use std::net::IpAddr;
use std::path::PathBuf;
use windlass_base::Span;
use windlass_tcp::Profile;
use windlass_tcp::config::{EcnEcho, RtoRule};

pub(crate) const TOU_HELP: &str = "\
Examples:
  windlass tou listen 7000 > file                 # on one host
  windlass tou connect host:7000 < file           # on the other
  windlass tou perf server                        # how fast is it?
  windlass tou perf client host --time 10 --cc new-ecn --ecn
  windlass tou nat --via HOST                     # what NAT is this host behind?
  windlass tou expose ssh=22 --via HOST --allow KEY    # between hosts behind NATs, encrypted
  windlass tou forward 2222=ssh@KEY --via HOST
  windlass tou rendezvous --tls 443               # HOST, which such hosts can reach

ToU is TCP's byte stream in UDP datagrams, for hosts that have only UDP between them. expose, forward, pipe, \
socks and run cross NATs and encrypt; listen, connect and perf do neither. docs/guide/tou-nat.md and \
docs/guide/tou.md have the rest, docs/reference/tou-protocol.md what is on the wire.";

const LISTEN_HELP: &str = "\
Examples:
  windlass tou listen 7000 > file
  tar c folder | windlass tou listen 7000         # sends to whoever connects
  windlass tou listen 127.0.0.1:0 -v              # a free port, which standard error names
  windlass tou listen 7000 --keep-open >> log     # one connection after the other, until Ctrl-C

Received data goes to standard output, standard input goes to the peer; the end of either ends that \
direction alone. The command ends when both have ended. On port 0, and with --verbose, standard error says \
where it listens.

Exit status: 0 both directions ended in order, and all input was acknowledged; 1 refused, \
unreachable, no answer, reset, or standard input or output failed; 2 bad arguments; 130 interrupted, \
the connection is reset then. With --keep-open: 0 after Ctrl-C between two connections; an error of \
one is reported, and the next is accepted.";

const CONNECT_HELP: &str = "\
Examples:
  windlass tou connect host:7000 < file
  windlass tou connect host:7000 > file < /dev/null
  windlass tou connect [2001:db8::1]:7000 --cc new-ecn --ecn --verbose < file

Standard input goes to the peer, what comes goes to standard output; the end of either ends that \
direction alone. It ends when both have ended, and stays for two retransmission timeouts where the \
peer's last segment could be lost.

Exit status: 0 both directions ended in order, and all input was acknowledged; 1 no such host, refused, \
unreachable, no answer, reset, or standard input or output failed; 2 bad arguments; 130 interrupted, the \
connection is reset then.";

const SERVER_HELP: &str = "\
Examples:
  windlass tou perf server                        # port 7000, test after test, until Ctrl-C
  windlass tou perf server --port 0 --one-off --json

One test at a time; the server refuses another client as busy. Standard error says where it listens, \
standard output has the figures of each test. A client that offers ECN gets it.

Exit status: 0 after Ctrl-C or SIGTERM, or after a test with --one-off; 1 the port cannot be had, or the \
one test failed; 2 bad arguments.";

const CLIENT_HELP: &str = "\
Examples:
  windlass tou perf client host                   # to the server, ten seconds
  windlass tou perf client host:7001 --bytes 100M --json
  windlass tou perf client host --reverse --parallel 4 --cc vegas
  windlass tou perf client host --time 1min --parallel 4 --live
  windlass tou perf client host --omit 2          # twelve seconds, of which the last ten count
  windlass tou perf client host --bytes 30M --cc newreno --trace cwnd.csv

A line a second: what was acknowledged (with --reverse: what came), bits per second, segments sent again, \
cwnd, round-trip time; of several connections cwnd is the sum and the time the mean. The columns of the \
trace and the keys of --json are in docs/reference/tou.md. With --live a view of the terminal takes the \
place of the lines, until the test ends; the figures of both ends follow it. q and Ctrl-C interrupt the \
test.

Exit status: 0 the test came to its end; 1 no such host, refused, no answer, busy, or the connection was \
lost; 2 bad arguments; 130 interrupted.";

fn client_help() -> String {
    format!("{CLIENT_HELP}\n\n{KEYS_HELP}")
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tou {
    /// Take a connection, and join it to standard input and output
    #[command(after_help = LISTEN_HELP)]
    Listen(TouListen),
    /// Connect, and join the connection to standard input and output
    #[command(after_help = CONNECT_HELP)]
    Connect(TouConnect),
    /// Find out what NAT this host is behind, and what that means for sessions
    #[command(after_help = NAT_HELP)]
    Nat(TouNat),
    /// Print this host's public key, by which other hosts know it
    #[command(after_help = KEY_HELP)]
    Key(TouKey),
    /// Offer services of this host to hosts behind any NAT
    #[command(after_help = EXPOSE_HELP)]
    Expose(Box<TouExpose>),
    /// Take TCP connections to a port, and carry them to a service of another host
    #[command(after_help = FORWARD_HELP)]
    Forward(Box<TouForward>),
    /// Join standard input and output to a service of another host, as a proxy command of ssh
    #[command(after_help = PIPE_HELP)]
    Pipe(Box<TouPipe>),
    /// A SOCKS 5 server whose connections leave from another host
    #[command(after_help = SOCKS_HELP)]
    Socks(Box<TouSocks>),
    /// Run a command whose connections all leave from another host
    #[command(after_help = RUN_HELP)]
    Run(Box<TouRun>),
    /// Show the running commands with their sessions, paths and connections
    #[command(after_help = STATUS_HELP)]
    Status(TouStatus),
    /// Print the JSON Schema of the configuration file of the commands that use sessions
    #[command(after_help = "Example: windlass tou schema > tou.schema.json")]
    Schema,
    /// Introduce hosts behind NATs to each other, and relay for those that have no direct path
    #[command(after_help = RENDEZVOUS_HELP)]
    Rendezvous(Box<TouRendezvous>),
    /// Measure how fast a path is with ToU
    #[command(subcommand)]
    Perf(Box<Perf>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Perf {
    /// Wait for clients
    #[command(after_help = SERVER_HELP)]
    Server(PerfServer),
    /// Send to a server, or let it send
    #[command(after_help = client_help())]
    Client(PerfClient),
}

#[derive(Debug, Args)]
pub(crate) struct TouListen {
    /// The port, and the address if it is to be one alone; port 0: a free one
    #[arg(value_name = "[ADDRESS:]PORT", value_parser = Local::parse)]
    pub local: Local,
    /// Take one connection after the other, and send nothing
    #[arg(long)]
    pub keep_open: bool,
    #[command(flatten)]
    pub family: Family,
    #[command(flatten)]
    pub tell: Verbosity,
    #[command(flatten)]
    pub how: Transport,
}

#[derive(Debug, Args)]
pub(crate) struct TouConnect {
    /// The peer; an IPv6 address stands in brackets
    #[arg(value_name = "HOST:PORT", value_parser = HostPort::parse)]
    pub peer: HostPort,
    /// Try the next address after this long without an answer [default: two minutes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub timeout: Option<Span>,
    #[command(flatten)]
    pub family: Family,
    #[command(flatten)]
    pub tell: Verbosity,
    #[command(flatten)]
    pub how: Transport,
}

#[derive(Debug, Args)]
pub(crate) struct PerfServer {
    /// The port; 0: a free one
    #[arg(long, default_value_t = DEFAULT_PORT, value_parser = whole::<u16>(0..=65_535))]
    pub port: u16,
    /// Refused: clients take HOST:PORT, so a user may try PORT here.
    #[arg(hide = true, value_name = "PORT", value_parser = misplaced_port)]
    pub misplaced: Option<u16>,
    /// The address to listen at [default: all]
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// End after one test
    #[arg(long)]
    pub one_off: bool,
    /// JSON instead of text: an object a line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub family: Family,
    #[command(flatten)]
    pub path: PathOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PerfClient {
    /// The server; an IPv6 address with a port stands in brackets
    #[arg(value_name = "HOST[:PORT]", value_parser = |text: &str| HostPort::parse_or(text, DEFAULT_PORT))]
    pub server: HostPort,
    /// Send for this long [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_nonzero_time, conflicts_with = "bytes")]
    pub time: Option<Span>,
    /// Send this much instead, over all connections: 100M, 64KiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub bytes: Option<u64>,
    /// Leave the first seconds, in which the window grows, out of the figures at the end; a test of a
    /// time lasts longer by it
    #[arg(long, value_name = "TIME", value_parser = parse_nonzero_time)]
    pub omit: Option<Span>,
    /// The server sends
    #[arg(long)]
    pub reverse: bool,
    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole::<u16>(1..=u64::from(STREAMS_MAX)))]
    pub parallel: u16,
    /// Time between lines
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_nonzero_time)]
    pub interval: Span,
    /// Write cwnd, ssthresh, SRTT and bytes of each connection to a new CSV file
    #[arg(long, value_name = "FILE", conflicts_with = "reverse")]
    pub trace: Option<PathBuf>,
    /// Time between the trace's samples
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_nonzero_time)]
    pub trace_interval: Span,
    /// Print one JSON object at the end instead of text
    #[arg(long)]
    pub json: bool,
    /// Show rate, cwnd, round-trip time and losses in the terminal as they change
    #[arg(long, conflicts_with_all = ["json", "interval"])]
    pub live: bool,
    /// Try the next address after this long without an answer [default: two minutes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub timeout: Option<Span>,
    #[command(flatten)]
    pub family: Family,
    #[command(flatten)]
    pub how: Transport,
}

/// The default port of the tools.
const DEFAULT_PORT: u16 = 7000;

/// Which addresses.
#[derive(Copy, Clone, Debug, Args)]
pub(crate) struct Family {
    /// Only IPv4
    #[arg(short = '4', conflicts_with = "v6")]
    pub v4: bool,
    /// Only IPv6; a socket that listens at all addresses may take IPv4 too, as the system is set
    #[arg(short = '6')]
    pub v6: bool,
}

/// Messages on standard error.
#[derive(Copy, Clone, Debug, Args)]
pub(crate) struct Verbosity {
    /// Report the peer, and at the end the bytes sent and received
    #[arg(short, long)]
    pub verbose: bool,
    /// Report it as JSON, an object per line
    #[arg(long)]
    pub json: bool,
}

/// How connections are made.
#[derive(Debug, Args)]
#[command(next_help_heading = "The connection")]
pub(crate) struct Transport {
    /// Congestion controller: cubic, newreno, reno, vegas, new-ecn, tahoe; none: for experiments on
    /// links of one's own. With perf client --reverse it is the server's
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = parse_cc)]
    pub cc: String,
    /// Offer ECN
    #[arg(long)]
    pub ecn: bool,
    #[command(flatten)]
    pub path: PathOptions,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The connection")]
pub(crate) struct PathOptions {
    /// The TCP of a time and place: linux, rfc5681, rfc3465, rfc2581, ns2-reno
    #[arg(long, value_name = "NAME", default_value = "linux", value_parser = parse_profile)]
    pub profile: Profile,
    /// How marks are echoed: until-cwr (RFC 3168), or once-per-ce, which New-ECN wants of its peer
    #[arg(long, value_name = "HOW", default_value = "until-cwr", value_parser = parse_echo)]
    pub ecn_echo: EcnEcho,
    /// Payload bytes of the largest segment over IPv4, TCP options among them; over IPv6 20 fewer
    #[arg(long, value_name = "BYTES", default_value_t = 1456)]
    #[arg(value_parser = whole::<u16>(88..=65_475))]
    pub mss: u16,
    /// Send segments of that many bytes at once, without probing whether the path takes them; a path that
    /// does not then carries nothing
    #[arg(long)]
    pub no_path_probes: bool,
    /// The shortest retransmission timeout; with profile linux the least that it exceeds the
    /// round-trip time by [default: the profile's]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub min_rto: Option<Span>,
    /// How the retransmission timeout follows from round-trip times: rfc6298, or lee2009, which is for
    /// experiments
    #[arg(long, value_name = "NAME", default_value = "rfc6298", value_parser = parse_rto_rule)]
    pub rto_rule: RtoRule,
    /// How often a SYN without an answer is sent again before connecting fails [default: the profile's,
    /// with linux 6, two minutes]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=127))]
    pub connect_retries: Option<u32>,
    /// How often a segment is sent again after timeouts before the connection fails [default: the
    /// profile's, with linux 15, a quarter of an hour or more]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=255))]
    pub retries: Option<u32>,
    /// Spread the window over the round trip, instead of sending at once what it allows
    #[arg(long, overrides_with = "no_pacing")]
    pub pacing: bool,
    /// Send at once what the window allows, which is the default
    #[arg(long, overrides_with = "pacing")]
    pub no_pacing: bool,
    /// Bytes that may be under way
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = parse_buffer)]
    pub send_buffer: u64,
    /// Bytes that may wait to be read
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = parse_buffer)]
    pub receive_buffer: u64,
    /// Write what each connection does to a file in this folder, in the format qlog
    #[arg(long, value_name = "DIR")]
    pub qlog: Option<PathBuf>,
}

/// Says where the port goes, and the address before it.
fn misplaced_port(text: &str) -> Result<u16, String> {
    let options = match (text.parse::<IpAddr>(), Local::parse(text)) {
        (Ok(address), _) => format!("--bind {address}"),
        (_, Ok(Local { address: Some(address), port })) => {
            format!("--bind {address} --port {port}")
        }
        (_, Ok(Local { address: None, port })) => format!("--port {port}"),
        _ => "--bind ADDRESS --port PORT".to_owned(),
    };
    Err(format!("the server takes address and port as options: {options}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misplaced_port_is_shown_as_the_options_that_work() {
        for (text, options) in [
            ("7300", "--port 7300"),
            ("127.0.0.1:7300", "--bind 127.0.0.1 --port 7300"),
            ("[::1]:7300", "--bind ::1 --port 7300"),
            ("127.0.0.1", "--bind 127.0.0.1"),
            ("::1", "--bind ::1"),
            ("host:7300", "--bind ADDRESS --port PORT"),
            ("70000", "--bind ADDRESS --port PORT"),
        ] {
            let error = misplaced_port(text).expect_err("no place for it");
            assert_eq!(error, format!("the server takes address and port as options: {options}"));
        }
    }
}
