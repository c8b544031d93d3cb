//! `windlass new`: a crate with a controller, queue or middlebox of your own, and all that it builds
//! from.

pub(crate) mod args;
mod sources;
mod templates;

use crate::failure::Failure;
use crate::output_dir::OutputDir;
use crate::{interrupt, stdout};
use args::{New, NewCrate};
use std::fs;
use std::path::Path;
use templates::{COMMON, CONTROLLER, Kind, MIDDLEBOX, QUEUE};

/// The folder of the crate that has Windlass's sources.
const SOURCES: &str = "windlass";

/// Writes the crate.
pub(crate) fn main(command: &New) -> Result<(), Failure> {
    let (kind, args) = match command {
        New::Controller(args) => (&CONTROLLER, args),
        New::Queue(args) => (&QUEUE, args),
        New::Middlebox(args) => (&MIDDLEBOX, args),
    };
    check_name(kind, args)?;
    interrupt::watch();
    let folder = args.dir.clone().unwrap_or_else(|| args.name.as_str().into());
    let sources = match &args.source {
        Some(source) => sources::check(source)?,
        None => SOURCES.into(),
    };
    let output = OutputDir::create_for(&folder, "")?;
    write_all(output.path(), kind, args, &sources)
        .map_err(|error| Failure::io(folder.display(), &error))?;
    output.finish()?;
    stdout::line(&next_steps(&folder, kind, args.name.as_str()))
}

/// Refuses a name that Windlass has itself.
fn check_name(kind: &Kind, args: &NewCrate) -> Result<(), Failure> {
    let name = args.name.as_str();
    let known = match kind.method {
        "controller" => windlass_tcp::cc::NAMES.contains(&name),
        "queue" => windlass_scenario::Registry::default().read_queue("queue", &name.into()).is_ok(),
        _ => name == "ecn-proxy",
    };
    if known {
        let what = kind.what;
        return Err(Failure::Input(format!("{name}: Windlass has a {what} of that name already")));
    }
    Ok(())
}

fn write_all(folder: &Path, kind: &Kind, args: &NewCrate, sources: &Path) -> std::io::Result<()> {
    for (name, template) in COMMON.iter().chain(&kind.files) {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, filled(template, kind, args, sources))?;
    }
    let origin = match &args.source {
        Some(source) => source.clone(),
        None => {
            sources::unpack(&folder.join(SOURCES))?;
            folder.join(SOURCES)
        }
    };
    // The versions that Windlass was tested with.
    fs::copy(origin.join("Cargo.lock"), folder.join("Cargo.lock")).map(|_| ())
}

fn filled(template: &str, kind: &Kind, args: &NewCrate, sources: &Path) -> String {
    let name = args.name.as_str();
    template
        .replace("{{USES}}", kind.uses)
        .replace("{{WHAT}}", kind.what)
        .replace("{{METHOD}}", kind.method)
        .replace("{{NAME}}", name)
        .replace("{{TYPE}}", &args.name.type_name())
        .replace("{{CRATE}}", &name.replace('-', "_"))
        .replace("{{SOURCES}}", &sources.display().to_string())
}

fn next_steps(folder: &Path, kind: &Kind, name: &str) -> String {
    let (folder, what) = (folder.display(), kind.what);
    format!(
        "{folder}: a crate with the {what} {name}, in src/lib.rs. Build it, run it and look at the \
         run:\n\n  \
         cargo run --release --manifest-path {folder}/Cargo.toml -- sim run {folder}/scenario.toml \
         --out out\n  \
         windlass-lab plot out"
    )
}
