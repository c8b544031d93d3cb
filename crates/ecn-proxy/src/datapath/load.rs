//! From the object in the binary to programs and tables in the kernel.

use super::Error;
use super::error::doing;
use super::settings::Settings;
use libbpf_rs::{MapCore, MapHandle, Object, OpenMapMut, OpenObject};
use rustix::fs::statfs;
use std::fs;
use std::path::{Path, PathBuf};
use windlass_bpf::{Packed, log, older, release};

const OBJECT: Packed = Packed(include_bytes!(concat!(env!("OUT_DIR"), "/ecn_proxy.bpf.o.gz")));

/// The same for kernels without [`KERNEL_TYPES`]. It does not recognise lists of GRO.
const OBJECT_WITHOUT_TYPES: Packed =
    Packed(include_bytes!(concat!(env!("OUT_DIR"), "/ecn_proxy_without_types.bpf.o.gz")));
/// The types of a kernel with CONFIG_DEBUG_INFO_BTF.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// BPF_FS_MAGIC of include/uapi/linux/magic.h.
const BPF_FS_MAGIC: u32 = 0xcafe_4a11;
/// The first Linux that splits an edited list of GRO by the header of its first packet. Earlier ones that
/// have lists of TCP (6.10) treat such a list as intact, and read beyond its end.
const LISTS_SPLIT: (u32, u32) = (6, 12);
/// The tables that outlive the process when pinned.
const PINNED: [&str; 10] = [
    "settings",
    "counters",
    "flow_count",
    "handshakes",
    "flows",
    "hosts",
    "served_hosts",
    "allow_networks",
    "deny_networks",
    "ports",
];

/// Loads the object. Also returns whether it took over tables that were pinned.
pub(super) fn load(settings: &Settings) -> Result<(Object, bool), Error> {
    check(settings)?;
    log::begin();
    let reused = settings.pin.as_ref().is_some_and(|folder| folder.join("flows").exists());
    if let Some(folder) = &settings.pin {
        make_folder(folder)?;
    }
    let object = windlass_bpf::load(|| prepare(settings)).map_err(explain)?;
    Ok((object, reused))
}

fn check(settings: &Settings) -> Result<(), Error> {
    let bad = |what: &str| Err(Error::BadSetting(what.to_owned()));
    if settings.mark.count_ones() != 1 {
        return bad("the mark must be one bit");
    }
    if settings.flows_max == 0 || settings.handshakes_max == 0 || settings.hosts_max == 0 {
        return bad("a table without room");
    }
    match settings.decisions_bytes {
        Some(bytes) if bytes < 4096 || !bytes.is_power_of_two() => {
            bad("the ring of decisions must be a power of 2, of at least 4096 bytes")
        }
        _ => Ok(()),
    }
}

fn make_folder(folder: &Path) -> Result<(), Error> {
    check_pin(folder)?;
    fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))
}

/// Fails unless the folder is, or will be, in a BPF file system: elsewhere nothing can be pinned.
pub(crate) fn check_pin(folder: &Path) -> Result<(), Error> {
    let mut parent = folder;
    while !parent.exists() {
        parent = parent.parent().unwrap_or(Path::new("/"));
    }
    let found = statfs(parent).map_err(|error| Error::io(parent, error.into()))?;
    if found.f_type as u32 != BPF_FS_MAGIC {
        let what = format!(
            "{} is not in a BPF file system (mount -t bpf bpf /sys/fs/bpf makes one)",
            folder.display()
        );
        return Err(Error::BadSetting(what));
    }
    Ok(())
}

/// Whether the kernel publishes its types (BTF).
pub(super) fn knows_types() -> bool {
    Path::new(KERNEL_TYPES).exists()
}

fn prepare(settings: &Settings) -> libbpf_rs::Result<OpenObject> {
    let packed = if knows_types() { OBJECT } else { OBJECT_WITHOUT_TYPES };
    let mut object = packed.open("ecn_proxy")?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        resize(&mut map, &name, settings)?;
        if let Some(folder) = &settings.pin
            && PINNED.contains(&name.as_str())
        {
            map.set_pin_path(folder.join(&name))?;
        }
    }
    Ok(object)
}

fn resize(map: &mut OpenMapMut<'_>, name: &str, settings: &Settings) -> libbpf_rs::Result<()> {
    match name {
        "flows" => map.set_max_entries(settings.flows_max),
        "handshakes" => map.set_max_entries(settings.handshakes_max),
        "hosts" => map.set_max_entries(settings.hosts_max),
        "decisions" => map.set_max_entries(settings.decisions_bytes.unwrap_or(4096)),
        ".rodata.log" => {
            let log = u32::from(settings.decisions_bytes.is_some());
            map.set_initial_value(&log.to_ne_bytes())
        }
        ".rodata.lists" => {
            let can_split = !settings.keep_lists && !older(&release(), LISTS_SPLIT);
            map.set_initial_value(&u32::from(can_split).to_ne_bytes())
        }
        ".rodata.parts" => map.set_initial_value(&settings.parts_left_out.to_ne_bytes()),
        _ => Ok(()),
    }
}

/// Converts an error of loading. If the kernel lacks a feature, the message names it.
fn explain(error: libbpf_rs::Error) -> Error {
    let release = release();
    if older(&release, (6, 1)) {
        let message = format!(
            "Linux {release} does not take the ECN proxy's programs: it takes 6.1 or later"
        );
        return windlass_bpf::Error::Lacking(message).into();
    }
    if error.kind() == libbpf_rs::ErrorKind::Unsupported {
        let message = format!("this kernel ({release}) has no BPF: it takes CONFIG_BPF_SYSCALL");
        return windlass_bpf::Error::Lacking(message).into();
    }
    Error::kernel("loading the programs", error)
}

/// A handle of a table that does not borrow the object.
pub(super) fn table(object: &Object, name: &str) -> Result<MapHandle, Error> {
    let map = object.maps().find(|map| map.name() == name);
    let map = map.ok_or_else(|| Error::Unreadable(format!("the object has no table {name}")))?;
    MapHandle::try_from(&map).map_err(doing("opening a table"))
}

/// The folder of the links' pins.
pub(super) fn links_folder(pin: &Path) -> PathBuf {
    pin.join("links")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::bytes::{
        ADDRESS_BYTES, FLOW_BYTES, FLOW_KEY_BYTES, HANDSHAKE_BYTES, HOST_BYTES, SERVED_HOST_BYTES,
    };
    use crate::datapath::counters;

    #[test]
    fn the_tables_have_the_sizes_that_this_crate_reads() {
        let sizes = [
            ("flows", FLOW_KEY_BYTES, FLOW_BYTES),
            ("handshakes", FLOW_KEY_BYTES, HANDSHAKE_BYTES),
            ("hosts", ADDRESS_BYTES, HOST_BYTES),
            ("served_hosts", ADDRESS_BYTES, SERVED_HOST_BYTES),
            ("flow_count", 4, 8),
            ("counters", 4, 8 * counters::END),
        ];
        for packed in [OBJECT, OBJECT_WITHOUT_TYPES] {
            let object = packed.open("ecn_proxy").expect("a BPF object");
            for (name, key_bytes, value_bytes) in sizes {
                let table = object.maps().find(|map| map.name() == name).expect(name);
                let found = (table.key_size() as usize, table.value_size() as usize);
                assert_eq!(found, (key_bytes, value_bytes), "{name}");
            }
        }
    }
}
