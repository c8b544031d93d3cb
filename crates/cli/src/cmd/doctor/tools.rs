//! Which tool needs what. A new tool is a new entry here.

use super::capability::Capability;
use super::check::Check;

/// A tool and all that it needs of a machine.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) needs: &'static [Need],
}

impl Tool {
    /// The name of its command where that is not its own.
    pub(super) fn command(&self) -> Option<&'static str> {
        self.about.strip_prefix("windlass ").and_then(|rest| rest.split([',', ' ']).next())
    }

    /// Whether a user means this tool.
    pub(super) fn is(&self, name: &str) -> bool {
        name == self.name || self.command() == Some(name)
    }
}

/// One thing that a tool needs.
#[derive(Debug)]
pub(super) struct Need {
    pub(super) check: Check,
    /// Purpose of the need for the tool.
    pub(super) why: &'static str,
    /// Where it is missing: required things stop the tool, others only what `why` says.
    pub(super) required: bool,
    /// How to get it: a command, a kernel option, a capability.
    pub(super) get: &'static str,
}

const fn required(check: Check, why: &'static str, get: &'static str) -> Need {
    Need { check, why, required: true, get }
}

const fn optional(check: Check, why: &'static str, get: &'static str) -> Need {
    Need { check, why, required: false, get }
}

const AS_ROOT: &str = "run it as root (sudo windlass ...)";
const PYTHON: &str = "apt-get install python3 python3-venv (Debian 12 or later)";
const NAMESPACES: &str = "run it as root, or allow user namespaces: sysctl -w \
    user.max_user_namespaces=10000 (Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)";
const SPLIT_ACK_RIGHTS: &str =
    "run it as root, or sudo setcap cap_bpf,cap_net_admin+ep $(command -v windlass)";
const TUN: &str = "run it as root; if there is no such device, modprobe tun (kernel option \
    CONFIG_TUN), and in a container hand it in (docker run --device /dev/net/tun)";
