//! The arguments of `windlass probe survey`.

use super::MeasureArgs;
use crate::value::{parse_connection_rate, parse_test, parse_time, whole};
use clap::Args;
use std::path::PathBuf;
use windlass_base::Span;
use windlass_probe::Test;

pub(crate) const SURVEY_HELP: &str = "\
Examples:
  windlass probe survey hosts.txt --dry-run                   # says what would be done, sends nothing
  windlass probe survey hosts.txt --out survey/ --contact 'https://example.org/survey, a@example.org'
  windlass probe survey hosts.txt --rate 50 --out survey/ --exclude blocklist.txt
  windlass probe survey hosts.txt --rate 50 --out survey/ --resume

hosts.txt has a host or a URL a line, blocklist.txt a network (CIDR) or an address; what follows a blank \
is a comment. Servers with the same address take turns, redirects are followed unless they lead to an \
address to be left alone.

DIR gets hosts.csv, a row for each host (what labels it, reaction, initial window, why it was not \
measured), runs.csv, a row for each run, hosts.txt and survey.json, what was asked for. Rows are written as \
hosts are done; after a kill --resume takes a torn row off and goes on with the hosts that are left. \
It wants the same hosts, tests and measuring; --rate, --under-way, --pause and --exclude may change.

Ask before you probe what is not yours, and give owners a contact with --contact. A host is \
asked for one page at a time, some ten to thirty packets each, for each test two to five times, until its \
answer is certain, or --runs times; put the hosts of owners who object on the list of --exclude.

Needs CAP_NET_RAW: root, or sudo setcap cap_net_raw+ep $(command -v windlass).

Exit status: 0 all hosts are done, whatever came of them; 1 failure while working: not permitted, no \
sockets, disk full; 2 bad arguments, lists or directory; 130 interrupted, what is done is kept.";

#[derive(Debug, Args)]
pub(crate) struct Survey {
    /// The list of hosts
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The tests: A to E split each ACK in 1, 2, 4, 8, 12; S sends one for several segments
    #[arg(long, value_name = "LETTERS", value_delimiter = ',', value_parser = parse_test)]
    #[arg(default_value = "A,C", conflicts_with = "split")]
    pub tests: Vec<Test>,
    #[command(flatten)]
    pub how: MeasureArgs,
    /// Where a page is too small for the tests, look for a larger object among its links: up to four requests
    /// more, robots.txt obeyed
    #[arg(long)]
    pub find_object: bool,
    /// New connections a second, at most, to all hosts together
    #[arg(long, value_name = "N", default_value = "50", value_parser = parse_connection_rate)]
    pub rate: f64,
    /// Hosts under way at once, at most [default: as many as have connections in ten seconds; with --cca 30]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=1_000_000))]
    pub under_way: Option<u32>,
    /// Between two connections to a host
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    pub pause: Span,
    /// Where results go: a new directory
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    pub out: Option<PathBuf>,
    /// Go on with the survey in the directory
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Networks and addresses to leave alone; may be given several times
    #[arg(long, value_name = "FILE")]
    pub exclude: Vec<PathBuf>,
    /// Contact for owners of servers: an address or a page, sent in the User-Agent
    #[arg(long, value_name = "TEXT")]
    pub contact: Option<String>,
    /// Let nmap guess the operating system of each host: some 30 packets more
    #[arg(long)]
    pub os: bool,
    /// Say what would be done; send nothing, not even for names
    #[arg(long)]
    pub dry_run: bool,
    /// Print the summary as a JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}
