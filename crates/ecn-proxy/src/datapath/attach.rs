//! Programs at an interface: TCX, or filters of clsact where the kernel has no TCX. What others
//! attached stays, the clsact qdisc too, which costs nothing when it is empty.

use super::error::doing;
use super::interface::Interface;
use super::load::links_folder;
use super::{Attachment, Error, Hook, Side};
use libbpf_rs::{
    AsRawLibbpf, ErrorKind, Link, Object, ProgramMut, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder,
};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

/// Of the filters, so that those of a process that was killed are known again.
const PRIORITY: u32 = 0xecc0;
const HANDLE: u32 = 0xec;

/// The programs at one interface; they go when it is dropped, unless they are pinned.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) attachment: Attachment,
    ways: Vec<Way>,
}

#[derive(Debug)]
enum Way {
    Tcx(Link),
    Clsact(Filter),
}

/// A filter of clsact, in the network namespace of the thread that attached it.
#[derive(Debug)]
struct Filter {
    program: OwnedFd,
    index: i32,
    ingress: bool,
    keep: bool,
}

impl Filter {
    fn hook(&self) -> TcHook {
        TcHookBuilder::new(self.program.as_fd())
            .ifindex(self.index)
            .handle(HANDLE)
            .priority(PRIORITY)
            .hook(if self.ingress { TC_INGRESS } else { TC_EGRESS })
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        if !self.keep {
            // Gone with its interface, perhaps.
            let _ = self.hook().detach();
        }
    }
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
    pub(super) fn attach(
        object: &mut Object,
        pin: Option<&Path>,
        name: &str,
        side: Side,
    ) -> Result<Attached, Error> {
        let Interface { index, ethernet } = Interface::find(name)?;
        let mut ways = Vec::new();
        let mut hook = Hook::Tcx;
        for ingress in DIRECTIONS {
            let wanted = program_name(side, ingress, ethernet);
            let mut program = object
                .progs_mut()
                .find(|program| program.name().to_string_lossy() == wanted)
                .ok_or_else(|| Error::Unreadable(format!("the object has no program {wanted}")))?;
            let path = pin.map(|folder| pin_path(folder, index, side, ingress));
            let way = match tcx(&mut program, index, path.as_deref()) {
                Ok(link) => Way::Tcx(link),
                Err(error) if lacks_tcx(&error) => {
                    hook = Hook::Clsact;
                    Way::Clsact(clsact(&program, index, ingress, pin.is_some())?)
                }
                Err(error) => return Err(Error::kernel("attaching the programs", error)),
            };
            ways.push(way);
        }
        let attachment = Attachment { interface: name.to_owned(), index, side, hook, ethernet };
        Ok(Attached { attachment, ways })
    }

    /// Takes the programs away, pinned or not.
    pub(super) fn detach(self, pin: Option<&Path>) -> Result<(), Error> {
        let Attachment { index, side, .. } = self.attachment;
        for (mut way, ingress) in self.ways.into_iter().zip(DIRECTIONS) {
            if let Way::Clsact(filter) = &mut way {
                filter.keep = false;
            } else if let Some(folder) = pin {
                let path = pin_path(folder, index, side, ingress);
                fs::remove_file(&path).map_err(|error| Error::io(&path, error))?;
            }
        }
        Ok(())
    }

    /// Whether the programs still stand there: an interface takes them along when it goes.
    pub(super) fn is_there(&self) -> bool {
        self.ways.iter().all(|way| match way {
            Way::Tcx(link) => link.info().is_ok_and(|info| match info.info {
                libbpf_rs::query::LinkTypeInfo::Tcx(tcx) => tcx.ifindex != 0,
                _ => false,
            }),
            Way::Clsact(filter) => filter.hook().query().is_ok(),
        })
    }
}

fn pin_path(pin: &Path, index: u32, side: Side, ingress: bool) -> PathBuf {
    links_folder(pin).join(format!("{index}_{}", program_name(side, ingress, true)))
}

fn lacks_tcx(error: &libbpf_rs::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported)
        && super::load::older(&super::load::release(), (6, 6))
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
        // Of an interface that is no more.
        fs::remove_file(path)?;
    }
    let mut link = attach_tcx(program, index)?;
    if let Some(path) = pin {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        link.pin(path)?;
    }
    Ok(link)
}

#[expect(unsafe_code, reason = "libbpf-rs has no call for TCX")]
fn attach_tcx(program: &ProgramMut<'_>, index: u32) -> libbpf_rs::Result<Link> {
    let index = i32::try_from(index).map_err(std::io::Error::other)?;
    // SAFETY: `program` is loaded and outlives the call; NULL means no options.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), index, ptr::null())
    };
    match NonNull::new(link) {
        // SAFETY: libbpf made it, and nobody else has it.
        Some(link) => Ok(unsafe { Link::from_ptr(link) }),
        None => Err(std::io::Error::last_os_error().into()),
    }
}

fn clsact(
    program: &ProgramMut<'_>,
    index: u32,
    ingress: bool,
    keep: bool,
) -> Result<Filter, Error> {
    let index = i32::try_from(index).map_err(|error| Error::Unreadable(error.to_string()))?;
    let program = program.as_fd().try_clone_to_owned();
    let program = program.map_err(|error| Error::Unreadable(error.to_string()))?;
    let filter = Filter { program, index, ingress, keep };
    let mut hook = filter.hook();
    hook.create().map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::Unsupported => Error::Kernel(
            "this kernel has neither TCX (Linux 6.6) nor clsact: it takes CONFIG_NET_SCH_INGRESS \
             and CONFIG_NET_CLS_BPF"
                .to_owned(),
        ),
        _ => Error::kernel("making the clsact qdisc", error),
    })?;
    // Number and priority are the proxy's own: what is there was left by one that was killed.
    hook.replace(true).attach().map_err(doing("attaching the programs to clsact"))?;
    Ok(filter)
}
