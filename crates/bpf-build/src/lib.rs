//! Compiles BPF programs from the build script of the crate that loads them.
//!
//! Where there is no clang, the object comes from the crate's folder `prebuilt`: `cargo install`
//! takes no compiler of BPF. `scripts/build-bpf` writes these objects, and CI compares them with
//! what clang makes of the source. This crate is small: as a part of windlass-bpf it would make each
//! build script compile libbpf once more.
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

use flate2::Compression;
use flate2::write::GzEncoder;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// BPF programs in C, each compiled into an object of its own.
#[derive(Debug)]
pub struct Programs<'a> {
    tool: &'a str,
    sources: &'a [&'a str],
    /// Folders, and the names by which the objects call them: a build elsewhere gives the same bytes.
    headers: Vec<(PathBuf, String)>,
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
        self.headers.push((folder.into(), folder.to_owned()));
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

    /// Compiles each source `NAME.c` into `OUT_DIR/NAME.o` with `$CLANG`, by default `clang`. Where
    /// that program does not exist, or `$CLANG` is empty, it copies `prebuilt/NAME.o`. `NAME.o.gz`
    /// is the same for the binary, where an object of 840 kB takes 170. Returns what the build
    /// script's `main` returns; Cargo shows the error.
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
            self.headers.push((variable(&format!("DEP_{links}_INCLUDE"))?, links.to_lowercase()));
        }
        for (folder, _) in &self.headers {
            println!("cargo::rerun-if-changed={}", folder.display());
        }
        for source in self.sources {
            println!("cargo::rerun-if-changed={source}");
            let object = self.compile_one(Path::new(source))?;
            pack(&object).map_err(|error| format!("{}: {error}", object.display()))?;
        }
        Ok(())
    }

    /// Returns the object.
    fn compile_one(&self, source: &Path) -> Result<PathBuf, String> {
        let name = Path::new(source.file_name().ok_or("no file name")?).with_extension("o");
        let object = variable("OUT_DIR")?.join(&name);
        let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
        if clang.is_empty() {
            return self.copy_prebuilt(&name, object);
        }
        match self.clang(&clang, source, &object).status() {
            Ok(status) if status.success() => Ok(object),
            Ok(status) => Err(format!("{}: {status}", clang.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => self.copy_prebuilt(&name, object),
            Err(error) => Err(format!("{}: {error}", clang.display())),
        }
    }

    fn clang(&self, clang: &OsStr, source: &Path, object: &Path) -> Command {
        let mut command = Command::new(clang);
        command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror"]);
        // The types and lines in an object name its source files.
        command.arg("-fdebug-compilation-dir=.");
        for (folder, name) in &self.headers {
            command.arg("-I").arg(folder);
            command.arg(format!("-ffile-prefix-map={}={name}", folder.display()));
        }
        command.arg("-c").arg(source).arg("-o").arg(object);
        command
    }

    /// The kernel takes objects of its own byte order only; the prebuilt ones are little-endian.
    fn copy_prebuilt(&self, name: &Path, object: PathBuf) -> Result<PathBuf, String> {
        let advice = format!(
            "clang compiles the kernel's half of `{}`: `make setup` installs it; \
             cargo build --no-default-features builds Windlass without that command",
            self.tool
        );
        if env::var_os("CARGO_CFG_TARGET_ENDIAN").is_none_or(|endian| endian != "little") {
            return Err(format!("no clang, and no prebuilt objects for this byte order. {advice}"));
        }
        let prebuilt = Path::new("prebuilt").join(name);
        println!("cargo::rerun-if-changed={}", prebuilt.display());
        fs::copy(&prebuilt, &object)
            .map(|_| object)
            .map_err(|error| format!("{}: {error}. {advice}", prebuilt.display()))
    }
}

/// Writes `object`.gz.
fn pack(object: &Path) -> io::Result<()> {
    let mut packed = object.as_os_str().to_owned();
    packed.push(".gz");
    let mut encoder = GzEncoder::new(fs::File::create(packed)?, Compression::best());
    encoder.write_all(&fs::read(object)?)?;
    encoder.finish().map(drop)
}

/// A path that Cargo passes to build scripts.
fn variable(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("{name} is not set"))
}
