//! The sources of Windlass's crates, which the build packs into the binary.

use crate::failure::Failure;
use flate2::read::GzDecoder;
use std::io;
use std::path::{Path, PathBuf};
use tar::Archive;

static ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.tar.gz"));

/// Writes the sources into a folder that does not exist yet.
///
/// # Errors
///
/// This build carries none, or a file cannot be written.
pub(super) fn unpack(folder: &Path) -> io::Result<()> {
    let mut archive = Archive::new(GzDecoder::new(ARCHIVE));
    archive.unpack(folder)?;
    if folder.join("Cargo.toml").is_file() {
        return Ok(());
    }
    let message = "this build of windlass carries no sources; name a checkout with --source DIR";
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

/// The absolute path of a checkout.
///
/// # Errors
///
/// The folder holds no checkout of Windlass, or cannot be read.
pub(super) fn check(source: &Path) -> Result<PathBuf, Failure> {
    if !source.join("crates/cli/Cargo.toml").is_file() {
        let message = format!("--source {}: expected a checkout of Windlass", source.display());
        return Err(Failure::Input(message));
    }
    source.canonicalize().map_err(|error| Failure::io(source.display(), &error))
}
