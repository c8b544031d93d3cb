//! The replay of the inputs in `fuzz/regressions`.

use std::fs;
use std::path::Path;

/// Runs `body` on each input that is kept for a fuzz target, in the order of their names, and
/// prints the name before each.
///
/// # Panics
///
/// If the folder of the target is missing or empty: then nothing would be tested.
pub fn replay(target: &str, mut body: impl FnMut(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions").join(target);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no inputs in {}", folder.display());
    for input in inputs {
        eprintln!("{}", input.display());
        body(&fs::read(&input).expect("a readable input"));
    }
}
