//! `windlass link`.

mod file;
#[cfg(target_os = "linux")]
mod nested;
#[cfg(target_os = "linux")]
mod ports;
#[cfg(target_os = "linux")]
mod report;
pub(crate) mod settings;

pub(crate) use settings::PortArg;

use crate::args::Link;
#[cfg(target_os = "linux")]
use crate::args::LinkCommand;
use crate::failure::Failure;
use std::process::ExitCode;

pub(crate) const LINK_HELP: &str = "\
Examples:
  windlass link --rate 10M --delay 40ms -- bash
  windlass link --rate up:1M --rate down:16M --delay 20ms --aqm fq-codel -- curl http://100.64.0.1/
  windlass link --rate 10M --aqm red:min=10,max=20,above_max=mark-ect --outside 'iperf3 -s -1' -- \
sh -c 'sleep 1; iperf3 -c $WINDLASS_OUTSIDE'
  windlass link --delay 20ms -- windlass link --loss 1% -- bash        # one link behind the other
  windlass link --rate 10M --delay 5ms --port a@left=10.0.0.1/24 --port b@right=10.0.0.2/24

COMMAND runs in a network namespace of its own. What it sends leaves by the link (up), and comes out \
at $WINDLASS_OUTSIDE, an address of the namespace that windlass was started in (the first that is \
free of 100.64.0.1, 100.64.16.1, ...); the answers come back down. Without root, where user namespaces \
are allowed, the outside is an empty namespace: --outside runs a server in it. COMMAND sees no other \
processes than its own, and they end with it. Nothing is left behind, whatever is killed.

Queues and their settings have the names of scenario files (docs/guide/scenarios.md); bare numbers are \
packets: droptail:limit=50, red:min=10,max=20,weight=0.002,p_max=0.1, adaptive-red, \
codel:target=5ms, fq-codel, pie:target=15ms. Losses: 0.01, 1%, \
gilbert-elliott:good_to_bad=0.01,bad_to_good=0.25, listed:first=3/7,retransmissions=1 (ordinals in \
each flow).

Exit status: that of COMMAND, 128 and the signal's number if one ended it; 127 no such command; 1 and \
2 as ever. With --port: 0 after Ctrl-C.";

pub(crate) const RUN_HELP: &str = "\
A link of two ports:
  schema = 1
  [[ports]]
  name = \"a\"                        # the device
  namespace = \"left\"                # of ip netns, or pid:NUMBER, or a path; none: this one
  addresses = [\"10.0.0.1/24\"]
  up = { rate = \"10Mbit/s\", delay = \"20ms\", queue = \"codel\" }
  [[ports]]
  name = \"b\"
  addresses = [\"10.0.0.2/24\"]

All keys: docs/guide/link.md. Runs until Ctrl-C or SIGTERM; the exit status is 0 then.

Example: windlass link run dumbbell.toml --json --log queue.csv";

/// Does what the arguments say.
#[cfg(target_os = "linux")]
pub(crate) fn main(args: Link) -> Result<ExitCode, Failure> {
    match &args.command {
        Some(LinkCommand::Run(run)) => ports::run_file(run),
        None if !args.port.is_empty() => ports::run_two(&args),
        None if args.command_line.is_empty() => Err(Failure::Input(
            "expected -- COMMAND, or --port twice, or run FILE; see windlass link --help".into(),
        )),
        None => nested::main(args),
    }
}

/// Says why not.
#[cfg(not(target_os = "linux"))]
pub(crate) fn main(_: Link) -> Result<ExitCode, Failure> {
    Err(Failure::Work("link: TUN devices and namespaces as used here are a part of Linux".into()))
}
