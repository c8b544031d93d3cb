//! Programs at an interface: TCX, or filters of clsact where the kernel has no TCX. What others
//! attached stays, the clsact qdisc too, which costs nothing when it is empty.

use crate::Error;
use libbpf_rs::{
    AsRawLibbpf, ErrorKind, Link, ProgramMut, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder,
};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};

/// A new link of TCX (Linux 6.6), which goes with the process unless it is pinned.
///
/// # Errors
///
/// The kernel's.
#[expect(unsafe_code, reason = "libbpf-rs has no call for TCX")]
pub fn attach_tcx(program: &ProgramMut<'_>, index: u32) -> libbpf_rs::Result<Link> {
    let index = i32::try_from(index).map_err(std::io::Error::other)?;
    // SAFETY: `program` is loaded and outlives the call; NULL means no options.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), index, ptr::null())
    };
    match NonNull::new(link) {
        // SAFETY: libbpf has just made the link and passes its ownership to the caller.
        Some(link) => Ok(unsafe { Link::from_ptr(link) }),
        None => Err(std::io::Error::last_os_error().into()),
    }
}

/// Whether the interface of a link of TCX is still there: it takes the programs along.
pub fn is_there(link: &Link) -> bool {
    link.info().is_ok_and(|info| match info.info {
        libbpf_rs::query::LinkTypeInfo::Tcx(tcx) => tcx.ifindex != 0,
        _ => false,
    })
}

/// Where among the filters of an interface.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The kernel's number of the interface.
    pub index: u32,
    /// Before what is sent goes to the device, or after what came has left it.
    pub ingress: bool,
    /// The lowest is asked first.
    pub priority: u32,
    /// Among those of a priority.
    pub handle: u32,
}

/// A filter of clsact, in the network namespace of the thread that attached it. It goes when it is
/// dropped, but stays when the process is killed.
#[derive(Debug)]
pub struct Filter {
    program: OwnedFd,
    place: Place,
    keep: bool,
}

impl Filter {
    /// In place of what is there already: number and priority are whose program it is, so it was
    /// left by one that was killed. `keep`: being dropped does not remove it.
    ///
    /// # Errors
    ///
    /// No clsact in this kernel, or it refuses.
    pub fn attach(program: &ProgramMut<'_>, place: Place, keep: bool) -> Result<Filter, Error> {
        let program = program.as_fd().try_clone_to_owned();
        let program = program.map_err(|error| Error::kernel("a descriptor", error.into()))?;
        let filter = Filter { program, place, keep };
        let mut hook = filter.hook();
        hook.create().map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::Unsupported => Error::Lacking(
                "this kernel has neither TCX (Linux 6.6) nor clsact: it takes \
                 CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_BPF"
                    .to_owned(),
            ),
            _ => Error::kernel("making the clsact qdisc", error),
        })?;
        let attached = hook.replace(true).attach();
        attached.map_err(|error| Error::kernel("attaching the programs to clsact", error))?;
        Ok(filter)
    }

    /// Whether it still stands there.
    pub fn is_there(&self) -> bool {
        self.hook().query().is_ok()
    }

    /// Takes it away, kept or not.
    pub fn remove(mut self) {
        self.keep = false;
    }

    fn hook(&self) -> TcHook {
        TcHookBuilder::new(self.program.as_fd())
            // Linux takes no greater number.
            .ifindex(i32::try_from(self.place.index).unwrap_or(i32::MAX))
            .handle(self.place.handle)
            .priority(self.place.priority)
            .hook(if self.place.ingress { TC_INGRESS } else { TC_EGRESS })
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
