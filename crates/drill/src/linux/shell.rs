//! Commands of a script.

use crate::subject::Unsupported;
use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use windlass_namespace::Namespace;

/// Where Debian keeps `tc`, `ethtool` and `sysctl`, which is not in everyone's PATH.
const FURTHER_FOLDERS: &str = "/usr/sbin:/sbin";

/// The shell's exit status where a program is missing.
const MISSING: i32 = 127;

/// Runs commands by the shell, in a namespace and a folder; returns their exit status.
///
/// # Errors
///
/// There is no shell, or one of the programs is missing: the reason has the shell's complaint.
pub(super) fn run(command: &str, namespace: &Namespace, folder: &Path) -> Result<i32, Unsupported> {
    let failed = |why: String| Unsupported(format!("`{command}`: {why}"));
    let output = namespace.within(|| shell(command, folder).output()).and_then(|output| output);
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.code() {
        Some(status) if status != MISSING => Ok(status),
        _ => Err(failed(reason(&output))),
    }
}

fn shell(command: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(folder).stdin(Stdio::null());
    shell.env("PATH", path());
    // As packetdrill gives it: scripts name a file by the process that runs them.
    shell.env("PACKETDRILL_PID", std::process::id().to_string());
    shell
}

fn path() -> OsString {
    let mut path = env::var_os("PATH").unwrap_or_default();
    if !path.is_empty() {
        path.push(":");
    }
    path.push(FURTHER_FOLDERS);
    path
}

fn reason(output: &Output) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    match complaint.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{}, {}", output.status, line.trim()),
        None => output.status.to_string(),
    }
}
