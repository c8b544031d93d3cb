//! Facts about this process and its user: programs, capabilities, Python.

use super::capability::Capability;
use super::finding::Finding::{self, Missing, Present};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs are looked for, and what this process may do.
#[derive(Debug)]
pub(super) struct Machine {
    path: OsString,
    folder: PathBuf,
    /// The effective set; `None` where the kernel does not tell.
    capabilities: Option<u64>,
}

impl Machine {
    /// This machine, as this process finds it.
    pub(super) fn here() -> Machine {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Machine {
            path: env::var_os("PATH").unwrap_or_default(),
            folder: env::current_dir().unwrap_or_default(),
            capabilities: effective(&status),
        }
    }

    /// The first program in PATH under one of these names.
    pub(super) fn program(&self, names: &[&str]) -> Option<PathBuf> {
        let folders: Vec<PathBuf> =
            env::split_paths(&self.path).filter(|folder| folder.is_absolute()).collect();
        let places = names.iter().flat_map(|name| {
            // On Windows with .exe.
            let file = format!("{name}{}", env::consts::EXE_SUFFIX);
            folders.iter().map(move |folder| folder.join(&file))
        });
        places.into_iter().find(|place| is_program(place))
    }

    /// The standard output of a program in PATH, or why there is none, in a line.
    pub(super) fn output(&self, name: &str, args: &[&str]) -> Result<String, String> {
        let program = self.program(&[name]).ok_or_else(|| format!("no {name} in PATH"))?;
        let output = Command::new(program).args(args).output();
        let output = output.map_err(|error| format!("{name}: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                let complaint = String::from_utf8_lossy(&output.stderr);
                Err(format!("{name}: {}", complaint.lines().next().unwrap_or("it failed")))
            }
        }
    }

    /// Python 3.`minor` or later, under one of the names that Debian gives it.
    pub(super) fn python(&self, minor: u32) -> Finding {
        let names: Vec<String> = std::iter::once("python3".to_owned())
            .chain((minor..minor + 6).rev().map(|minor| format!("python3.{minor}")))
            .collect();
        let mut best = "no python3 in PATH".to_owned();
        for name in &names {
            let Some(path) = self.program(&[name]) else { continue };
            match python_version(&path) {
                Some((3, found)) if found >= minor => {
                    return Present(format!("3.{found}, {}", path.display()));
                }
                Some((major, found)) => best = format!("{} is {major}.{found}", path.display()),
                None => best = format!("{} does not answer", path.display()),
            }
        }
        Missing(best)
    }

    /// The lab in PATH, or in the .venv of this folder or one above.
    pub(super) fn lab(&self) -> Finding {
        let programs = if cfg!(windows) { ".venv/Scripts" } else { ".venv/bin" };
        let name = format!("windlass-lab{}", env::consts::EXE_SUFFIX);
        let in_venv = |folder: &Path| folder.join(programs).join(&name);
        let above = self.folder.ancestors().map(in_venv).find(|place| is_program(place));
        match above.or_else(|| self.program(&["windlass-lab"])) {
            Some(path) => Present(path.display().to_string()),
            None => Missing("neither in .venv here or above, nor in PATH".to_owned()),
        }
    }

    pub(super) fn capability(&self, capability: Capability) -> Finding {
        match self.capabilities {
            None => Missing("the kernel does not tell (no CapEff in /proc/self/status)".to_owned()),
            Some(set) if capability.is_in(set) => Present("held".to_owned()),
            Some(_) => Missing("this process does not hold it".to_owned()),
        }
    }
}

/// The effective capabilities in the text of /proc/PID/status (proc(5)).
fn effective(status: &str) -> Option<u64> {
    let hex = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(hex.trim(), 16).ok()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// By its name; the caller has added the extension.
#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

fn python_version(python: &Path) -> Option<(u32, u32)> {
    let code = "import sys; print(*sys.version_info[:2])";
    let output = Command::new(python).args(["-I", "-c", code]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_set_is_read_and_not_another() {
        let status = "Name:\tx\nCapPrm:\t0000000000000001\nCapEff:\t0000008000001000\n";
        assert_eq!(effective(status), Some(1 << 39 | 1 << 12));
        assert_eq!(effective("Name:\tx\n"), None);
        assert_eq!(effective("CapEff:\tnot hex\n"), None);
    }

    #[test]
    fn only_files_that_may_be_executed_are_programs() {
        let machine =
            |path: &str| Machine { path: path.into(), folder: "/".into(), capabilities: Some(0) };
        assert_eq!(machine("/bin").program(&["no-such", "sh"]), Some("/bin/sh".into()));
        assert_eq!(machine("").program(&["sh"]), None);
        assert_eq!(machine("bin:.").program(&["sh"]), None);
        assert_eq!(machine("/etc").program(&["passwd"]), None);
        assert!(matches!(machine("").python(11), Missing(_)));
    }
}
