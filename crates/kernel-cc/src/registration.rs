//! The object that keeps the controller registered: a struct_ops link or, before Linux 6.4, the
//! struct_ops map itself.

use crate::error::doing;
use crate::{Error, Pins};
use libbpf_rs::{Link, MapCore, MapHandle, MapMut, MapType, OpenObject};

/// A registered controller, pinned or not.
pub(crate) enum Registration {
    Link(Link),
    /// The map's value registers the controller until the map is freed.
    Map(MapHandle),
}

/// Requests registration by the map's value, the only way before Linux 6.4.
pub(crate) fn without_link(object: &mut OpenObject) -> libbpf_rs::Result<()> {
    for mut map in object.maps_mut() {
        if map.map_type() == MapType::StructOps {
            map.set_map_flags(0)?;
        }
    }
    Ok(())
}

impl Registration {
    /// Registers the controller of `ops`, a map of struct_ops.
    pub(crate) fn new(ops: &mut MapMut, by_link: bool) -> libbpf_rs::Result<Registration> {
        let mut link = ops.attach_struct_ops()?;
        if by_link {
            return Ok(Registration::Link(link));
        }
        // When dropped, libbpf's link would unregister the controller; here that is up to the map.
        link.disconnect();
        Ok(Registration::Map(MapHandle::try_from(&*ops)?))
    }

    pub(crate) fn pin(&mut self, pins: &Pins) -> libbpf_rs::Result<()> {
        match self {
            Registration::Link(link) => link.pin(pins.link()),
            Registration::Map(map) => map.pin(pins.map()),
        }
    }

    pub(crate) fn open(pins: &Pins) -> Result<Registration, Error> {
        let registration = match pins.map().exists() {
            true => MapHandle::from_pinned_path(pins.map()).map(Registration::Map),
            false => Link::open(pins.link()).map(Registration::Link),
        };
        registration.map_err(doing("opening what keeps the controller registered"))
    }

    /// The kernel's number of the link; a map's registration has none.
    pub(crate) fn link_id(&self) -> Result<Option<u32>, Error> {
        match self {
            Registration::Link(link) => {
                Ok(Some(link.info().map_err(doing("asking for the link"))?.id))
            }
            Registration::Map(_) => Ok(None),
        }
    }

    /// Unregisters the controller. Remove the pins first: the kernel frees the object at once if the
    /// last reference is a file descriptor, and with a delay if it is a pin.
    pub(crate) fn end(self) -> Result<(), Error> {
        match self {
            Registration::Link(link) => drop(link),
            Registration::Map(map) => {
                map.delete(&0u32.to_ne_bytes()).map_err(doing("unregistering the controller"))?;
            }
        }
        Ok(())
    }
}
