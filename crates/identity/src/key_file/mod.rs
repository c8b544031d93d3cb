//! Files with a secret key: PKCS#8 in PEM (RFC 7468), as OpenSSL reads it, for their owner alone.

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::{env, fmt};

use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::{NoRandomness, SecretKey};

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

/// Longer files are not read: a key has about 120 bytes, and comments may precede it.
const FILE_LEN_MAX: u64 = 16 * 1024;

/// Where the key of this user is unless an option names another file.
///
/// `$XDG_CONFIG_HOME/windlass/tou/key` if the variable is an absolute path; else for root
/// `/etc/windlass/tou/key`; else `~/.config/windlass/tou/key`. `None` without a home directory.
///
/// On Windows `%LOCALAPPDATA%\windlass\tou\key`, by default in `AppData\Local` of the user's profile.
pub fn default_path() -> Option<PathBuf> {
    Some(system::config_folder()?.join("windlass").join("tou").join("key"))
}

fn absolute_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The secret key in the file `path`.
///
/// # Errors
///
/// [`KeyFileError`] if the file cannot be read, is a symbolic link or no regular file, can be
/// read or written by its group or others, or contains no Ed25519 key in PEM. On Windows access lists
/// are not examined.
pub fn load(path: &Path) -> Result<SecretKey, KeyFileError> {
    let file = system::open(path)?;
    let metadata = file.metadata().map_err(KeyFileError::io("read", path))?;
    if !metadata.is_file() {
        return Err(KeyFileError::NotRegular(path.into()));
    }
    system::check_access(path, &metadata)?;
    let mut pem = Zeroizing::new(Vec::with_capacity(FILE_LEN_MAX as usize));
    file.take(FILE_LEN_MAX).read_to_end(&mut pem).map_err(KeyFileError::io("read", path))?;
    SecretKey::from_pem(&pem).map_err(|_| KeyFileError::NoKey(path.into()))
}

/// The secret key in the file `path`. Makes the file with a new key if there is none, and its
/// folder.
///
/// The new file has mode 0600 and a new folder 0700; on Windows both inherit the access list of the folder
/// that they are in, which in a user's profile keeps other users away. The file appears complete or not at
/// all. Of two processes that create it at once, both return the key of the one that was first.
///
/// # Errors
///
/// Those of [`load`], or that the file could not be made.
pub fn load_or_create(path: &Path) -> Result<SecretKey, KeyFileError> {
    match load(path) {
        Err(KeyFileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            create(path)?;
            load(path)
        }
        loaded => loaded,
    }
}

/// Writes a new key into a temporary file and links it to `path`, unless `path` exists by then.
fn create(path: &Path) -> Result<(), KeyFileError> {
    let failed = KeyFileError::io("create", path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    create_private_folder(folder).map_err(&failed)?;

    let key = SecretKey::generate().map_err(|error| failed(io::Error::other(error)))?;
    let temporary = folder.join(temporary_name().map_err(|error| failed(io::Error::other(error)))?);
    let linked = write_private(&temporary, key.to_pem().as_bytes())
        .and_then(|()| fs::hard_link(&temporary, path));
    let removed = fs::remove_file(&temporary);
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
        // The name too must survive a power cut.
        Ok(()) => system::sync_folder(folder).map_err(&failed)?,
    }
    removed.map_err(failed)
}

fn temporary_name() -> Result<String, NoRandomness> {
    let mut random = [0; 8];
    SystemRandom::new().fill(&mut random).map_err(|_| NoRandomness)?;
    Ok(format!(".key-{:016x}", u64::from_le_bytes(random)))
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match system::create_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

fn write_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = system::create_file(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

/// Why a key file was not used.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The system refused an action on the file or its folder.
    Io {
        /// "read" or "create".
        action: &'static str,
        /// The key file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path is a symbolic link, a folder, a device or a FIFO.
    NotRegular(PathBuf),
    /// Users other than the owner can read or write the file.
    Exposed {
        /// The key file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file belongs to a user who is not the one of this process.
    OtherOwner {
        /// The key file.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
    },
    /// The file contains no Ed25519 key in PEM.
    NoKey(PathBuf),
}

impl KeyFileError {
    fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { action, path: path.into(), source }
    }
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, path, source } => {
                write!(f, "cannot {action} the key file {}: {source}", path.display())
            }
            Self::NotRegular(path) => write!(
                f,
                "the key file {} is a symbolic link or no regular file; name the file itself",
                path.display()
            ),
            Self::Exposed { path, mode } => write!(
                f,
                "other users have access to the key file {path} (mode {mode:04o}); \
                 if the key is still secret, run: chmod 600 {path}",
                path = path.display()
            ),
            Self::OtherOwner { path, owner } => {
                write!(f, "the key file {} belongs to user {owner}", path.display())
            }
            Self::NoKey(path) => {
                write!(f, "the key file {} contains no Ed25519 key (PKCS#8 in PEM)", path.display())
            }
        }
    }
}

// Without `source`: `Display` prints the error behind this one already.
impl Error for KeyFileError {}
