//! The arguments of `windlass tou nat`.

use crate::cmd::tou::connection_args::Family;
use crate::value::HostPort;
use clap::Args;

pub(crate) const NAT_HELP: &str = "\
Examples:
  windlass tou nat --via rendezvous.example.org
  windlass tou nat --via stun.example.org:3478 -4 --json

The server is a rendezvous with --alternate, or any other STUN server with two addresses (RFC 5780), such as \
coturn. A server with one address shows the address translation only. Without an answer by UDP, the command \
tries TCP port 443, by which sessions would use a relay.

docs/reference/tou-nat.md explains each finding and the keys of --json.

Exit status: 0 the server answered by UDP; 1 it did not, no such host, or no route to it; 2 bad arguments; \
130 interrupted.";

/// The port of STUN (RFC 8489 section 8.1).
const STUN_PORT: u16 = 3478;

#[derive(Debug, Args)]
pub(crate) struct TouNat {
    /// The server to ask; an IPv6 address with a port stands in brackets
    #[arg(long, value_name = "HOST[:PORT]", value_parser = |text: &str| HostPort::parse_or(text, STUN_PORT))]
    pub via: HostPort,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub family: Family,
}
