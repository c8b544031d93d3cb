//! Variables of a namespace's network stack.

use crate::subject::Unsupported;
use nix::errno::Errno;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use windlass_namespace::Namespace;

/// Sets a variable in a namespace. The kernel shows a namespace only its own variables, or others read-only, so that
/// none of the host's changes.
///
/// # Errors
///
/// The variable is not the network's, is the whole host's, or does not take this value.
pub(super) fn set(name: &str, value: &str, namespace: &Namespace) -> Result<(), Unsupported> {
    let path = path(name)?;
    let written = namespace.within(|| fs::write(&path, value)).and_then(|written| written);
    written.map_err(|error| Unsupported(format!("{name} = {value}: {}", reason(&error))))
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no variable of a network namespace of this kernel".into(),
        ErrorKind::PermissionDenied => "the whole host's, or forbidden in a namespace".into(),
        _ => error
            .raw_os_error()
            .map_or_else(|| error.to_string(), |number| Errno::from_raw(number).desc().into()),
    }
}

/// The file of a variable, whose name has points or slashes between its parts.
fn path(name: &str) -> Result<PathBuf, Unsupported> {
    let parts: Vec<_> = name.split(['.', '/']).collect();
    let is_plain = |part: &&str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    if parts.first() != Some(&"net") || !parts.iter().all(is_plain) {
        return Err(Unsupported(format!("{name}: no variable of the network")));
    }
    Ok(PathBuf::from("/proc/sys").join(parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_a_file_of_the_network() {
        let file = PathBuf::from("/proc/sys/net/ipv4/tcp_ecn");
        assert_eq!(path("net.ipv4.tcp_ecn"), Ok(file.clone()));
        assert_eq!(path("net/ipv4/tcp_ecn"), Ok(file));
        for name in ["kernel.panic", "net.../x", "net..ipv4", "/proc/sys/net/ipv4/tcp_ecn", ""] {
            assert!(path(name).is_err(), "{name}");
        }
    }
}
