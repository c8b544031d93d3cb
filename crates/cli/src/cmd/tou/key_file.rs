//! The file of a secret key.

use crate::failure::Failure;
use std::io::ErrorKind;
use std::path::PathBuf;
use windlass_identity::{KeyFileError, SecretKey};

/// The key in the file that the user has named, else in the default one. Only the default one is
/// made on first use: where a name is mistyped, the host would silently have another identity.
pub(super) fn load(
    named: Option<PathBuf>,
    default: Option<PathBuf>,
) -> Result<(PathBuf, SecretKey), Failure> {
    let (file, loaded) = match named {
        Some(file) => {
            let loaded = windlass_identity::load(&file);
            (file, loaded)
        }
        None => {
            let file = default.ok_or_else(no_home)?;
            let loaded = windlass_identity::load_or_create(&file);
            (file, loaded)
        }
    };
    let key = loaded.map_err(|error| match &error {
        KeyFileError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            let shown = file.display();
            let make = "windlass tou key --file";
            Failure::Work(format!("there is no key file {shown}; to make it: {make} {shown}"))
        }
        _ => Failure::Work(error.to_string()),
    })?;
    Ok((file, key))
}

/// There is no place for the default file.
pub(super) fn no_home() -> Failure {
    Failure::Input("no home directory for the key: name a file with --key".to_owned())
}
