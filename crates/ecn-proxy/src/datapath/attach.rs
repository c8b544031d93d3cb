//! Attaches both programs to an interface, pinned or not.

use super::error::doing;
use super::load::links_folder;
use super::{Attachment, Error, Hook, Side};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, Object, ProgramMut};
use std::fs;
use std::path::{Path, PathBuf};
use tracing::warn;
use windlass_bpf::Interface;
use windlass_bpf::tc::{self, Filter, FilterSlot};

/// Priority and handle of the filters. They are fixed, so that a new process finds the filters of a
/// killed one.
const PRIORITY: u32 = 0xecc0;
const HANDLE: u32 = 0xec;

/// The programs of one interface. Dropping the value detaches them unless they are pinned.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) attachment: Attachment,
    /// In the order of [`DIRECTIONS`].
    programs: Vec<AttachedProgram>,
}

#[derive(Debug)]
enum AttachedProgram {
    Tcx(Link),
    Clsact(Filter),
}

/// True for the programs of ingress.
const DIRECTIONS: [bool; 2] = [true, false];

fn program_name(side: Side, ingress: bool, ethernet: bool) -> String {
    let side = match side {
        Side::ClientSide => "client",
        Side::NetworkSide => "network",
    };
    let direction = if ingress { "in" } else { "out" };
    format!("{side}_{direction}{}", if ethernet { "" } else { "_l3" })
}

impl Attached {
    /// Attaches both programs, or neither: one alone would edit the packets of one direction.
    pub(super) fn attach(
        object: &mut Object,
        pin: Option<&Path>,
        has_tcx: bool,
        name: &str,
        side: Side,
    ) -> Result<Attached, Error> {
        let found = Interface::find(name).ok_or_else(|| Error::NoInterface(name.to_owned()))?;
        let Interface { index, ethernet, .. } = found;
        let hook = if has_tcx { Hook::Tcx } else { Hook::Clsact };
        let attachment = Attachment { interface: name.to_owned(), index, side, hook, ethernet };
        let mut attached = Attached { attachment, programs: Vec::new() };
        for ingress in DIRECTIONS {
            match attached.attach_program(object, pin, ingress) {
                Ok(program) => attached.programs.push(program),
                Err(error) => {
                    // Dropping the first one would leave it attached if it is pinned.
                    let _ = attached.detach(pin);
                    return Err(error);
                }
            }
        }
        Ok(attached)
    }

    fn attach_program(
        &self,
        object: &mut Object,
        pin: Option<&Path>,
        ingress: bool,
    ) -> Result<AttachedProgram, Error> {
        let Attachment { interface, index, side, hook, ethernet } = &self.attachment;
        let (index, side) = (*index, *side);
        let wanted = program_name(side, ingress, *ethernet);
        let mut program = object
            .progs_mut()
            .find(|program| program.name().to_string_lossy() == wanted)
            .ok_or_else(|| Error::Unreadable(format!("the object has no program {wanted}")))?;
        if *hook == Hook::Clsact {
            // It takes the place of another proxy's filter, which has the same priority and handle.
            let slot = FilterSlot { index, ingress, priority: PRIORITY, handle: HANDLE };
            let keep = pin.is_some();
            return Ok(AttachedProgram::Clsact(Filter::attach(&program, slot, keep)?));
        }
        let path = pin.map(|folder| pin_path(folder, index, side, ingress));
        if !path.as_ref().is_some_and(|path| path.exists()) {
            refuse_other_proxy(interface, index, ingress)?;
        }
        let link = tcx(&mut program, index, path.as_deref());
        Ok(AttachedProgram::Tcx(link.map_err(doing("attaching the programs"))?))
    }

    /// Detaches the programs, pinned or not.
    pub(super) fn detach(self, pin: Option<&Path>) -> Result<(), Error> {
        let Attachment { index, side, .. } = self.attachment;
        for (program_link, ingress) in self.programs.into_iter().zip(DIRECTIONS) {
            if let AttachedProgram::Clsact(filter) = program_link {
                filter.remove();
            } else if let Some(folder) = pin {
                let path = pin_path(folder, index, side, ingress);
                fs::remove_file(&path).map_err(|error| Error::io(&path, error))?;
            }
        }
        Ok(())
    }

    /// Whether the programs are still attached. Removing an interface detaches them.
    pub(super) fn is_there(&self) -> bool {
        self.programs.iter().all(|program_link| match program_link {
            AttachedProgram::Tcx(link) => tc::is_there(link),
            AttachedProgram::Clsact(filter) => filter.is_there(),
        })
    }
}

/// Fails if the interface has the programs of another proxy, which a killed daemon leaves pinned: both
/// would edit each packet.
fn refuse_other_proxy(name: &str, index: u32, ingress: bool) -> Result<(), Error> {
    let ids = tc::tcx_programs(index, ingress);
    let ids = ids.map_err(|error| Error::kernel("listing the programs", error.into()))?;
    if ids.is_empty() {
        return Ok(());
    }
    let found: Vec<_> = ProgInfoIter::default().filter(|info| ids.contains(&info.id)).collect();
    if found.iter().any(|info| is_program_name(&info.name.to_string_lossy())) {
        return Err(Error::OtherProxy(name.to_owned()));
    }
    if found.len() < ids.len() {
        // Names take CAP_SYS_ADMIN (bpf(2), BPF_PROG_GET_FD_BY_ID).
        warn!(
            interface = name,
            "other programs are attached, and only root can see whether an ECN proxy is among them"
        );
    }
    Ok(())
}

fn is_program_name(name: &str) -> bool {
    [Side::ClientSide, Side::NetworkSide].iter().any(|side| {
        let is_named = |ingress, ethernet| program_name(*side, ingress, ethernet) == name;
        DIRECTIONS.iter().any(|ingress| is_named(*ingress, true) || is_named(*ingress, false))
    })
}

/// The path of a link's pin. An interface has one layout of packets, so the path does not depend on it.
fn pin_path(pin: &Path, index: u32, side: Side, ingress: bool) -> PathBuf {
    let ethernet = true;
    links_folder(pin).join(format!("{index}_{}", program_name(side, ingress, ethernet)))
}

/// A new link, or the pinned one with the new program in the old one's place.
fn tcx(program: &mut ProgramMut<'_>, index: u32, pin: Option<&Path>) -> libbpf_rs::Result<Link> {
    if let Some(path) = pin
        && path.exists()
    {
        let mut link = Link::open(path)?;
        if link.update_prog(program).is_ok() {
            return Ok(link);
        }
        // The link belongs to a removed interface.
        fs::remove_file(path)?;
    }
    let mut link = tc::attach_tcx(program, index)?;
    if let Some(path) = pin {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        link.pin(path)?;
    }
    Ok(link)
}
