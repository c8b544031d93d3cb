//! Files of data beside a scenario: traces, arrivals, distributions.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use windlass_base::paths::in_folder;
use windlass_base::text_file;

/// More than the longest trace needs: ten hours at 200 Mbit/s.
const MAX_BYTES: u64 = 1 << 32;

/// Reads a file; a relative path begins in `directory`, and `~/` is the home directory.
pub(crate) fn read<T, E: Display>(
    path: &str,
    directory: &Path,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, String> {
    let found = in_folder(directory, path)?;
    let shown = found.display();
    // A device or a pipe might never end.
    let metadata = fs::metadata(&found).map_err(|error| format!("{shown}: {error}"))?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(format!("{shown}: expected a file of at most {} GiB", MAX_BYTES >> 30));
    }
    let text = text_file::read(&found).map_err(|error| format!("{shown}: {error}"))?;
    parse(&text).map_err(|error| format!("{shown}: {error}"))
}
