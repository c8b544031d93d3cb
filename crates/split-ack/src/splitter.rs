//! Loads the programs and attaches them to the cgroup and the interfaces.

use crate::{Connection, Error, Transfer};
use libbpf_rs::{Link, MapCore, MapFlags, Object, OpenObject, ProgramInput, ProgramMut};
use serde::Serialize;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use windlass_bpf::capabilities::{self, BPF, NET_ADMIN};
use windlass_bpf::tc::{self, Filter, FilterSlot};
use windlass_bpf::{Changes, Interface, Packed, log, older, release};

const OBJECT: Packed = Packed(include_bytes!(concat!(env!("OUT_DIR"), "/split_ack.bpf.o.gz")));

/// The largest split (Normann 2011, section 3.4.3).
const SPLIT_MAX: u32 = 1024;
/// The priority of this tool's clsact filters; their handles are process IDs.
const PRIORITY: u32 = 0xacc0;

/// The settings of ACK division.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// ACKs sent in place of one: at most 1024, and at most one per byte acknowledged.
    pub split: u32,
    /// How many ACKs of new data to split, the first ones of each connection.
    pub acks: u32,
    /// Interfaces at which to split ACKs. Empty: all of this network namespace that are up or come up.
    pub interfaces: Vec<String>,
    /// Use clsact filters even if the kernel has TCX.
    pub clsact: bool,
    /// Keep the rounds of each connection ([`Connection::transfer`]). It costs a table look-up and a
    /// clock read for each packet.
    pub rounds: bool,
}

/// The hook at which the kernel runs the program of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// A TCX link (Linux 6.6), which ends with the process.
    Tcx,
    /// A clsact filter. If the process is killed it stays, but splits nothing: the kernel ends the
    /// command too, so no socket of its cgroup is left.
    Clsact,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held for what dropping them does")]
enum Attachment {
    Tcx(Link),
    Clsact(Filter),
}

/// The attached programs. Dropping the value detaches them.
#[derive(Debug)]
pub struct Splitter {
    /// The interfaces with an attached program.
    interfaces: Vec<Interface>,
    /// Indices of the interfaces at which attaching failed. It is not tried again.
    refused: Vec<u32>,
    hook: Hook,
    /// The watch on interfaces, unless the settings name them.
    changes: Option<Changes>,
    /// Errors at interfaces that came up later.
    troubles: Vec<String>,
    // Before `object`, so that they are dropped first.
    attachments: Vec<Attachment>,
    _counter: Link,
    object: Object,
}

impl Splitter {
    /// Splits the ACKs of the sockets of a cgroup and its descendants, and counts the segments that they
    /// receive. A socket belongs to the cgroup in which it was made.
    ///
    /// # Errors
    ///
    /// A capability is missing, an interface does not exist, or the kernel lacks a feature.
    pub fn new(settings: &Settings, cgroup: impl AsFd) -> Result<Splitter, Error> {
        check_capabilities()?;
        // Before the list of interfaces is read, so that none comes up unnoticed.
        let changes = settings.interfaces.is_empty().then(Changes::new).transpose();
        let changes = changes.map_err(|error| Error::Io("watching the interfaces", error))?;
        let interfaces = choose(&settings.interfaces)?;
        let cgroup = cgroup.as_fd().as_raw_fd();
        log::begin();
        let mut object =
            windlass_bpf::load(|| prepare(settings)).map_err(doing("loading the programs"))?;
        put(&mut object, cgroup).map_err(doing("naming the cgroup"))?;
        let counter = program(&mut object, "count_in")?
            .attach_cgroup(cgroup)
            .map_err(doing("attaching to the cgroup"))?;
        let hook = match settings.clsact || older(&release(), (6, 6)) {
            true => Hook::Clsact,
            false => Hook::Tcx,
        };
        let attached: Result<Vec<Attachment>, Error> =
            interfaces.iter().map(|interface| attach(&mut object, interface, hook)).collect();
        Ok(Splitter {
            interfaces,
            refused: Vec::new(),
            hook,
            changes,
            troubles: Vec::new(),
            attachments: attached?,
            _counter: counter,
            object,
        })
    }

