//! The interfaces of the configuration. The programs are attached to each one as soon as it exists.

use super::protocol::Interface;
use crate::datapath::{Attachment, Datapath, Error, Side};
use nix::net::if_::{if_nameindex, if_nametoindex};
use std::collections::BTreeMap;
use tracing::{error, info, warn};
use windlass_base::suggest::did_you_mean;

/// The wanted attachments, and the error for each that failed.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    wanted: Vec<(String, Side)>,
    troubles: BTreeMap<String, String>,
}

impl Interfaces {
    /// Replaces the wanted interfaces.
    pub(super) fn want(&mut self, wanted: Vec<(String, Side)>) {
        self.troubles.retain(|name, _| wanted.iter().any(|(wanted, _)| wanted == name));
        self.wanted = wanted;
    }

    /// The names of the wanted interfaces.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.wanted.iter().map(|(name, _)| name)
    }

    /// Attaches the wanted interfaces that exist and detaches from others. Logs changes only.
    pub(super) fn sync(&mut self, datapath: &mut Datapath) {
        let attached = datapath.attachments();
        for old in &attached {
            if let Some(why) = self.why_leave(old) {
                info!(interface = old.interface, index = old.index, "interface left: {why}");
                leave(datapath, &old.interface);
            }
        }
        for (name, side) in self.wanted.clone() {
            let stays = |old: &&Attachment| old.interface == name && self.why_leave(old).is_none();
            if !attached.iter().any(|old| stays(&old)) {
                self.attach(datapath, &name, side);
            }
        }
    }

    fn why_leave(&self, old: &Attachment) -> Option<&'static str> {
        let wanted = self.wanted.iter().find(|(name, _)| *name == old.interface);
        let index = if_nametoindex(old.interface.as_str()).ok();
        match (wanted, index) {
            (None, _) => Some("it is no longer in the configuration"),
            (Some((_, side)), _) if *side != old.side => Some("it is to face the other side"),
            (_, None) => Some("it is gone"),
            (_, Some(index)) if index != old.index => Some("another has its name"),
            _ => None,
        }
    }

    fn attach(&mut self, datapath: &mut Datapath, name: &str, side: Side) {
        // An attachment of an interface that was removed, or detached by another program.
        leave(datapath, name);
        if if_nametoindex(name).is_err() {
            let hint = did_you_mean(name, interface_names());
            let why = format!("no such interface; it is served as soon as it appears{hint}");
            self.trouble(name, why);
            return;
        }
        match datapath.attach(name, side) {
            Ok(Attachment { index, hook, ethernet, .. }) => {
                self.troubles.remove(name);
                info!(interface = name, index, ?side, ?hook, ethernet, "interface served");
            }
            Err(error) => self.trouble(name, error.to_string()),
        }
    }

    fn trouble(&mut self, name: &str, why: String) {
        if self.troubles.get(name) == Some(&why) {
            return;
        }
        match why.starts_with("no such interface") {
            true => warn!(interface = name, "interface not served: {why}"),
            false => error!(interface = name, "interface not served: {why}"),
        }
        self.troubles.insert(name.to_owned(), why);
    }

    /// Each wanted interface with its attachment as the kernel reports it.
    pub(super) fn status(&self, attached: &[Attachment]) -> Vec<Interface> {
        let one = |(name, side): &(String, Side)| Interface {
            name: name.clone(),
            side: *side,
            attached: attached.iter().find(|old| old.interface == *name).cloned(),
            trouble: self.troubles.get(name).cloned(),
        };
        self.wanted.iter().map(one).collect()
    }

    /// The first interface that exists but could not be attached to.
    pub(super) fn refused(&self) -> Option<(&String, &String)> {
        self.troubles.iter().find(|(name, _)| if_nametoindex(name.as_str()).is_ok())
    }
}

/// The interfaces of this network namespace. /sys/class/net may be of another one.
pub(crate) fn interface_names() -> Vec<String> {
    let names = if_nameindex()
        .map(|found| found.iter().map(|one| one.name().to_string_lossy().into_owned()).collect());
    names.unwrap_or_default()
}

fn leave(datapath: &mut Datapath, name: &str) {
    match datapath.detach(name) {
        Ok(()) | Err(Error::NotAttached(_) | Error::NoInterface(_)) => {}
        Err(error) => warn!(interface = name, "leaving the interface: {error}"),
    }
}