const QEMU: &[&str] = &["qemu-system-x86_64"];
const GET_QEMU: &str = "in a checkout, as root: scripts/with-kernel -- true installs it";

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "simulator",
        about: "windlass sim",
        needs: &[optional(
            Check::Program(&["tshark"]),
            "reads the captures of sim run --pcap",
            "apt-get install tshark",
        )],
    },
    Tool {
        name: "lab",
        about: "windlass-lab reproduce, its report",
        needs: &[
            required(Check::Python { minor: 11 }, "the lab is written in it", PYTHON),
            required(
                Check::Lab,
                "runs the experiments and writes the report",
                "make setup in the repository, or pip install the wheel windlass_lab of a release",
            ),
            optional(
                Check::Program(&["chromium", "chromium-browser", "google-chrome"]),
                "a test opens the report in it",
                "apt-get install chromium",
            ),
            optional(
                Check::Program(&["chromedriver"]),
                "lets that test drive the browser",
                "apt-get install chromium-driver",
            ),
        ],
    },
    Tool {
        name: "bench",
        about: "make bench, the speed beside ns-2's",
        needs: &[
            required(Check::Python { minor: 11 }, "benches/run.py is written in it", PYTHON),
            optional(
                Check::Program(&["ns"]),
                "ns-2; without it Windlass is measured alone",
                "apt-get install ns2",
            ),
        ],
    },
    Tool {
        name: "link",
        about: "windlass link, real packets through an emulated link",
        needs: &[
            required(Check::Device("/dev/net/tun"), "its ports are TUN devices", TUN),
            required(Check::Namespaces, "the command behind the link has its own", NAMESPACES),
            optional(
                Check::Capability(Capability::NetAdmin),
                "ports in this machine's own network, not in a user namespace",
                AS_ROOT,
            ),
        ],
    },
    Tool {
        name: "cc",
        about: "windlass cc, congestion control in the kernel",
        needs: &[
            required(
                Check::KernelTypes,
                "the program is fitted to this kernel by its types (CO-RE)",
                "a kernel with CONFIG_DEBUG_INFO_BTF=y",
            ),
            required(
                Check::KernelType("bpf_struct_ops_tcp_congestion_ops"),
                "controllers as BPF programs (struct_ops)",
                "a kernel from 5.6 on with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y and BTF",
            ),
            required(Check::Capability(Capability::Bpf), "loads the program", AS_ROOT),
            required(
                Check::Capability(Capability::Perfmon),
                "struct_ops programs read kernel memory",
                AS_ROOT,
            ),
            required(
                Check::TracingPrograms,
                "one of them lists the connections",
                "a kernel with CONFIG_BPF_EVENTS=y that is not locked down, and root",
            ),
            optional(
                Check::Mounted { kind: "bpf", at: "/sys/fs/bpf" },
                "keeps the controller after the command has ended",
                "windlass cc load mounts it (as root)",
            ),
        ],
    },
    Tool {
        name: "ecn-proxy",
        about: "windlass ecn-proxy, ECN for the hosts behind a router",
        needs: &[
            required(
                Check::Kernel { major: 6, minor: 1 },
                "earlier ones were not tried",
                "a kernel from 6.1 on",
            ),
            required(Check::Capability(Capability::Bpf), "loads the programs", AS_ROOT),
            required(
                Check::Capability(Capability::NetAdmin),
                "puts them at the interfaces",
                AS_ROOT,
            ),
            required(
                Check::Capability(Capability::Perfmon),
                "without it the verifier finds the programs too complex",
                AS_ROOT,
            ),
            optional(
                Check::KernelTypes,
                "the programs recognise lists of GRO (rx-gro-list), which else must be off",
                "a kernel with CONFIG_DEBUG_INFO_BTF=y",
            ),
            optional(
                Check::KernelType("tcx_link"),
                "programs that go at once when the proxy is killed; else filters of clsact stay, \
                 and pass everything after a minute",
                "a kernel from 6.6 on with CONFIG_NET_XGRESS=y",
            ),
            optional(
                Check::Mounted { kind: "bpf", at: "/sys/fs/bpf" },
                "keeps programs and table over a restart (--pin)",
                "mount -t bpf bpf /sys/fs/bpf",
            ),
            optional(
                Check::Program(&["nft"]),
                "tells which flowtables go past the proxy, so that it can warn",
                "apt-get install nftables",
            ),
            optional(
                Check::MarkingQueue,
                "where no queue on the path marks, ECN changes nothing (a queue elsewhere may)",
                "tc qdisc replace dev INTERFACE root fq_codel, at the bottleneck's interface",
            ),
            optional(
                Check::ReceiveLists,
                "before Linux 6.12 an edit reaches the first packet of a list only",
                "ethtool -K INTERFACE rx-gro-list off (apt-get install ethtool)",
            ),
            optional(
                Check::HardwareFlowTables,
                "packets that the hardware forwards do not pass the proxy",
                "take the served interfaces out of the flowtable, as root (nft list flowtables)",
            ),
        ],
    },
    Tool {
        name: "probe",
        about: "windlass probe, a server's slow start from outside",
        needs: &[
            required(
                Check::Capability(Capability::NetRaw),
                "sends and receives packets of its own",
                "run it as root, or sudo setcap cap_net_raw+ep $(command -v windlass)",
            ),
            optional(
                Check::Program(&["nmap"]),
                "guesses operating systems, for surveys that ask with --os",
                "apt-get install nmap",
            ),
        ],
    },
    Tool {
        name: "split-ack",
        about: "windlass split-ack, any program with its ACKs split",
        needs: &[
            required(
                Check::Kernel { major: 6, minor: 1 },
                "earlier ones were not tried",
                "a kernel from 6.1 on",
            ),
            required(
                Check::KernelTypes,
                "the kernel checks the types of the programs",
                "a kernel with CONFIG_DEBUG_INFO_BTF=y",
            ),
            required(
                Check::KernelType("bpf_cgroup_link"),
                "the program runs in a cgroup (version 2) of its own",
                "a kernel with CONFIG_CGROUPS=y and CONFIG_CGROUP_BPF=y",
            ),
            required(Check::Capability(Capability::Bpf), "loads the programs", SPLIT_ACK_RIGHTS),
            required(
                Check::Capability(Capability::NetAdmin),
                "puts them at the interfaces and the cgroup",
                SPLIT_ACK_RIGHTS,
            ),
            optional(
                Check::Capability(Capability::SysAdmin),
                "where no cgroup2 is mounted, as behind ip netns exec, it mounts its own",
                AS_ROOT,
            ),
            optional(
                Check::KernelType("tcx_link"),
                "programs that go at once when windlass is killed; else filters of clsact stay that \
                 do nothing",
                "a kernel from 6.6 on with CONFIG_NET_XGRESS=y",
            ),
        ],
    },
    Tool {
        name: "tou",
        about: "windlass tou, TCP's byte stream over UDP; it works without any of these",
        needs: &[
            optional(
                Check::UdpSegment,
                "hands many datagrams to the kernel at once; without it each costs a call",
                "a kernel from 4.18 on",
            ),
            optional(
                Check::UdpGro,
                "takes many datagrams from the kernel at once",
                "a kernel from 5.0 on",
            ),
            optional(
                Check::Program(&["tshark"]),
                "shows ToU's segments, with crates/tou/wireshark/tou.lua",
                "apt-get install tshark",
            ),
        ],
    },
    Tool {
        name: "judge",
        about: "windlass judge --kernel, a kernel's TCP; simulated senders need none of these",
        needs: &[
            required(Check::Device("/dev/net/tun"), "the judge is behind one", TUN),
            required(Check::Namespaces, "every case has its own", NAMESPACES),
            required(
                Check::KernelPart { module: "inet_diag", kind: "inet_diag_req_v2" },
                "tells the state of the kernel's connections",
                "modprobe tcp_diag (kernel option CONFIG_INET_DIAG)",
            ),
            optional(Check::Program(QEMU), "runs other kernels (--kernel 7.3:reno)", GET_QEMU),
        ],
    },
    Tool {
        name: "drill",
        about: "windlass drill --kernel, a kernel's TCP; simulated ones need none of these",
        needs: &[
            required(Check::Device("/dev/net/tun"), "the script is behind one", TUN),
            required(Check::Namespaces, "every script has its own", NAMESPACES),
            optional(Check::Program(&["sysctl"]), "commands of scripts", "apt-get install procps"),
            optional(
                Check::Program(&["tc"]),
                "sets queues, and ip and nstat come with it, in commands of scripts",
                "apt-get install iproute2",
            ),
            optional(
                Check::Program(&["ethtool"]),
                "sets offloads, in commands of scripts",
                "apt-get install ethtool",
            ),
            optional(Check::Program(QEMU), "runs other kernels (--kernel 7.3)", GET_QEMU),
        ],
    },
    Tool {
        name: "testbed",
        about: "the lab's experiments on real kernels",
        needs: &[
            required(Check::Lab, "builds the testbeds", "make setup (in the repository)"),
            required(Check::Capability(Capability::SysAdmin), "makes namespaces", AS_ROOT),
            required(Check::Capability(Capability::NetAdmin), "sets up their network", AS_ROOT),
            required(Check::Namespaces, "every host is one", NAMESPACES),
            required(
                Check::KernelPart { module: "veth", kind: "veth_priv" },
                "joins the namespaces",
                "modprobe veth (kernel option CONFIG_VETH)",
            ),
            required(Check::Device("/dev/net/tun"), "the emulated links end in them", TUN),
            required(
                Check::KernelPart { module: "inet_diag", kind: "inet_diag_req_v2" },
                "tells the state of the kernel's connections",
                "modprobe tcp_diag (kernel option CONFIG_INET_DIAG)",
            ),
            optional(
                Check::TcpProbe,
                "tells cwnd at every ACK; without it there are samples only",
                "a kernel with CONFIG_FTRACE=y, and mount -t tracefs tracefs /sys/kernel/tracing",
            ),
            required(Check::Program(&["iperf3"]), "sends the traffic", "apt-get install iperf3"),
            optional(
                Check::Program(&["iperf"]),
                "sends that of reproduce ecn-proxy --real",
                "apt-get install iperf",
            ),
            optional(Check::Program(&["nginx"]), "serves web transfers", "apt-get install nginx"),
            optional(Check::Program(&["curl"]), "fetches web transfers", "apt-get install curl"),
            optional(
                Check::Program(&["tshark"]),
                "reads captures of the testbeds",
                "apt-get install tshark",
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_says_why_and_how_to_get_it_in_one_line_and_once_a_tool() {
        for tool in TOOLS {
            let mut names: Vec<String> = tool.needs.iter().map(|n| n.check.name()).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), tool.needs.len(), "{} names a need twice", tool.name);
            for need in tool.needs {
                for text in [need.why, need.get] {
                    assert!(!text.is_empty() && !text.contains('\n'), "{}: {need:?}", tool.name);
                }
            }
        }
    }
}
