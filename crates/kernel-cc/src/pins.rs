//! The pins of a loaded controller in the BPF file system. They keep it registered after the process has ended,
//! and `status` and `unload` find it by them.

use crate::{Error, Name, bpffs, paths};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The paths at which the objects of a loaded controller are pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pins {
    folder: PathBuf,
}

impl Pins {
    /// The folder of all loaded controllers.
    pub fn root() -> &'static Path {
        Path::new(paths::PINS)
    }

    /// The paths for the controller `name`, loaded or not.
    pub fn of(name: &Name) -> Pins {
        Pins { folder: Pins::root().join(name.as_str()) }
    }

    /// The link that keeps the controller registered.
    pub(crate) fn link(&self) -> PathBuf {
        self.folder.join("link")
    }

    /// The map that keeps it registered, before Linux 6.4.
    pub(crate) fn map(&self) -> PathBuf {
        self.folder.join("map")
    }

    /// True while Windlass has the controller registered.
    pub fn exist(&self) -> bool {
        self.link().exists() || self.map().exists()
    }

    /// The iterator. Reading it returns the state of all connections as CSV.
    pub fn flows(&self) -> PathBuf {
        self.folder.join("flows")
    }

    /// The map of the parameters.
    pub fn parameters(&self) -> PathBuf {
        self.folder.join("parameters")
    }

    pub(crate) fn create_folder(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.folder).map_err(|error| Error::io(&self.folder, error))
    }

    /// Removes the pins, the registration last. The kernel keeps objects that are still open.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        for path in [self.flows(), self.parameters(), self.link(), self.map()] {
            ignore_missing(fs::remove_file(&path)).map_err(|error| Error::io(path, error))?;
        }
        ignore_missing(fs::remove_dir(&self.folder)).map_err(|error| Error::io(&self.folder, error))
    }

    /// The names of the pinned controllers, sorted. Empty if the BPF file system is not mounted.
    pub(crate) fn names() -> Result<Vec<Name>, Error> {
        if !bpffs::is_mounted()? {
            return Ok(Vec::new());
        }
        let entries = match fs::read_dir(paths::PINS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| Error::io(paths::PINS, error))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| Error::io(paths::PINS, error))?;
            names.extend(entry.file_name().to_str().and_then(|name| name.parse::<Name>().ok()));
        }
        // A controller that is being loaded or unloaded has no registration.
        names.retain(|name| Pins::of(name).exist());
        names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        Ok(names)
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
