//! Checks of the kernel.

use super::finding::Finding::{self, Missing, Present};
#[cfg(target_os = "linux")]
use nix::sys::socket::sockopt;
use std::fs;
#[cfg(target_os = "linux")]
use std::net::UdpSocket;
use std::path::Path;
use std::sync::OnceLock;

/// Where the kernel shows its types.
pub(super) const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The kernel's BTF, read once: some megabytes.
fn btf() -> Result<&'static [u8], &'static str> {
    static FILE: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let file = FILE.get_or_init(|| fs::read(BTF).map_err(|error| format!("{BTF}: {error}")));
    file.as_ref().map(Vec::as_slice).map_err(String::as_str)
}

/// The kernel shows its types.
pub(super) fn types() -> Finding {
    match btf() {
        Ok(_) => Present("can be read".to_owned()),
        Err(error) => Missing(error.to_owned()),
    }
}

/// The kernel itself, without its modules, has a type of that name.
pub(super) fn has_type(name: &str) -> Finding {
    match btf() {
        Ok(btf) if names_in(btf).any(|found| found == name.as_bytes()) => {
            Present("in the kernel's types".to_owned())
        }
        Ok(_) => Missing("not in the kernel's types".to_owned()),
        Err(error) => Missing(error.to_owned()),
    }
}

/// The names in a BTF blob: its last section, ended by zeros (Documentation/bpf/btf.rst).
fn names_in(btf: &[u8]) -> impl Iterator<Item = &[u8]> {
    let word = |at: usize| -> Option<usize> {
        let bytes = btf.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?) as usize)
    };
    // The header: magic, version, flags; its own length; offset and length of types, then of names.
    let names = || -> Option<&[u8]> {
        let begin = word(4)?.checked_add(word(16)?)?;
        btf.get(begin..begin.checked_add(word(20)?)?)
    };
    names().unwrap_or_default().split(|&byte| byte == 0)
}

/// The kernel takes tracing programs from this process: the one that `windlass cc load` loads is tried.
#[cfg(all(feature = "kernel-cc", target_os = "linux"))]
pub(super) fn tracing_programs() -> Finding {
    match windlass_kernel_cc::tracing_is_permitted() {
        true => Present("the program of windlass cc can be loaded".to_owned()),
        false => Missing("the kernel refuses the program of windlass cc".to_owned()),
    }
}

#[cfg(not(all(feature = "kernel-cc", target_os = "linux")))]
pub(super) fn tracing_programs() -> Finding {
    Missing("this windlass was built without `cc`".to_owned())
}

const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// The kernel is of that release or a later one.
pub(super) fn release_from(major: u32, minor: u32) -> Finding {
    let release = fs::read_to_string(RELEASE).unwrap_or_default();
    match number(&release) {
        Some(found) if found >= (major, minor) => Present(release.trim().to_owned()),
        _ => Missing(format!("this one is {}", release.trim())),
    }
}

/// The first two numbers of a release such as 6.1.0-18-amd64.
fn number(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A part of the kernel is built in, loaded, or can be loaded.
pub(super) fn part(module: &str, kind: &str) -> Finding {
    if matches!(has_type(kind), Present(_)) {
        return Present("built in".to_owned());
    }
    if Path::new("/sys/module").join(module).exists() {
        return Present("loaded".to_owned());
    }
    let release = fs::read_to_string(RELEASE).unwrap_or_default();
    let folder = Path::new("/lib/modules").join(release.trim());
    for (list, how) in [("modules.builtin", "built in"), ("modules.dep", "a module, to be loaded")]
    {
        let list = fs::read_to_string(folder.join(list)).unwrap_or_default();
        if lists(&list, module) {
            return Present(how.to_owned());
        }
    }
    Missing("neither built in nor a module of this kernel".to_owned())
}

/// A list of depmod names the module: `kernel/drivers/net/veth.ko.zst: ...`.
fn lists(list: &str, module: &str) -> bool {
    let file = format!("/{module}.ko");
    list.lines().filter_map(|line| line.split(':').next()).any(|path| match path.rfind(&file) {
        Some(at) => !path[at + 1..].contains('/'),
        None => false,
    })
}

/// A file system of that kind is at its usual place.
pub(super) fn mounted(kind: &str, at: &str) -> Finding {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    if is_mounted(&mounts, kind, at) {
        return Present("mounted".to_owned());
    }
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    match known.lines().any(|line| line.split_whitespace().last() == Some(kind)) {
        true => Missing(format!("no {kind} file system is mounted there")),
        false => Missing(format!("this kernel has no {kind} file system")),
    }
}

/// Lines of /proc/mounts: device, place, kind, options (fstab(5)).
fn is_mounted(mounts: &str, kind: &str, at: &str) -> bool {
    let fields = |line: &str| line.split(' ').skip(1).take(2).eq([at, kind]);
    mounts.lines().any(fields)
}

/// The tracepoint is shown by tracefs, or the kernel has it and tracefs waits to be mounted.
pub(super) fn tcp_probe() -> Finding {
    for place in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        if Path::new(place).join("events/tcp/tcp_probe").exists() {
            return Present(format!("in {place}"));
        }
    }
    match has_type("trace_event_raw_tcp_probe") {
        Present(_) => Present("in the kernel; tracefs is not mounted or not readable".to_owned()),
        missing => missing,
    }
}

