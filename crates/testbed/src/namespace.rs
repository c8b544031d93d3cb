//! A network namespace of the test's own, and the devices that join two of them.

use crate::process::{output, run, text};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// A name that no other test uses, nor another run of this one.
pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A network namespace for as long as the value lives. Its loopback device is up, and an IPv6
/// address is usable at once.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes a namespace whose name begins with `prefix`.
    ///
    /// # Panics
    ///
    /// Without root, or without iproute2.
    pub fn new(prefix: &str) -> Namespace {
        let namespace = Namespace { name: unique(prefix) };
        run("ip", &format!("netns add {}", namespace.name));
        namespace.ip("link set lo up");
        // Duplicate address detection (RFC 4862 section 5.4) leaves a router without a link-local
        // address for a second or two. It could not ask for a neighbour, and the first SYN over
        // IPv6 would wait for that.
        for scope in ["all", "default"] {
            namespace.sysctl(&format!("ipv6/conf/{scope}/accept_dad"), "0");
        }
        namespace
    }

    /// The name by which `ip netns` knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The inode of the namespace, by which the kernel identifies it.
    pub fn inode(&self) -> u32 {
        let file = fs::metadata(self.path()).expect("made by ip");
        u32::try_from(file.ino()).expect("an inode of nsfs")
    }

    fn path(&self) -> String {
        format!("/run/netns/{}", self.name)
    }

    /// Runs `work` in the namespace, on a thread of its own since a namespace is a thread's.
    ///
    /// # Panics
    ///
    /// If `work` panics.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let file = File::open(self.path()).expect("made by ip");
        let enter_and_work = || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(file.as_fd(), network).expect("root");
            work()
        };
        // The name of the test goes along, for the line of a skipped part.
        let thread =
            thread::Builder::new().name(thread::current().name().unwrap_or("a test").to_owned());
        thread::scope(|scope| thread.spawn_scoped(scope, enter_and_work).expect("a thread").join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// `ip -n NAMESPACE ARGUMENTS`.
    ///
    /// # Panics
    ///
    /// If the command fails.
    #[track_caller]
    pub fn ip(&self, arguments: &str) {
        run("ip", &format!("-n {} {arguments}", self.name));
    }

    /// `tc -n NAMESPACE ARGUMENTS`.
    ///
    /// # Panics
    ///
    /// If the command fails.
    #[track_caller]
    pub fn tc(&self, arguments: &str) {
        run("tc", &format!("-n {} {arguments}", self.name));
    }

    /// Runs a program in the namespace by `ip netns exec`.
    ///
    /// # Panics
    ///
    /// If the program cannot be started or fails.
    #[track_caller]
    pub fn run(&self, program: &str, arguments: &str) {
        run("ip", &format!("netns exec {} {program} {arguments}", self.name));
    }

    /// The standard output of a program in the namespace.
    ///
    /// # Panics
    ///
    /// If `ip` cannot be started.
    #[track_caller]
    pub fn output(&self, program: &str, arguments: &str) -> String {
        let command = format!("netns exec {} {program} {arguments}", self.name);
        text(&output("ip", &command).stdout)
    }

    /// A command that will run in the namespace, with all mounts of the host: by nsenter.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path())).arg(program).stdin(Stdio::null());
        command
    }

    /// The same by iproute2, which hides the mounts of cgroups.
    pub fn command_without_cgroups(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]).stdin(Stdio::null());
        command
    }

    /// Writes a key below `/proc/sys/net`, for example `ipv4/tcp_ecn`.
    ///
    /// # Panics
    ///
    /// If the kernel has no such key or refuses the value.
    pub fn sysctl(&self, key: &str, value: &str) {
        self.try_sysctl(key, value).unwrap_or_else(|error| panic!("/proc/sys/net/{key}: {error}"));
    }

    /// The same for a value that not every kernel takes.
    ///
    /// # Errors
    ///
    /// The kernel has no such key or refuses the value.
    pub fn try_sysctl(&self, key: &str, value: &str) -> io::Result<()> {
        self.inside(|| fs::write(format!("/proc/sys/net/{key}"), value))
    }

    /// A counter of the namespace's IPv4 and TCP, by the name that nstat gives it without the prefix.
    ///
    /// # Panics
    ///
    /// If the kernel has no such counter.
    pub fn counter(&self, name: &str) -> u64 {
        let tables = self.inside(|| {
            fs::read_to_string("/proc/thread-self/net/netstat").expect("readable")
                + &fs::read_to_string("/proc/thread-self/net/snmp").expect("readable")
        });
        let lines: Vec<_> = tables.lines().collect();
        let value = lines.chunks(2).find_map(|pair| {
            let column = pair[0].split(' ').position(|word| word == name)?;
            pair.get(1)?.split(' ').nth(column)?.parse().ok()
        });
        value.unwrap_or_else(|| panic!("no counter {name}"))
    }

    /// A counter of the namespace's IPv6, by the name that nstat gives it.
    ///
    /// # Panics
    ///
    /// If the kernel has no such counter.
    pub fn counter6(&self, name: &str) -> u64 {
        let read = || fs::read_to_string("/proc/thread-self/net/snmp6").expect("readable");
        let table = self.inside(read);
        let value = table.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(name)).then(|| words.next())?
        });
        value.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no counter {name}"))
    }

    /// Gives a device addresses and sets it up. A veth hands packets to the processor that sent
    /// them, and reorders them when a sender moves to another: here one processor takes all.
    ///
    /// # Panics
    ///
    /// If a command fails.
    pub fn bring_up(&self, device: &str, addresses: &[impl AsRef<str>]) {
        self.bring_up_with(device, addresses, "");
    }

    /// The same with attributes of `ip link set`, such as `gso_max_segs 1`.
    ///
    /// # Panics
    ///
    /// If a command fails.
    pub(crate) fn bring_up_with(
        &self,
        device: &str,
        addresses: &[impl AsRef<str>],
        attributes: &str,
    ) {
        for address in addresses {
            self.ip(&format!("address add {} dev {device}", address.as_ref()));
        }
        self.ip(&format!("link set {device} {attributes} up").replace("  ", " "));
        // /sys is of the namespace that mounted it: iproute2 mounts another one.
        let file = format!("/sys/class/net/{device}/queues/rx-0/rps_cpus");
        let script = format!("echo 1 > {file}");
        let mut command = self.command_without_cgroups("sh");
        let status = command.args(["-c", &script]).status().expect("iproute2");
        assert!(status.success(), "{script}: {status}");
    }

    /// Turns all offloads of a device off: packets are as on the wire, with their checksums.
    ///
    /// # Panics
    ///
    /// Without ethtool.
    pub fn disable_offloads(&self, device: &str) {
        self.run("ethtool", &format!("-K {device} tx off rx off sg off tso off gso off gro off"));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).status();
    }
}

/// Joins two namespaces by a pair of veth devices with the names given.
///
/// # Panics
///
/// If the command fails.
pub fn join(left: (&Namespace, &str), right: (&Namespace, &str)) {
    let ((left, device), (right, peer)) = (left, right);
    left.ip(&format!("link add {device} type veth peer name {peer} netns {}", right.name));
}
