//! Compiles the tc programs. The object is no part of the repository: what runs in a kernel should
//! come from the source beside it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The proxy, and what the tests mark its path's packets with.
const PROGRAMS: [&str; 2] = ["bpf/ecn_proxy.bpf.c", "tests/datapath/mark.bpf.c"];
const HEADERS: &str = "bpf";
/// The state machine, the same text that the simulator runs.
const MACHINE: &str = "../ecn-machine/c";

fn main() -> ExitCode {
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-changed={HEADERS}");
    println!("cargo:rerun-if-changed={MACHINE}");
    for program in PROGRAMS {
        println!("cargo:rerun-if-changed={program}");
        if let Err(error) = compile(Path::new(program)) {
            println!("cargo::error={error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn compile(source: &Path) -> Result<(), String> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).ok_or(format!("no {name}"));
    let name = source.file_name().ok_or("no file name")?;
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let status = Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"])
        .args(["-I", HEADERS, "-I", MACHINE, "-I"])
        .arg(folder("DEP_BPF_INCLUDE")?)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(folder("OUT_DIR")?.join(name).with_extension("o"))
        .status()
        .map_err(|error| {
            format!(
                "{}: {error}. clang compiles the kernel's half of `windlass ecn-proxy`: `make \
                 setup` installs it; cargo build --no-default-features goes without that command",
                clang.display()
            )
        })?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", clang.display())) }
}
