//! The arguments of `windlass cc`.

use crate::live::KEYS_HELP;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

pub(crate) const CC_HELP: &str = "\
Examples:
  windlass cc load new-ecn                    # BPF struct_ops: no module, no reboot
  iperf3 -C new_ecn -c HOST                   # one program
  ip route change HOST via GATEWAY features ecn congctl new_ecn         # one route
  sysctl net.ipv4.tcp_congestion_control=new_ecn net.ipv4.tcp_ecn=1     # a network namespace
  windlass cc flows --live                                              # windows as they change
  windlass cc unload new-ecn

It stays loaded when the command has ended, until it is unloaded or the machine restarts. The name \
holds for the whole machine, in all network namespaces. Where ECN is not negotiated (sysctl \
net.ipv4.tcp_ecn=1 asks for it) New-ECN is Reno. Needs root, or CAP_BPF and \
CAP_PERFMON and a folder /sys/fs/bpf/windlass of one's own (see windlass doctor cc).

Exit status: 0 success; 1 not possible now: not permitted, the name taken or not loaded, the kernel \
refuses; 2 bad arguments.";

#[derive(Debug, Subcommand)]
pub(crate) enum Cc {
    /// Register a controller in the kernel
    Load(CcLoad),
    /// Say what is loaded: parameters, age, connections, the kernel's numbers of its programs
    Status {
        /// Print one JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
    /// List the connections that use it, in all network namespaces: window, slope, marks, cuts
    #[command(after_help = flows_help())]
    Flows {
        /// The controller's name in the kernel
        #[arg(long, default_value = KERNEL_NAME)]
        name: String,
        /// Print one JSON object instead of a table
        #[arg(long)]
        json: bool,
        /// Show them in the terminal as they change, four times a second, until q
        #[arg(long, conflicts_with = "json")]
        live: bool,
    },
    /// Take a controller away; connections that use it go on with it until they end
    Unload {
        /// The controller
        #[arg(value_parser = PossibleValuesParser::new(["new-ecn"]))]
        controller: String,
        /// The controller's name in the kernel
        #[arg(long, default_value = KERNEL_NAME)]
        name: String,
    },
}

const KERNEL_NAME: &str = "new_ecn";

const FLOWS_HELP: &str = "\
echoes: ACKs with ECN echo (a mark is echoed until the receiver hears of the cut). mark cuts: cuts \
for a mark, at most one in a round trip. loss cuts: cuts for a loss, timeouts among them. netns: \
the namespace, as in /proc/PID/ns/net. Windows are in segments, the slope in segments per round trip.

Examples:
  windlass cc flows --json | jq '.flows[].slope'
  windlass cc flows --live";

fn flows_help() -> String {
    format!("{FLOWS_HELP}\n\n{KEYS_HELP}")
}

#[derive(Debug, Args)]
pub(crate) struct CcLoad {
    /// The controller
    #[arg(value_parser = PossibleValuesParser::new(["new-ecn"]))]
    pub controller: String,
    /// cwnd and ssthresh are multiplied by this at a mark
    #[arg(long, value_name = "FACTOR", default_value_t = 0.9, allow_negative_numbers = true)]
    pub alpha_wnd: f64,
    /// The slope is multiplied by this at every mark but the first
    #[arg(long, value_name = "FACTOR", default_value_t = 0.9, allow_negative_numbers = true)]
    pub alpha_slp: f64,
    /// Once per round trip the slope grows by this times the square of the round-trip time in seconds.
    /// From 0 to 4000; with 0 it does not grow
    #[arg(long, value_name = "NUMBER", default_value_t = 16.0, allow_negative_numbers = true)]
    pub beta: f64,
    /// The name by which connections choose it: 1 to 15 letters, digits, underscores
    #[arg(long, default_value = KERNEL_NAME)]
    pub name: String,
}
