//! The arguments of the commands that use sessions: key, expose, forward, pipe, socks, run,
//! status.

use clap::Args;
use std::path::PathBuf;
use windlass_forward::{ExitNetworks, Service};
use windlass_tou::session::RendezvousAddress;

pub(crate) const KEY_HELP: &str = "\
Examples:
  windlass tou key                                # this host's public key, made on first use
  windlass tou key --file /etc/windlass/other.key

Prints the public key, by which other hosts know this one. The secret key is in ~/.config/windlass/tou/key \
(of root: /etc/windlass/tou/key), readable by its owner only. A configuration that names another file with \
key counts here too. A file that --file or the configuration names is made by this command alone.

Exit status: 0 the key was printed; 1 the file cannot be made, or others can read it, or it has no key; 2 bad \
arguments or configuration.";

pub(crate) const EXPOSE_HELP: &str = "\
Examples:
  windlass tou expose ssh=127.0.0.1:22 --via rendezvous.example.org --allow KEY
  windlass tou expose ssh=22 web=127.0.0.1:8080 docker=unix:/run/docker.sock
  windlass tou expose --exit 192.168.1.0/24 --allow laptop     # the far end of socks and run
  windlass tou expose --exit internet --exit 10.0.0.0/8 --allow laptop

A service is NAME=HOST:PORT, NAME=PORT of this host, or NAME=unix:/PATH. A host whose key is not allowed gets \
a refusal. With --exit, peers reach the named networks through this host, and it resolves names for them. \
Private, loopback and other special addresses are reached only through a network that is itself special, such \
as 192.168.1.0/24; internet and 0.0.0.0/0 are public addresses only.

--via, --allow and services can stand in the configuration file: see docs/reference/tou-commands.md.

Exit status: 0 after Ctrl-C or SIGTERM; 1 the port cannot be had, another process exposes with this key, or no \
rendezvous can be resolved; 2 bad arguments or configuration.";

pub(crate) const FORWARD_HELP: &str = "\
Examples:
  windlass tou forward 2222=ssh@laptop            # then: ssh -p 2222 user@127.0.0.1
  windlass tou forward 2222=ssh@KEY --via rendezvous.example.org
  windlass tou forward 0.0.0.0:8080=web@laptop 5432=db.lan:5432@laptop

Each TCP connection to the port becomes a connection of its own to the service, in one session per peer. The \
port is that of 127.0.0.1 unless an address is given. HOST:PORT in place of the service is reached through the \
peer's --exit. A session that was lost is opened again with the next connection.

Exit status: 0 after Ctrl-C or SIGTERM; 1 a port cannot be had, or no rendezvous can be resolved; 2 bad \
arguments or configuration.";

pub(crate) const PIPE_HELP: &str = "\
Examples:
  ssh -o ProxyCommand='windlass tou pipe ssh@laptop' user@laptop
  windlass tou pipe time@laptop < /dev/null

Standard input goes to the service, and what it sends to standard output. The command ends when the service \
has ended its direction.

Exit status: 0 the service has ended in order; 1 no path, refused, unknown service, or the connection was \
lost; 2 bad arguments or configuration; 130 interrupted.";

pub(crate) const SOCKS_HELP: &str = "\
Examples:
  windlass tou socks 1080 --to laptop             # then: curl -x socks5h://127.0.0.1:1080 URL
  windlass tou socks [::1]:1080 --to KEY --via rendezvous.example.org

A SOCKS 5 server, whose connections leave from the peer. The peer must expose with --exit. Programs that send \
names (socks5h in curl) have them resolved by the peer. UDP ASSOCIATE and BIND are refused.

Exit status: 0 after Ctrl-C or SIGTERM; 1 the port cannot be had, or no rendezvous can be resolved; 2 bad \
arguments or configuration.";

pub(crate) const RUN_HELP: &str = "\
Examples:
  windlass tou run --to laptop -- curl https://intranet.example/
  windlass tou run --to KEY --via rendezvous.example.org -- bash

Every TCP connection of the command and of its children leaves from the peer, and names are resolved there: also \
those of static binaries, Go programs and JVMs. The command runs in a network namespace of its own. Its UDP other \
than DNS is refused at once. Without root it takes user namespaces and a /dev/net/tun that the user may open. \
The peer must expose with --exit.

Exit status: the command's, or 128 and the number of the signal that ended it; 126 or 127 if it cannot be \
started; 1 no path, refused, or no namespace can be made; 2 bad arguments or configuration.";

pub(crate) const STATUS_HELP: &str = "\
Examples:
  windlass tou status
  windlass tou status --json

Asks every running expose, forward, pipe, socks and run of this user (for root, of all users), and says to \
which user and network namespace each belongs. RTT is that of the last check of the \
path, SRTT the smallest of the open connections, and cwnd the sum of their congestion windows.

Exit status: 0, also if none runs; 1 the folder of the sockets cannot be read; 2 bad arguments.";

/// Options of every command that uses sessions.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The session")]
pub(crate) struct SessionArgs {
    /// A rendezvous: HOST, HOST:PORT, HOST#KEY; several times for several
    #[arg(long, value_name = "RENDEZVOUS")]
    pub via: Vec<RendezvousAddress>,
    /// The file of this host's secret key, made by windlass tou key [default: ~/.config/windlass/tou/key, made on first use]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The configuration file [default: ~/.config/windlass/tou.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Do not encrypt; both ends must say so
    #[arg(long)]
    pub plain: bool,
    /// Use relays only, and do not tell peers this host's addresses
    #[arg(long)]
    pub relay_only: bool,
    /// Write what each connection does to a file in this folder, in the format qlog
    #[arg(long, value_name = "DIR")]
    pub qlog: Option<PathBuf>,
    /// Log connections too; pipe and run log warnings only without it
    #[arg(short, long)]
    pub verbose: bool,
    /// JSON instead of text: an object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TouKey {
    /// The file of the secret key [default: ~/.config/windlass/tou/key]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The configuration file [default: ~/.config/windlass/tou.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TouExpose {
    /// Services for the peers
    #[arg(value_name = "NAME=TARGET")]
    pub services: Vec<Service>,
    /// A key or a configured name of a host that may connect; several times for several
    #[arg(long, value_name = "KEY|NAME")]
    pub allow: Vec<String>,
    /// A network that peers may reach through this host, or internet; several times for several
    #[arg(long, value_name = "NETWORK")]
    pub exit: Vec<ExitNetworks>,
    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TouForward {
    /// Ports of this host and the services that they lead to
    #[arg(value_name = "[ADDRESS:]PORT=SERVICE@PEER", required = true)]
    #[arg(value_parser = super::target::Mapping::parse)]
    pub mappings: Vec<super::target::Mapping>,
    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TouPipe {
    /// The service; HOST:PORT@PEER is reached through the peer's --exit
    #[arg(value_name = "SERVICE@PEER", value_parser = super::target::FarTarget::parse)]
    pub target: super::target::FarTarget,
    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TouSocks {
    /// The TCP port, of 127.0.0.1 unless an address is given
    #[arg(value_name = "[ADDRESS:]PORT", value_parser = super::target::parse_listen)]
    pub listen: std::net::SocketAddr,
    /// The peer from which connections leave
    #[arg(long, value_name = "KEY|NAME")]
    pub to: String,
    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TouRun {
    /// The peer from which connections leave
    #[arg(long, value_name = "KEY|NAME")]
    pub to: String,
    #[command(flatten)]
    pub session: SessionArgs,
    /// The command and its arguments, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TouStatus {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
