//! Requirements of a test on its machine, and the line that it prints where one is missing.

use std::fs;
use std::path::Path;
use std::thread;

/// Something that a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// The effective capabilities CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN.
    Root,
    /// The capability CAP_NET_RAW.
    RawSockets,
    /// A kernel that publishes its types in `/sys/kernel/btf/vmlinux`.
    Btf,
    /// `/dev/net/tun`, readable and writable.
    Tun,
    /// A BPF file system at `/sys/fs/bpf`.
    BpfFileSystem,
    /// A program on the PATH.
    Program(&'a str),
}

const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;
const CAP_SYS_ADMIN: u32 = 21;

impl Need<'_> {
    /// Why the need is not met; `None` if it is.
    fn missing(self) -> Option<String> {
        let met = match self {
            Need::Root => {
                [CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN].into_iter().all(has_capability)
            }
            Need::RawSockets => has_capability(CAP_NET_RAW),
            Need::Btf => Path::new("/sys/kernel/btf/vmlinux").exists(),
            Need::Tun => fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun").is_ok(),
            Need::BpfFileSystem => is_mounted("/sys/fs/bpf", "bpf"),
            Need::Program(name) => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&path).any(|folder| folder.join(name).exists())
            }
        };
        let name = match self {
            Need::Root => "root",
            Need::RawSockets => "CAP_NET_RAW",
            Need::Btf => "a kernel with BTF",
            Need::Tun => "/dev/net/tun",
            Need::BpfFileSystem => "a BPF file system at /sys/fs/bpf",
            Need::Program(name) => name,
        };
        (!met).then(|| name.to_owned())
    }
}

fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = effective.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    set >> number & 1 == 1
}

fn is_mounted(folder: &str, kind: &str) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| {
        let mut words = line.split(' ').skip(1);
        words.next() == Some(folder) && words.next() == Some(kind)
    })
}

/// True, after one line that says why, if the calling test must be skipped because of a need that
/// the machine does not meet.
pub fn skip_unless(needs: &[Need<'_>]) -> bool {
    match needs.iter().find_map(|need| need.missing()) {
        Some(reason) => skip(&format!("needs {reason}")),
        None => false,
    }
}

/// Prints the line of a skipped test, with the test's name and the reason; always true, so that a
/// test can write `if cannot_run { return skip(...) }` in one condition.
pub fn skip(reason: &str) -> bool {
    let thread = thread::current();
    eprintln!("skipped: {}: {reason}", thread.name().unwrap_or("a test"));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let reason = Need::Program("no-such-program").missing();
        assert_eq!(reason.as_deref(), Some("no-such-program"));
        assert!(skip_unless(&[Need::Program("sh"), Need::Program("no-such-program")]));
    }

    #[test]
    fn a_present_need_skips_nothing() {
        assert!(!skip_unless(&[Need::Program("sh")]));
    }
}
