//! Programs at an interface: TCX links, or filters of clsact where the kernel has no TCX. Programs of
//! other users stay. The clsact qdisc stays too: an empty one costs nothing.

use crate::Error;
use libbpf_rs::{
    AsRawLibbpf, ErrorKind, Link, ProgramMut, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder,
};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};

/// Attaches `program` to the interface `index` by a TCX link (Linux 6.6). The kernel detaches it when
/// the link is dropped or the process ends, unless the link is pinned.
///
/// # Errors
///
/// libbpf's error, if the kernel refuses.
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

/// Whether the interface of a TCX link still exists. The kernel detaches the link with its interface.
pub fn is_there(link: &Link) -> bool {
    link.info().is_ok_and(|info| match info.info {
        libbpf_rs::query::LinkTypeInfo::Tcx(tcx) => tcx.ifindex != 0,
        _ => false,
    })
}

/// Programs that one hook takes at most: BPF_MPROG_MAX of the kernel.
const PROGRAMS_MAX: usize = 64;

/// The ids of the programs that all users have attached to the interface `index` by TCX.
///
/// # Errors
///
/// The kernel has no TCX, or refuses.
#[expect(unsafe_code, reason = "libbpf-rs has no call for it")]
pub fn tcx_programs(index: u32, ingress: bool) -> std::io::Result<Vec<u32>> {
    let index = i32::try_from(index).map_err(std::io::Error::other)?;
    let hook = if ingress { libbpf_sys::BPF_TCX_INGRESS } else { libbpf_sys::BPF_TCX_EGRESS };
    let mut ids = vec![0; PROGRAMS_MAX];
    let mut options = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as libbpf_sys::size_t,
        prog_ids: ids.as_mut_ptr(),
        ..Default::default()
    };
    options.__bindgen_anon_1.count = PROGRAMS_MAX as u32;
    // SAFETY: `prog_ids` has room for `count` ids, and both outlive the call.
    let status = unsafe { libbpf_sys::bpf_prog_query_opts(index, hook, &raw mut options) };
    if status < 0 {
        return Err(std::io::Error::from_raw_os_error(-status));
    }
    // SAFETY: all fields of the union are the same number.
    ids.truncate(unsafe { options.__bindgen_anon_1.count } as usize);
    Ok(ids)
}

/// The position of a filter: interface, direction and rank among the filters there.
#[derive(Clone, Copy, Debug)]
pub struct FilterSlot {
    /// The kernel's index of the interface.
    pub index: u32,
    /// True: packets that arrive at the interface. False: packets that leave by it.
    pub ingress: bool,
    /// The kernel runs the filter with the lowest priority first.
    pub priority: u32,
    /// Distinguishes the filters of one priority.
    pub handle: u32,
}

/// A filter of clsact, in the network namespace of the thread that attached it. Dropping the value
/// detaches it. If the process is killed, the filter stays attached.
#[derive(Debug)]
pub struct Filter {
    program: OwnedFd,
    slot: FilterSlot,
    keep: bool,
}

impl Filter {
    /// Attaches `program`, in place of a filter with the same handle and priority: these identify
    /// the tool, so a killed process of it has left that filter. With `keep`, dropping the value
    /// does not detach the filter.
    ///
    /// # Errors
    ///
    /// The kernel has no clsact ([`Error::Lacking`]), or refuses the filter.
    pub fn attach(program: &ProgramMut<'_>, slot: FilterSlot, keep: bool) -> Result<Filter, Error> {
        let program = program.as_fd().try_clone_to_owned();
        let program = program.map_err(|error| Error::kernel("a descriptor", error.into()))?;
        let filter = Filter { program, slot, keep };
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

    /// Whether the filter is still attached.
    pub fn is_there(&self) -> bool {
        self.hook().query().is_ok()
    }

    /// Detaches the filter, even if it was attached with `keep`.
    pub fn remove(mut self) {
        self.keep = false;
    }

    fn hook(&self) -> TcHook {
        TcHookBuilder::new(self.program.as_fd())
            // Linux takes no greater number.
            .ifindex(i32::try_from(self.slot.index).unwrap_or(i32::MAX))
            .handle(self.slot.handle)
            .priority(self.slot.priority)
            .hook(if self.slot.ingress { TC_INGRESS } else { TC_EGRESS })
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        if !self.keep {
            // Fails if the interface is gone, and the filter with it.
            let _ = self.hook().detach();
        }
    }
}
