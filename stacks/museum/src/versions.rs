//! The versions of the stacks that a program was built with.

/// The version of a crate in a lock file. `None` if the file does not have it.
pub fn version(lock: &str, name: &str) -> Option<String> {
    let wanted = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != wanted).skip(1);
    let version = lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_of_the_lock_file() {
        let lock = "[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"0.2.1\"\n";
        assert_eq!(version(lock, "a").as_deref(), Some("0.2.1"));
        assert_eq!(version(lock, "b"), None);
    }
}
