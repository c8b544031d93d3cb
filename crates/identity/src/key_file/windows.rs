//! Windows: files and folders inherit the access list of the folder that they are made in. That of a
//! user's profile admits the user, the administrators and the system.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{KeyFileError, absolute_variable};

/// Opens a link or another reparse point itself, not what it refers to.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// Without it a folder cannot be opened, and would be refused as if by its access list.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;

/// The folder of this user's data on this host. Not the roaming one: a key identifies a host, and a
/// roaming profile would carry it to others.
pub(super) fn config_folder() -> Option<PathBuf> {
    absolute_variable("LOCALAPPDATA")
        .or_else(|| Some(absolute_variable("USERPROFILE")?.join("AppData").join("Local")))
}

/// Opens the file. A link is opened itself, and is no regular file then.
pub(super) fn open(path: &Path) -> Result<File, KeyFileError> {
    let flags = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.map_err(KeyFileError::io("read", path))
}

/// Accepts every file that this user can read: its access list is the business of the folder.
pub(super) fn check_access(_: &Path, _: &fs::Metadata) -> Result<(), KeyFileError> {
    Ok(())
}

/// Makes a folder with the access list of the one above it.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

/// Makes an empty file with the access list of its folder.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Nothing: a folder cannot be flushed, and NTFS keeps a journal of names.
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
