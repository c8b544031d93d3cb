//! A directory of results that appears complete or does not appear.

use crate::failure::Failure;
use crate::interrupt;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory under a temporary name beside the final one, which [`OutputDir::finish`] gives it.
/// Dropped before that, or on Ctrl-C, it is removed.
#[derive(Debug)]
pub(crate) struct OutputDir {
    target: PathBuf,
    temporary: PathBuf,
    finished: bool,
}

impl OutputDir {
    /// Refuses a target that exists or a parent that cannot be written, and makes the temporary
    /// directory.
    pub(crate) fn create(target: &Path) -> Result<OutputDir, Failure> {
        OutputDir::create_for(target, "--out ")
    }

    /// The same for the directory of another argument, which messages name.
    pub(crate) fn create_for(target: &Path, argument: &str) -> Result<OutputDir, Failure> {
        let refuse = |why: String| Failure::Input(format!("{argument}{}: {why}", target.display()));
        if target.symlink_metadata().is_ok() {
            return Err(refuse("exists already; choose another name or remove it".into()));
        }
        let Some(name) = target.file_name() else {
            return Err(refuse("expected the name of a new directory".into()));
        };
        let parent = match target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        let temporary = parent.join(hidden);
        // Known before it exists: an interrupt in between would leave it behind.
        interrupt::set_temporary(Some(&temporary));
        match fs::create_dir_all(parent).and_then(|()| fs::create_dir(&temporary)) {
            Ok(()) => Ok(OutputDir { target: target.to_owned(), temporary, finished: false }),
            Err(error) => {
                interrupt::set_temporary(None);
                Err(refuse(format!("cannot be written: {error}")))
            }
        }
    }

    /// Where to write for now.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Gives the directory its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        fs::rename(&self.temporary, &self.target)
            .map_err(|error| Failure::io(self.target.display(), &error))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for OutputDir {
    fn drop(&mut self) {
        interrupt::set_temporary(None);
        if !self.finished {
            // The cause has been reported already.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}
