//! Arguments that several commands share: addresses, messages, and how connections are made.

use crate::registry::{controller_names, known_controller};
use crate::value::{
    Named, echo_names, parse_buffer, parse_echo, parse_profile, parse_rto_rule, parse_time,
    profile_names, rto_rule_names, whole,
};
use clap::Args;
use std::path::PathBuf;
use windlass_base::Span;
use windlass_tcp::Profile;
use windlass_tcp::config::{EcnEcho, RtoRule};

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
    /// Congestion controller: cubic, newreno, reno, vegas, new-ecn, dctcp, prague, bbr, bbr3, tahoe; none: for
    /// experiments on links of one's own. With perf client --reverse it is the server's
    #[arg(long, value_name = "NAME", default_value = "cubic", hide_possible_values = true)]
    #[arg(value_parser = Named::new(controller_names, known_controller))]
    pub cc: String,
    /// Offer ECN; a listener accepts it in any case
    #[arg(long)]
    pub ecn: bool,
    #[command(flatten)]
    pub path: PathOptions,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The connection")]
pub(crate) struct PathOptions {
    /// The TCP of a time and place: linux, rfc5681, rfc3465, rfc2581, ns2-reno
    #[arg(long, value_name = "NAME", default_value = "linux", hide_possible_values = true)]
    #[arg(value_parser = Named::new(profile_names, parse_profile))]
    pub profile: Profile,
    /// How marks are echoed: until-cwr (RFC 3168), or once-per-ce, which New-ECN wants of its peer, or dctcp (RFC
    /// 8257), or accurate: AccECN (RFC 9768) with peers that have it
    #[arg(long, value_name = "HOW", default_value = "until-cwr", hide_possible_values = true)]
    #[arg(value_parser = Named::new(echo_names, parse_echo))]
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
    #[arg(long, value_name = "NAME", default_value = "rfc6298", hide_possible_values = true)]
    #[arg(value_parser = Named::new(rto_rule_names, parse_rto_rule))]
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