    /// The interfaces at which ACKs are split.
    pub fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.interfaces.iter().map(|interface| &*interface.name)
    }

    /// Errors at interfaces that came up later.
    pub fn troubles(&self) -> &[String] {
        &self.troubles
    }

    /// Readable when [`Splitter::follow`] has something to do; `None` if the settings name interfaces.
    pub(crate) fn changes(&self) -> Option<BorrowedFd<'_>> {
        self.changes.as_ref().map(AsFd::as_fd)
    }

    /// Attaches to interfaces that have come up. Each gets one attempt.
    pub(crate) fn follow(&mut self) {
        let Some(changes) = &self.changes else { return };
        changes.forget();
        // The next change retries.
        let Ok(mut all) = Interface::all() else { return };
        let known = |new: &Interface| {
            self.interfaces.iter().any(|old| old.index == new.index)
                || self.refused.contains(&new.index)
        };
        all.retain(|interface| interface.up && !known(interface));
        for interface in all {
            match attach(&mut self.object, &interface, self.hook) {
                Ok(attachment) => {
                    self.attachments.push(attachment);
                    self.interfaces.push(interface);
                }
                Err(error) => {
                    self.troubles.push(format!("{}: {error}", interface.name));
                    self.refused.push(interface.index);
                }
            }
        }
    }

    /// The hook at which the programs are attached.
    pub fn hook(&self) -> Hook {
        self.hook
    }

    /// The connections so far, sorted by addresses and ports.
    ///
    /// # Errors
    ///
    /// The kernel refuses, or the table has an unknown layout.
    pub fn connections(&self) -> Result<Vec<Connection>, Error> {
        let read = doing("reading the table");
        let (flows, transfers) = (self.map("flows")?, self.map("transfers")?);
        let mut all = Vec::new();
        for key in flows.keys() {
            let Some(value) = flows.lookup(&key, MapFlags::ANY).map_err(&read)? else { continue };
            let transfer = transfers.lookup(&key, MapFlags::ANY).map_err(&read)?;
            let transfer =
                transfer.map(|value| Transfer::read(&value).ok_or_else(|| unreadable("transfers")));
            let connection = Connection::read(&key, &value, transfer.transpose()?);
            all.push(connection.ok_or_else(|| unreadable("flows"))?);
        }
        all.sort_by_key(|connection| (connection.peer, connection.local));
        Ok(all)
    }

    /// Packets of connections that did not fit into the table; they pass unchanged.
    ///
    /// # Errors
    ///
    /// As with [`Splitter::connections`].
    pub fn missed(&self) -> Result<u64, Error> {
        // `missed` of bpf/tables.h is the only variable of the programs in .bss.
        let value = self.map(".bss")?.lookup(&[0; 4], MapFlags::ANY);
        let value = value.map_err(doing("reading a counter"))?;
        let first = value.as_deref().and_then(<[u8]>::first_chunk);
        first.map(|bytes| u64::from_ne_bytes(*bytes)).ok_or_else(|| unreadable("missed"))
    }

    /// Runs the program of an interface on one frame, for tests. Returns the action and the resulting
    /// frame.
    ///
    /// # Errors
    ///
    /// The kernel refuses the frame.
    pub fn run_frame(&mut self, ethernet: bool, frame: &[u8]) -> Result<(i32, Vec<u8>), Error> {
        let mut out = vec![0; frame.len() + 256];
        let mut context = [0; 192];
        let input = ProgramInput {
            data_in: Some(frame),
            data_out: Some(&mut out),
            context_in: Some(&mut context),
            ..ProgramInput::default()
        };
        let program = program(&mut self.object, program_name(ethernet))?;
        let result = program.test_run(input).map_err(doing("running a program"))?;
        let length = result.data.map_or(0, |data| data.len());
        let action = result.return_value as i32;
        out.truncate(length);
        Ok((action, out))
    }

    fn map(&self, name: &str) -> Result<libbpf_rs::Map<'_>, Error> {
        let found =
            self.object.maps().find(|map| map.name().as_encoded_bytes().ends_with(name.as_bytes()));
        found.ok_or_else(|| unreadable(name))
    }
}

