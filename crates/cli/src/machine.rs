//! This command under another kernel than the one that runs, in an emulated machine.

use crate::failure::{Failure, error};
use crate::stdout;
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The script that runs a command in the emulated machine, from the root of a checkout.
const MACHINE: &str = "scripts/with-kernel";
/// Real time that the machine may take, in seconds. A suite takes one or two minutes.
const LIMIT_S: &str = "3600";
/// Runs in the machine, whose console is one stream: $0 is the folder for both streams, $1 the modules, the rest is the
/// command. Modules and the program are read first, since the machine's clock goes on while it waits for this one.
const INSIDE: &str = r#"
for module in $1; do modprobe "$module" 2>/dev/null; done
shift
cat "$1" $(ldd "$1" | grep -o '/[^ ]*') >/dev/null
exec "$@" >"$0/stdout" 2>"$0/stderr"
"#;

/// A run of this command in the machine.
pub(crate) struct Machine<'a> {
    /// The option that asks for it, for messages.
    pub named: &'a str,
    /// The kernel, as `7.3`.
    pub version: &'a str,
    /// The modules that the command needs; one that the kernel does not have is left out.
    pub modules: &'a str,
    /// The folders into which the command writes.
    pub written: BTreeSet<PathBuf>,
    /// The arguments of this command there.
    pub arguments: Vec<OsString>,
}

impl Machine<'_> {
    /// Runs the command and returns its exit status.
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let named = self.named;
        let script = script().ok_or_else(|| {
            Failure::Input(format!(
                "{named}: the emulated machine is {MACHINE} of a checkout of Windlass: run the command there"
            ))
        })?;
        let program = env::current_exe().map_err(|error| Failure::io(named, &error))?;
        let streams = Streams::create()?;
        let mut machine = Command::new(script);
        machine.args(["--kernel", self.version, "--virtual-time", "--timeout", LIMIT_S]);
        for folder in self.written.iter().chain([&streams.0]) {
            machine.arg("--keep").arg(folder);
        }
        machine.args(["--", "sh", "-c", INSIDE]).arg(&streams.0).arg(self.modules);
        machine.arg(program).args(&self.arguments);
        // Its console has nothing but the reasons for which it fails.
        let done =
            machine.stdout(Stdio::piped()).spawn().and_then(|child| child.wait_with_output());
        let done = done.map_err(|error| Failure::io(named, &error))?;
        streams.print(&done.stdout)?;
        match done.status.code() {
            Some(code @ 0..=2) => Ok(ExitCode::from(code as u8)),
            _ => Err(Failure::Work(format!("{named}: the emulated machine failed"))),
        }
    }
}

/// The folders of these files, each with the option that names it.
pub(crate) fn folders<'a>(
    files: impl Iterator<Item = (&'static str, &'a Path)>,
) -> Result<BTreeSet<PathBuf>, Failure> {
    let folder = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        fs::canonicalize(parent.unwrap_or(Path::new(".")))
    };
    let folders = files.map(|(option, path)| {
        folder(path)
            .map_err(|error| Failure::Input(format!("{option} {}: {error}", path.display())))
    });
    folders.collect()
}

/// The script of the checkout in which the user is, or from which this command was built.
fn script() -> Option<PathBuf> {
    let program = env::current_exe().ok();
    let places = [env::current_dir().ok(), program];
    let mut folders = places.iter().flatten().flat_map(|place| place.ancestors());
    folders.find_map(|folder| Some(folder.join(MACHINE)).filter(|script| script.is_file()))
}

/// A folder for the two streams of the command in the machine. Not in /tmp, of which the machine has its own.
struct Streams(PathBuf);

impl Streams {
    fn create() -> Result<Streams, Failure> {
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = cache.or_else(home).unwrap_or_else(|| "/var/cache".into());
        let folder = cache.join(format!("windlass/machine-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| Failure::io(folder.display(), &error))?;
        Ok(Streams(folder))
    }

    /// Prints both; if there are none, the console.
    fn print(&self, console: &[u8]) -> Result<(), Failure> {
        let read = |name: &str| fs::read_to_string(self.0.join(name));
        let Ok(errors) = read("stderr") else {
            error(String::from_utf8_lossy(console).trim_end());
            return Ok(());
        };
        eprint!("{errors}");
        match read("stdout").unwrap_or_default().trim_end() {
            "" => Ok(()),
            text => stdout::line(text),
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
