//! Compiles the BPF program. The object is no part of the repository: what runs in a kernel should
//! come from the source beside it.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const SOURCES: [&str; 3] = ["src/bpf/new_ecn.bpf.c", "src/bpf/new_ecn.h", "src/bpf/kernel.h"];

fn main() -> ExitCode {
    println!("cargo:rerun-if-env-changed=CLANG");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
    }
    match compile() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={error}");
            ExitCode::FAILURE
        }
    }
}

fn compile() -> Result<(), String> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).ok_or(format!("no {name}"));
    let object = folder("OUT_DIR")?.join("new_ecn.bpf.o");
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let status = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-I"])
        .arg(folder("DEP_BPF_INCLUDE")?)
        .args(["-c", SOURCES[0], "-o"])
        .arg(&object)
        .status()
        .map_err(|error| {
            format!(
                "{}: {error}. clang compiles the kernel's half of `windlass cc`: `make setup` \
                 installs it; --no-default-features builds windlass without that command",
                clang.display()
            )
        })?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", clang.display())) }
}
