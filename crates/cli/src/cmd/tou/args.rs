//! The arguments of `windlass tou`, `windlass tou listen` and `windlass tou connect`.

use super::connection_args::{Family, Transport, Verbosity};
use super::nat::args::{NAT_HELP, TouNat};
use super::perf::args::Perf;
use super::rendezvous::args::{RENDEZVOUS_HELP, TouRendezvous};
use super::session::args::{
    EXPOSE_HELP, FORWARD_HELP, KEY_HELP, PIPE_HELP, RUN_HELP, SOCKS_HELP, STATUS_HELP, TouExpose,
    TouForward, TouKey, TouPipe, TouRun, TouSocks, TouStatus,
};
use crate::value::{HostPort, Local, parse_time};
use clap::{Args, Subcommand};
use windlass_base::Span;

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
