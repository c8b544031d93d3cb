//! Unix: a socket in the file system, in a folder that only its user can enter.

use super::ANSWER_MAX;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixListener;

pub(super) fn default_folder() -> Option<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Some("/run/windlass/tou".into());
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_absolute()).map(|path| path.join("windlass/tou"))
}

/// Of root the folders of the users that are logged in, else none.
pub(super) fn folders_of_others() -> Vec<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let users = fs::read_dir("/run/user").into_iter().flatten().flatten();
    users.map(|user| user.path().join("windlass/tou")).filter(|path| path.is_dir()).collect()
}

/// The owner of a socket, by name or number.
pub(super) fn user_of(path: &Path) -> Option<String> {
    let number = fs::symlink_metadata(path).ok()?.uid().to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    // passwd(5): name:password:UID:...
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    name.or(Some(number))
}

/// See [`super::network_namespace`].
pub(super) fn network_namespace() -> Option<String> {
    let own = Path::new("/proc/self/ns/net");
    let number = fs::read_link(own).ok()?.to_str()?.to_owned();
    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let own = identity(own);
    let named = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let named = named.map(|entry| entry.path()).find(|path| own.is_some() && identity(path) == own);
    let name = named.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    name.or(Some(number))
}

/// Whether the folder of a socket is this user's.
fn is_own(path: &Path) -> bool {
    let owner = path.parent().and_then(|folder| fs::symlink_metadata(folder).ok());
    owner.is_some_and(|owner| owner.uid() == rustix::process::geteuid().as_raw())
}

/// Makes the folder for this user alone.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let owner = fs::metadata(folder)?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        let text = format!("{} belongs to user {owner}", folder.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    // Made by another program, it could be open to others.
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

/// Makes a socket, and answers whoever connects.
pub(super) fn serve(
    path: &Path,
    answer: impl Fn() -> Option<Vec<u8>> + Send + Sync + 'static,
) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    tokio::spawn(async move {
        // Only a process without descriptors fails to accept; its status is then not to be had.
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(text) = answer() else { continue };
            let send = async move { stream.write_all(&text).await };
            tokio::spawn(tokio::time::timeout(ANSWER_MAX, send));
        }
    });
    Ok(())
}

/// The answer of a command, of at most `len_max` bytes. Removes the socket of one that was killed.
pub(super) fn ask(path: &Path, len_max: u64) -> Option<Vec<u8>> {
    let stream = match UnixStream::connect(path) {
        // No process listens: it was killed. In another user's folder root removes nothing: that user
        // could lead it to another file.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            if is_own(path) {
                let _ = fs::remove_file(path);
            }
            return None;
        }
        stream => stream.ok()?,
    };
    stream.set_read_timeout(Some(ANSWER_MAX)).ok()?;
    let mut text = Vec::new();
    stream.take(len_max).read_to_end(&mut text).ok()?;
    Some(text)
}