/// A socket takes the option of UDP(7) by which datagrams are cut apart on their way out.
pub(super) fn udp_segment() -> Finding {
    #[cfg(target_os = "linux")]
    return udp(|socket| nix::sys::socket::setsockopt(socket, sockopt::UdpGsoSegment, &1400));
    #[cfg(not(target_os = "linux"))]
    Missing("a part of Linux".to_owned())
}

/// The same for those that come in, which are joined.
pub(super) fn udp_gro() -> Finding {
    #[cfg(target_os = "linux")]
    return udp(|socket| nix::sys::socket::setsockopt(socket, sockopt::UdpGroSegment, &true));
    #[cfg(not(target_os = "linux"))]
    Missing("a part of Linux".to_owned())
}

#[cfg(target_os = "linux")]
fn udp(set: impl FnOnce(&UdpSocket) -> nix::Result<()>) -> Finding {
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string());
    match socket.and_then(|socket| set(&socket).map_err(|error| error.to_string())) {
        Ok(()) => Present("a socket takes the option".to_owned()),
        Err(error) => Missing(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A blob of BTF with no types and these names.
    fn blob(names: &[u8]) -> Vec<u8> {
        let mut blob = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, 0, 0, names.len() as u32] {
            blob.extend(word.to_ne_bytes());
        }
        blob.extend(names);
        blob
    }

    #[test]
    fn names_are_compared_whole_and_a_broken_blob_has_none() {
        let blob = blob(b"\0tcp_congestion_ops\0sock\0");
        let has = |name: &str| names_in(&blob).any(|found| found == name.as_bytes());
        assert!(has("sock") && has("tcp_congestion_ops"));
        assert!(!has("congestion_ops") && !has("tcp_congestion"));
        for broken in [0, 3, 20, blob.len() - 1] {
            assert!(names_in(&blob[..broken]).all(<[u8]>::is_empty), "{broken}");
        }
        let huge = [&blob[..16], &[0xff; 8], &blob[24..]].concat();
        assert!(names_in(&huge).all(<[u8]>::is_empty));
    }

    #[test]
    fn a_release_is_compared_by_its_numbers() {
        assert_eq!(number("6.1.0-18-amd64\n"), Some((6, 1)));
        assert_eq!(number("6.10-rc1"), Some((6, 10)));
        assert!(number("6.10").expect("numbers") > number("6.9").expect("numbers"));
        assert_eq!((number(""), number("6"), number("x.y")), (None, None, None));
    }

    #[test]
    fn a_module_is_known_by_its_file() {
        let dep = "kernel/drivers/net/veth.ko.zst:\nkernel/net/x.ko: kernel/drivers/net/tun.ko\n";
        assert!(lists(dep, "veth") && lists(dep, "x"));
        assert!(!lists(dep, "tun"), "only named as what another depends on");
        assert!(!lists(dep, "eth"));
    }

    #[test]
    fn a_mount_is_known_by_its_place_and_kind() {
        let mounts = "bpf /sys/fs/bpf bpf rw 0 0\ntmpfs /run tmpfs rw 0 0\n";
        assert!(is_mounted(mounts, "bpf", "/sys/fs/bpf"));
        assert!(!is_mounted(mounts, "bpf", "/run") && !is_mounted(mounts, "tracefs", "/run"));
    }
}
