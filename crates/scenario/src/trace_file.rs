//! Files of packet-delivery traces.

use std::fs;
use std::path::Path;
use windlass_base::paths::in_folder;
use windlass_base::text_file;
use windlass_link_model::DeliveryTrace;

/// More than the longest trace needs: ten hours at 200 Mbit/s.
const MAX_BYTES: u64 = 1 << 32;

/// Reads a trace; a relative path begins in `directory`, and `~/` is the home directory.
pub(crate) fn read(path: &str, directory: &Path) -> Result<DeliveryTrace, String> {
    let found = in_folder(directory, path)?;
    let shown = found.display();
    // A device or a pipe might never end.
    let metadata = fs::metadata(&found).map_err(|error| format!("{shown}: {error}"))?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(format!("{shown}: expected a file of at most {} GiB", MAX_BYTES >> 30));
    }
    let text = text_file::read(&found).map_err(|error| format!("{shown}: {error}"))?;
    DeliveryTrace::parse(&text).map_err(|error| format!("{shown}: {error}"))
}