/// Checks that this process has the capabilities that the programs need. Call it first: later errors do
/// not name a missing capability.
///
/// # Errors
///
/// [`Error::Capabilities`].
pub fn check_capabilities() -> Result<(), Error> {
    let missing = capabilities::missing(&[BPF, NET_ADMIN]);
    if missing.is_empty() { Ok(()) } else { Err(Error::Capabilities(missing)) }
}

fn doing(what: &'static str) -> impl Fn(libbpf_rs::Error) -> Error {
    move |error| windlass_bpf::Error::kernel(what, error).into()
}

fn unreadable(name: &str) -> Error {
    let error = io::Error::new(io::ErrorKind::InvalidData, format!("no {name} as expected"));
    Error::Io("reading the programs' tables", error)
}

fn choose(names: &[String]) -> Result<Vec<Interface>, Error> {
    let named =
        |name: &String| Interface::find(name).ok_or_else(|| Error::NoInterface(name.to_owned()));
    if !names.is_empty() {
        return names.iter().map(named).collect();
    }
    let mut all = Interface::all().map_err(|error| Error::Io("listing the interfaces", error))?;
    all.retain(|interface| interface.up);
    if all.is_empty() { Err(Error::NoneUp) } else { Ok(all) }
}

fn prepare(settings: &Settings) -> libbpf_rs::Result<OpenObject> {
    let mut object = OBJECT.open("split_ack")?;
    for mut map in object.maps_mut() {
        if map.name() == ".rodata.settings" {
            let split = settings.split.clamp(1, SPLIT_MAX);
            let numbers = [split, settings.acks, settings.rounds.into()];
            map.set_initial_value(&numbers.map(u32::to_ne_bytes).concat())?;
        }
        if map.name() == "transfers" && !settings.rounds {
            map.set_max_entries(1)?;
        }
    }
    Ok(object)
}

/// Stores the cgroup by which the program identifies the command's sockets.
fn put(object: &mut Object, cgroup: i32) -> libbpf_rs::Result<()> {
    let cgroups = object.maps_mut().find(|map| map.name() == "cgroups");
    let cgroups = cgroups.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    cgroups.update(&[0; 4], &cgroup.to_ne_bytes(), MapFlags::ANY)
}

fn program<'a>(object: &'a mut Object, name: &str) -> Result<ProgramMut<'a>, Error> {
    let found = object.progs_mut().find(|program| program.name() == name);
    found.ok_or_else(|| unreadable(name))
}

fn program_name(ethernet: bool) -> &'static str {
    if ethernet { "split_ethernet" } else { "split_l3" }
}

fn attach(object: &mut Object, interface: &Interface, hook: Hook) -> Result<Attachment, Error> {
    let program = program(object, program_name(interface.ethernet))?;
    let index = interface.index;
    match hook {
        Hook::Tcx => {
            let link = tc::attach_tcx(&program, index);
            Ok(Attachment::Tcx(link.map_err(doing("attaching to an interface"))?))
        }
        Hook::Clsact => {
            let handle = std::process::id();
            let slot = FilterSlot { index, ingress: false, priority: PRIORITY, handle };
            // Dropping the splitter detaches the filter.
            let keep = false;
            Ok(Attachment::Clsact(Filter::attach(&program, slot, keep)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OBJECT;
    use crate::connection::{FLOW_BYTES, FLOW_KEY_BYTES};
    use crate::transfer::TRANSFER_BYTES;

    #[test]
    fn the_tables_have_the_sizes_that_this_crate_reads() {
        let object = OBJECT.open("split_ack").expect("a BPF object");
        for (name, value_bytes) in [("flows", FLOW_BYTES), ("transfers", TRANSFER_BYTES)] {
            let table = object.maps().find(|map| map.name() == name).expect(name);
            let found = (table.key_size() as usize, table.value_size() as usize);
            assert_eq!(found, (FLOW_KEY_BYTES, value_bytes), "{name}");
        }
    }
}
