//! The arguments of `windlass tou perf`.

use crate::cmd::tou::connection_args::{Family, PathOptions, Transport};
use crate::live::KEYS_HELP;
use crate::value::{HostPort, Local, parse_bytes, parse_nonzero_time, parse_time, whole};
use clap::{Args, Subcommand};
use std::net::IpAddr;
use std::path::PathBuf;
use windlass_base::Span;
use windlass_tou_perf::STREAMS_MAX;

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
pub(crate) enum Perf {
    /// Wait for clients
    #[command(after_help = SERVER_HELP)]
    Server(PerfServer),
    /// Send to a server, or let it send
    #[command(after_help = client_help())]
    Client(PerfClient),
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
