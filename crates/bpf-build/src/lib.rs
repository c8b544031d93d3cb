//! Compiles BPF programs from the build script of the crate that loads them.
//!
//! The compiled objects are not part of the repository, so the code that runs in a kernel always
//! comes from the source beside its loader. This crate has no dependencies: as a part of
//! windlass-bpf it would make each build script compile libbpf once more.
//!
//! ```no_run
//! // build.rs
//! fn main() -> std::process::ExitCode {
//!     windlass_bpf_build::Programs::new("windlass split-ack", &["bpf/split_ack.bpf.c"])
//!         .headers("bpf")
//!         .headers_of("WINDLASS_BPF")
//!         .compile()
//! }
//! ```

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// BPF programs in C, each compiled into an object of its own.
#[derive(Debug)]
pub struct Programs<'a> {
    tool: &'a str,
    sources: &'a [&'a str],
    headers: Vec<PathBuf>,
    links: Vec<String>,
}

impl<'a> Programs<'a> {
    /// Programs of `tool`, the command that loads them; an error names it. The paths of `sources`
    /// are relative to the crate.
    pub fn new(tool: &'a str, sources: &'a [&'a str]) -> Programs<'a> {
        Programs { tool, sources, headers: Vec::new(), links: vec!["BPF".to_owned()] }
    }

    /// Adds a folder of headers in the crate itself.
    #[must_use]
    pub fn headers(mut self, folder: &str) -> Programs<'a> {
        self.headers.push(folder.into());
        self
    }

    /// Adds the headers of a direct dependency. `links` is the `links` key of its manifest in
    /// capital letters; its build script publishes the folder as `cargo::metadata=include=FOLDER`.
    /// The headers of libbpf (`links = "bpf"`) are always included, so the crate must depend on
    /// libbpf-sys.
    #[must_use]
    pub fn headers_of(mut self, links: &str) -> Programs<'a> {
        self.links.push(links.to_owned());
        self
    }

    /// Compiles each source `NAME.c` into `OUT_DIR/NAME.o` with `$CLANG`, by default `clang`. Returns
    /// what the build script's `main` returns; Cargo shows the error.
    #[must_use]
    pub fn compile(mut self) -> ExitCode {
        match self.compile_all() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                println!("cargo::error={error}");
                ExitCode::FAILURE
            }
        }
    }

    fn compile_all(&mut self) -> Result<(), String> {
        println!("cargo::rerun-if-env-changed=CLANG");
        for links in &self.links {
            self.headers.push(variable(&format!("DEP_{links}_INCLUDE"))?);
        }
        for folder in &self.headers {
            println!("cargo::rerun-if-changed={}", folder.display());
        }
        for source in self.sources {
            println!("cargo::rerun-if-changed={source}");
            self.compile_one(Path::new(source))?;
        }
        Ok(())
    }

    fn compile_one(&self, source: &Path) -> Result<(), String> {
        let name = source.file_name().ok_or("no file name")?;
        let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
        let mut command = Command::new(&clang);
        command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"]);
        for folder in &self.headers {
            command.arg("-I").arg(folder);
        }
        command.arg("-c").arg(source);
        command.arg("-o").arg(variable("OUT_DIR")?.join(name).with_extension("o"));
        let status = command.status().map_err(|error| {
            format!(
                "{}: {error}. clang compiles the kernel's half of `{}`: `make setup` installs it; \
                 cargo build --no-default-features builds Windlass without that command",
                clang.display(),
                self.tool
            )
        })?;
        if status.success() { Ok(()) } else { Err(format!("{}: {status}", clang.display())) }
    }
}

/// A path that Cargo passes to build scripts.
fn variable(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("{name} is not set"))
}
