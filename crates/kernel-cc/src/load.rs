//! Loads New-ECN under a name, and unloads it: `windlass cc load` and `windlass cc unload`.

use crate::error::doing;
use crate::registration::{self, Registration};
use crate::{Error, Name, Parameters, Pins, bpffs, kernel_names};
use libbpf_rs::{Link, MapCore, MapMut, Object, OpenObject};
use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};
use windlass_bpf::{Packed, log};

const OBJECT: Packed = Packed(include_bytes!(concat!(env!("OUT_DIR"), "/new_ecn.bpf.o.gz")));

/// The program that lists the connections.
const LIST: &str = "new_ecn_flows";

/// The longest wait for the kernel to free a name.
pub(crate) const UNLOAD_MAX: Duration = Duration::from_secs(10);

/// Registers New-ECN in the kernel as `name`, and pins it. Returns true if it had to mount the BPF file
/// system.
///
/// # Errors
///
/// The name is taken, a parameter is out of range, the process lacks a capability, or the kernel lacks
/// struct_ops for TCP, BTF or tracing programs.
pub fn load(name: &Name, parameters: &Parameters) -> Result<bool, Error> {
    parameters.check()?;
    let pins = Pins::of(name);
    if kernel_names::exists(name)? {
        let by_windlass = bpffs::is_mounted()? && pins.exist();
        return Err(Error::NameTaken { name: name.clone(), by_windlass });
    }
    let mounted = bpffs::ensure()?;
    let (mut object, by_link) = load_programs(name, parameters)?;
    // If two processes load the same name at once, the kernel accepts one, and only that one pins.
    let registration = map(&mut object, "new_ecn")
        .and_then(|mut ops| Registration::new(&mut ops, by_link))
        .map_err(|error| taken_meanwhile(name, error))?;
    pin(&mut object, registration, &pins).inspect_err(|_| {
        let _ = pins.remove();
    })?;
    Ok(mounted)
}

/// Loads the programs. The second value says whether the kernel has links for struct_ops: Linux before
/// 6.4 has none, and answers only that an argument is invalid.
fn load_programs(name: &Name, parameters: &Parameters) -> Result<(Object, bool), Error> {
    log::begin();
    if let Ok(object) = windlass_bpf::load(|| prepare(name, parameters)) {
        return Ok((object, true));
    }
    log::begin();
    let without_link = || {
        let mut opened = prepare(name, parameters)?;
        registration::without_link(&mut opened)?;
        Ok(opened)
    };
    match windlass_bpf::load(without_link).map_err(doing("loading the program")) {
        Ok(object) => Ok((object, false)),
        Err(Error::Kernel(windlass_bpf::Error::Refused { .. })) if !tracing_is_permitted() => {
            Err(Error::NoTracing)
        }
        Err(error) => Err(error),
    }
}

/// Whether this process may load the tracing program that lists the connections. Tries it, and unloads
/// the program at once. A locked-down kernel (kernel_lockdown(7)) refuses the program, and so does a
/// kernel where this process lacks CAP_BPF or CAP_PERFMON.
pub fn tracing_is_permitted() -> bool {
    log::begin();
    let permitted = windlass_bpf::load(list_alone).is_ok();
    log::take();
    permitted
}

/// The program that lists the connections, without the controller.
fn list_alone() -> libbpf_rs::Result<OpenObject> {
    let mut object = OBJECT.open("new_ecn")?;
    for mut map in object.maps_mut() {
        if map.name() == "new_ecn" {
            map.set_autocreate(false)?;
        }
    }
    for mut program in object.progs_mut() {
        let is_list = program.name() == LIST;
        program.set_autoload(is_list);
    }
    Ok(object)
}

fn taken_meanwhile(name: &Name, error: libbpf_rs::Error) -> Error {
    match kernel_names::exists(name) {
        Ok(true) => Error::NameTaken { name: name.clone(), by_windlass: false },
        _ => Error::kernel("registering the controller", error),
    }
}

/// Writes the name and the parameters into the program.
fn prepare(name: &Name, parameters: &Parameters) -> libbpf_rs::Result<OpenObject> {
    let mut object = OBJECT.open("new_ecn")?;
    for mut map in object.maps_mut() {
        let value: &[u8] = match map.name().to_str() {
            Some("new_ecn") => &name.to_bytes(),
            Some(".rodata.params") => &parameters.to_bytes(),
            _ => continue,
        };
        // `name` is the first member of the program's struct tcp_congestion_ops.
        if let Some(place) = map.initial_value_mut().and_then(|all| all.get_mut(..value.len())) {
            place.copy_from_slice(value);
        }
    }
    Ok(object)
}

fn map<'a>(object: &'a mut Object, name: &str) -> libbpf_rs::Result<MapMut<'a>> {
    let found = object.maps_mut().find(|map| map.name() == name);
    found.ok_or_else(|| missing(name))
}

fn missing(part: &str) -> libbpf_rs::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the program has no {part}")).into()
}

/// Pins the registration last: a process that finds it finds the other pins too.
fn pin(object: &mut Object, mut registration: Registration, pins: &Pins) -> Result<(), Error> {
    // A process that was killed at this point may have left pins.
    pins.remove()?;
    pins.create_folder()?;
    let mut flows = flows_iterator(object).map_err(doing("attaching the list of connections"))?;
    flows.pin(pins.flows()).map_err(doing("pinning the list of connections"))?;
    map(object, ".rodata.params")
        .and_then(|mut map| map.pin(pins.parameters()))
        .map_err(doing("pinning the parameters"))?;
    registration.pin(pins).map_err(doing("pinning the controller"))
}

fn flows_iterator(object: &mut Object) -> libbpf_rs::Result<Link> {
    let connections = map(object, "connections")?.as_fd().try_clone_to_owned()?;
    let program = object.progs_mut().find(|program| program.name() == LIST);
    program.ok_or_else(|| missing(LIST))?.attach_iter(connections.as_fd())
}

/// Unloads New-ECN. Connections that use it keep it until they end; new ones cannot choose it.
///
/// # Errors
///
/// Windlass has not loaded `name`, it is the default of this network namespace, or the process lacks a
/// capability.
pub fn unload(name: &Name) -> Result<(), Error> {
    let pins = Pins::of(name);
    if !bpffs::is_mounted()? || !pins.exist() {
        return Err(match kernel_names::exists(name)? {
            true => Error::NameTaken { name: name.clone(), by_windlass: false },
            false => Error::NotLoaded(name.clone()),
        });
    }
    if kernel_names::is_default(name)? {
        return Err(Error::IsDefault(name.clone()));
    }
    let registration = Registration::open(&pins)?;
    pins.remove()?;
    registration.end()?;
    wait_until_gone(name)
}

fn wait_until_gone(name: &Name) -> Result<(), Error> {
    let deadline = Instant::now() + UNLOAD_MAX;
    while kernel_names::exists(name)? {
        if Instant::now() > deadline {
            let what = format!("{name} is still registered {UNLOAD_MAX:?} after it was let go");
            return Err(Error::Unreadable(what));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
