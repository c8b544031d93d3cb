//! The arguments of `windlass split-ack`.

use crate::value::whole;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// As many parts as the probe makes of an ACK at most.
const PARTS_MAX: u64 = 1024;
#[cfg(feature = "probe")]
const _: () = assert!(PARTS_MAX == windlass_probe::PARTS_MAX as u64);

pub(crate) const SPLIT_ACK_HELP: &str = "\
Examples:
  windlass split-ack -- curl -O http://host/file                # 4 ACKs for each of the first 3
  windlass split-ack --split 8 --acks 10 --json -- wget -q http://host/file
  windlass split-ack --baseline -- wget -qO- http://host/file   # without and with: what is gained
  windlass split-ack --split 1 --rounds -- curl -O http://host/file      # counts alone
  windlass split-ack --interface eth0 --report acks.txt -- python3 client.py
  ip netns exec LAB windlass split-ack -- curl http://10.0.0.1/

COMMAND runs as it is, in a cgroup of its own; the connections that it and its children open or accept \
are the ones concerned, and no others. The kernel's ACK of new data becomes N ACKs with ascending \
numbers, the last of them the kernel's own. ACKs that come with data or with a SACK option are left alone \
(docs/internals/split-ack.md says why), and so are those that leave by another network namespace than this one. \
Received segments are counted; the table goes to standard error when COMMAND has ended.

--rounds adds packets, bytes and ACKs of each round, the duration and the rate of each connection. A round \
begins with the first data that can answer an ACK of the round before. The first 16 rounds are listed, later \
ones summed.

--baseline runs COMMAND twice, first with a split of 1, and prints the rounds of both runs side by side. The \
first run has an empty standard input, and its standard output is discarded: only the second run's passes \
through. Standard error is that of both. Files that COMMAND writes are written twice. If the first run fails, \
or a signal such as Ctrl-C comes during it, there is no second run and no report.

Split ACKs make some servers send faster than the path bears: use them on paths that are yours.

Needs CAP_BPF and CAP_NET_ADMIN, a cgroup in which it may make another (root's, or a delegated one), and \
CAP_SYS_ADMIN where no cgroup2 is mounted, as behind ip netns exec: root has all of it. COMMAND gets the \
rights of the user who started windlass. Linux 6.1 or later. Nothing is left when windlass ends, even \
if it is killed, and COMMAND gets SIGTERM then (before Linux 6.6 a filter that does nothing stays).

Exit status: that of COMMAND, 128 and the signal's number if one ended it; 125 split-ack itself failed; \
126 COMMAND cannot be run; 127 no such command; 2 bad arguments. With --baseline it is that of the second \
run, or of a first run that failed; 128 and the signal's number if a signal came during the first run and \
COMMAND succeeded all the same.";

#[derive(Debug, Args)]
pub(crate) struct SplitAck {
    /// How many ACKs to send for one; 1 only counts
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = whole::<u32>(1..=PARTS_MAX))]
    pub split: u32,
    /// How many ACKs of new data to split, the first ones of each connection
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(1..=u64::from(u32::MAX)))]
    pub acks: u32,
    /// Show the rounds, the duration and the rate of each connection
    #[arg(long)]
    pub rounds: bool,
    /// Run the command once without splitting before, and compare the two runs
    #[arg(long)]
    pub baseline: bool,
    /// Allow more than 64 ACKs for one, up to 1024
    #[arg(long)]
    pub force: bool,
    /// Split only what leaves by this interface; may be repeated [default: all that are up]
    #[arg(long, value_name = "NAME")]
    pub interface: Vec<String>,
    /// Use filters of clsact even where the kernel has TCX
    #[arg(long, hide = true)]
    pub clsact: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Write the table or the JSON to this file instead of standard error
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The program to run, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command_line: Vec<OsString>,
}
