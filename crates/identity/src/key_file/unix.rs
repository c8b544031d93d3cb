//! Unix: the owner and the mode of a file say who has access.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{KeyFileError, absolute_variable};

/// The folder of this user's configuration.
pub(super) fn config_folder() -> Option<PathBuf> {
    let is_root = rustix::process::geteuid().is_root();
    folder_for(absolute_variable("XDG_CONFIG_HOME"), absolute_variable("HOME"), is_root)
}

fn folder_for(config: Option<PathBuf>, home: Option<PathBuf>, is_root: bool) -> Option<PathBuf> {
    match config {
        Some(config) => Some(config),
        None if is_root => Some("/etc".into()),
        None => Some(home?.join(".config")),
    }
}

/// Opens the file, unless it is a symbolic link.
pub(super) fn open(path: &Path) -> Result<File, KeyFileError> {
    // Without NONBLOCK, opening a FIFO would wait for its writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path).map_err(|error| {
        match rustix::io::Errno::from_io_error(&error) {
            Some(rustix::io::Errno::LOOP) => KeyFileError::NotRegular(path.into()),
            _ => KeyFileError::io("read", path)(error),
        }
    })
}

/// Refuses a file to which other users have access.
pub(super) fn check_access(path: &Path, metadata: &fs::Metadata) -> Result<(), KeyFileError> {
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Exposed { path: path.into(), mode });
    }
    // Root can read each user's file. Any other owner than the reader itself could exchange the key.
    let user = rustix::process::geteuid();
    if !user.is_root() && metadata.uid() != user.as_raw() {
        return Err(KeyFileError::OtherOwner { path: path.into(), owner: metadata.uid() });
    }
    Ok(())
}

/// Makes a folder for its owner alone.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// Makes an empty file for its owner alone.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // The umask can have taken even the owner's bits.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Lets the names in a folder survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_follows_the_environment() {
        let folder = |config: Option<&str>, home: Option<&str>, is_root| {
            folder_for(config.map(Into::into), home.map(Into::into), is_root)
        };
        let config = Some("/c");
        assert_eq!(folder(config, Some("/h"), true), Some("/c".into()));
        assert_eq!(folder(None, Some("/root"), true), Some("/etc".into()));
        assert_eq!(folder(None, Some("/h"), false), Some("/h/.config".into()));
        assert_eq!(folder(None, None, false), None);
    }
}
