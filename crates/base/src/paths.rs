//! Paths in configuration files. Needs the feature `paths`.

use std::env;
use std::format;
use std::path::{Path, PathBuf};
use std::string::String;

/// The path that `text` means in a file of the folder `folder`: a relative path begins there, and `~/`
/// is the home directory of the user.
///
/// ```
/// use std::path::Path;
/// use windlass_base::paths::in_folder;
///
/// let folder = Path::new("/etc/windlass");
/// assert_eq!(in_folder(folder, "host.key"), Ok("/etc/windlass/host.key".into()));
/// assert_eq!(in_folder(folder, "/srv/host.key"), Ok("/srv/host.key".into()));
/// ```
///
/// # Errors
/// A message if the text is empty, begins with `~` and another user's name, or if there is no home
/// directory.
pub fn in_folder(folder: &Path, text: &str) -> Result<PathBuf, String> {
    in_folder_with(folder, text, env::home_dir)
}

fn in_folder_with(
    folder: &Path,
    text: &str,
    home: impl FnOnce() -> Option<PathBuf>,
) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("expected a path".into());
    }
    let Some(rest) = text.strip_prefix('~') else { return Ok(folder.join(text)) };
    let Some(rest) = rest.strip_prefix('/') else {
        let message = "expected a path that begins with ~/ or /, or is relative to this file";
        return Err(format!("{text}: {message}"));
    };
    let home = home().filter(|home| home.is_absolute());
    Ok(home.ok_or_else(|| format!("{text}: there is no home directory"))?.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_directory_and_never_a_folder_of_that_name() {
        let home = || Some(PathBuf::from("/home/me"));
        let read = |text| in_folder_with(Path::new("conf"), text, home);
        assert_eq!(read("~/keys/host.key"), Ok("/home/me/keys/host.key".into()));
        assert_eq!(read("keys/~host"), Ok("conf/keys/~host".into()));
        assert_eq!(read("../host.key"), Ok("conf/../host.key".into()));
        for text in ["", "~", "~other/host.key"] {
            assert!(read(text).is_err_and(|message| message.contains("expected a path")), "{text}");
        }
        for home in [None, Some(PathBuf::from("relative"))] {
            let error = in_folder_with(Path::new(""), "~/x", || home).expect_err("no home");
            assert_eq!(error, "~/x: there is no home directory");
        }
    }
}
