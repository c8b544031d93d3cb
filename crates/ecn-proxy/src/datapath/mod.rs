//! The packet path: tc programs at interfaces, their tables, and the switch.
//!
//! [`Datapath::load`] brings the programs into the kernel, [`Datapath::attach`] puts them at an
//! interface of the calling thread's network namespace. Without [`Settings::pin`] all of it goes when the value is dropped or the
//! process dies. Nothing here runs by itself: who owns a `Datapath` calls [`Datapath::expire`] every
//! few seconds, which is also the sign of life that the programs want (see [`Settings::lease`]).
//!
//! All of it wants root, or rather CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON.

mod counters;
mod error;
mod flow;
mod lists;
mod settings;

pub use counters::Counters;
pub use error::Error;
pub use flow::{Flow, FlowState, Host, HostEcn};
pub use lists::{Lists, Rules};
pub use settings::{Policy, Settings, Side, Timeouts};

use serde::Serialize;

/// Where the kernel runs the programs of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// A TCX link (Linux 6.6): it goes with the process, or with its pin.
    Tcx,
    /// Filters of a clsact qdisc: they stay when the process is killed, and pass everything once
    /// the lease is over.
    Clsact,
}

/// An interface at which the programs stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// Its name when it was attached.
    pub interface: String,
    /// The kernel's number of it.
    pub index: u32,
    /// Whom it faces.
    pub side: Side,
    /// How the programs are attached.
    pub hook: Hook,
    /// Its packets begin with an Ethernet header; else with that of IP (ppp, tun, wireguard).
    pub ethernet: bool,
}

/// What of this kernel is in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Features {
    /// Its release, as `uname -r` says.
    pub kernel: String,
    /// It has TCX.
    pub tcx: bool,
    /// The folder of the pins, if the tables and links outlive the process.
    pub pinned: Option<std::path::PathBuf>,
    /// Tables were found there and taken over.
    pub reused: bool,
}

/// The programs in the kernel.
#[derive(Debug)]
pub struct Datapath {}

impl Datapath {
    /// Loads the programs, or takes over the tables pinned at [`Settings::pin`].
    ///
    /// # Errors
    ///
    /// Missing rights, a kernel without what is needed (named), settings out of range.
    pub fn load(settings: &Settings) -> Result<Datapath, Error> {
        let _ = settings;
        todo!()
    }

    /// Stands at `interface`, in both directions. Again with the same side: nothing happens.
    ///
    /// # Errors
    ///
    /// No such interface; attached with the other side; the kernel refuses.
    pub fn attach(&mut self, interface: &str, side: Side) -> Result<Attachment, Error> {
        let _ = (interface, side);
        todo!()
    }

    /// Leaves `interface`. The flows stay in the table.
    ///
    /// # Errors
    ///
    /// Not attached there.
    pub fn detach(&mut self, interface: &str) -> Result<(), Error> {
        let _ = interface;
        todo!()
    }

    /// Where the programs stand, as the kernel says: an interface that went away is not among them.
    pub fn attachments(&self) -> Result<Vec<Attachment>, Error> {
        todo!()
    }

    /// The kill switch. Off: every packet passes untouched from now on; the tables stay.
    pub fn set_enabled(&mut self, enabled: bool) -> Result<(), Error> {
        let _ = enabled;
        todo!()
    }

    /// Draining: no new connection is taken on, those under way are served to their end.
    pub fn set_draining(&mut self, draining: bool) -> Result<(), Error> {
        let _ = draining;
        todo!()
    }

    /// How served senders are told, from now on and for all connections.
    pub fn set_policy(&mut self, policy: Policy) -> Result<(), Error> {
        let _ = policy;
        todo!()
    }

    /// Which connections are taken on from now on; those under way are not asked again.
    pub fn set_lists(&mut self, lists: &Lists) -> Result<(), Error> {
        let _ = lists;
        todo!()
    }

    /// What has been counted since the tables were made.
    pub fn counters(&self) -> Result<Counters, Error> {
        todo!()
    }

    /// The connections in the table, one by one, those in their handshake last.
    pub fn flows(&self) -> Result<impl Iterator<Item = Result<Flow, Error>>, Error> {
        Ok(std::iter::empty())
    }

    /// What is known of far hosts.
    pub fn hosts(&self) -> Result<Vec<Host>, Error> {
        todo!()
    }

    /// Removes connections that have been idle for too long, and renews the lease. Returns how many
    /// went.
    pub fn expire(&mut self, timeouts: &Timeouts) -> Result<u64, Error> {
        let _ = timeouts;
        todo!()
    }

    /// What of this kernel is in use.
    pub fn features(&self) -> &Features {
        todo!()
    }
}
