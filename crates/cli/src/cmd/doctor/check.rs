//! The kinds of things that a tool may need, and how each is looked for.

use super::capability::Capability;
use super::finding::Finding::{self, Missing, Present};
use super::machine::Machine;
use super::{kernel, namespaces, packet_path};
use std::fs::OpenOptions;

/// Something that a machine has or lacks.
#[derive(Debug)]
pub(super) enum Check {
    /// A program in PATH, under one of these names.
    Program(&'static [&'static str]),
    /// Python 3 of at least this minor version.
    Python { minor: u32 },
    /// The lab's own command.
    Lab,
    /// An effective capability of this process.
    Capability(Capability),
    /// A device that can be opened for reading and writing.
    Device(&'static str),
    /// A network namespace can be made, by this user or in a user namespace.
    Namespaces,
    /// A kernel of at least this release.
    Kernel { major: u32, minor: u32 },
    /// The kernel's own type information (BTF).
    KernelTypes,
    /// A type that the kernel itself knows.
    KernelType(&'static str),
    /// The kernel takes tracing programs.
    TracingPrograms,
    /// A part of the kernel that may be a module. Where it is built in, a type of its own shows it.
    KernelPart { module: &'static str, kind: &'static str },
    /// A file system at its place.
    Mounted { kind: &'static str, at: &'static str },
    /// The tracepoint tcp:tcp_probe.
    TcpProbe,
    /// The kernel cuts UDP datagrams apart on their way out (GSO).
    UdpSegment,
    /// The kernel joins UDP datagrams that come in (GRO).
    UdpGro,
    /// A queue of this machine marks packets in place of dropping them.
    MarkingQueue,
    /// No interface joins packets into lists, or the kernel can edit those as a whole.
    ReceiveLists,
    /// No flowtable of nftables is in the hardware.
    HardwareFlowTables,
}

impl Check {
    /// Name of the check in reports.
    pub(super) fn name(&self) -> String {
        match self {
            Check::Program(names) => names[0].to_owned(),
            Check::Python { minor } => format!("Python 3.{minor}"),
            Check::Lab => "windlass-lab".to_owned(),
            Check::Capability(capability) => capability.name().to_owned(),
            Check::Device(path) => (*path).to_owned(),
            Check::Namespaces => "network namespaces".to_owned(),
            Check::Kernel { major, minor } => format!("Linux {major}.{minor}"),
            Check::KernelTypes => kernel::BTF.to_owned(),
            Check::KernelType(name) if name.starts_with("bpf_struct_ops_") => {
                format!("struct_ops {}", name.trim_start_matches("bpf_struct_ops_"))
            }
            Check::KernelType(name) => (*name).to_owned(),
            Check::TracingPrograms => "tracing programs".to_owned(),
            Check::KernelPart { module, .. } => format!("{module} (kernel)"),
            Check::Mounted { at, .. } => (*at).to_owned(),
            Check::TcpProbe => "tracepoint tcp_probe".to_owned(),
            Check::UdpSegment => "UDP_SEGMENT (GSO)".to_owned(),
            Check::UdpGro => "UDP_GRO".to_owned(),
            Check::MarkingQueue => "marking queue".to_owned(),
            Check::ReceiveLists => "offload rx-gro-list".to_owned(),
            Check::HardwareFlowTables => "offload of flowtables".to_owned(),
        }
    }

    /// Looks for it.
    pub(super) fn look(&self, machine: &Machine) -> Finding {
        match self {
            Check::Program(names) => match machine.program(names) {
                Some(path) => Present(path.display().to_string()),
                None => Missing(format!("no {} in PATH", names.join(" or "))),
            },
            Check::Python { minor } => machine.python(*minor),
            Check::Lab => machine.lab(),
            Check::Capability(capability) => machine.capability(*capability),
            Check::Device(path) => match OpenOptions::new().read(true).write(true).open(path) {
                Ok(_) => Present("can be opened".to_owned()),
                Err(error) => Missing(error.to_string()),
            },
            Check::Namespaces => namespaces::look(),
            Check::Kernel { major, minor } => kernel::release_from(*major, *minor),
            Check::KernelTypes => kernel::types(),
            Check::KernelType(name) => kernel::has_type(name),
            Check::TracingPrograms => kernel::tracing_programs(),
            Check::KernelPart { module, kind } => kernel::part(module, kind),
            Check::Mounted { kind, at } => kernel::mounted(kind, at),
            Check::TcpProbe => kernel::tcp_probe(),
            Check::UdpSegment => kernel::udp_segment(),
            Check::UdpGro => kernel::udp_gro(),
            Check::MarkingQueue => packet_path::marking_queue(machine),
            Check::ReceiveLists => packet_path::receive_lists(machine),
            Check::HardwareFlowTables => packet_path::hardware_flow_tables(machine),
        }
    }
}
