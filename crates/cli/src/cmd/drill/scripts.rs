//! Finds scripts.

use crate::failure::Failure;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The ending of a script's file name.
const EXTENSION: &str = "pkt";

/// The scripts that the arguments name, in order; those of a folder sorted by name.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut scripts = Vec::new();
    for path in paths {
        let failure = |error: io::Error| Failure::Input(format!("{}: {error}", path.display()));
        if !fs::metadata(path).map_err(failure)?.is_dir() {
            scripts.push(path.clone());
            continue;
        }
        let before = scripts.len();
        add(path, &mut scripts).map_err(failure)?;
        if scripts.len() == before {
            let message =
                format!("{}: no script in this folder: expected *.{EXTENSION}", path.display());
            return Err(Failure::Input(message));
        }
    }
    Ok(scripts)
}

/// Adds the scripts of a folder and of those in it. Links are not followed, since they may form a circle.
fn add(folder: &Path, scripts: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            add(&path, scripts)?;
        } else if path.extension().is_some_and(|extension| extension == EXTENSION) {
            scripts.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_searched_in_order() {
        let folder = std::env::temp_dir().join(format!("windlass-drill-{}", std::process::id()));
        for name in ["b.pkt", "a/c.pkt", "notes.txt"] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, "").expect("written");
        }
        let found = find(std::slice::from_ref(&folder)).expect("scripts");
        let names = found.iter().map(|path| path.strip_prefix(&folder).expect("inside"));
        assert_eq!(names.collect::<Vec<_>>(), [Path::new("a/c.pkt"), Path::new("b.pkt")]);
        let text = folder.join("notes.txt");
        assert_eq!(find(std::slice::from_ref(&text)).expect("a file"), [text]);
        assert!(matches!(find(&[folder.join("none")]), Err(Failure::Input(_))));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
