// Included by the build scripts of the crates with BPF programs: no crate, since as a dependency of
// build scripts it would take libbpf's own build along. The objects are no part of the repository:
// what runs in a kernel should come from the source beside it.

/// Compiles the programs into OUT_DIR, with headers from these folders; `tool` is whose they are.
fn compile_programs(programs: &[&str], headers: &[&str], tool: &str) -> std::process::ExitCode {
    println!("cargo:rerun-if-env-changed=CLANG");
    for path in headers.iter().chain(programs) {
        println!("cargo:rerun-if-changed={path}");
    }
    for program in programs {
        if let Err(error) = compile_program(std::path::Path::new(program), headers, tool) {
            println!("cargo::error={error}");
            return std::process::ExitCode::FAILURE;
        }
    }
    std::process::ExitCode::SUCCESS
}

fn compile_program(source: &std::path::Path, headers: &[&str], tool: &str) -> Result<(), String> {
    let folder = |name: &str| {
        std::env::var_os(name).map(std::path::PathBuf::from).ok_or(format!("no {name}"))
    };
    let name = source.file_name().ok_or("no file name")?;
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let status = std::process::Command::new(&clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"])
        .args(headers.iter().flat_map(|folder| ["-I", *folder]))
        .arg("-I")
        .arg(folder("DEP_BPF_INCLUDE")?)
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(folder("OUT_DIR")?.join(name).with_extension("o"))
        .status()
        .map_err(|error| {
            format!(
                "{}: {error}. clang compiles the kernel's half of `{tool}`: `make setup` installs \
                 it; cargo build --no-default-features goes without that command",
                clang.display()
            )
        })?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", clang.display())) }
}
