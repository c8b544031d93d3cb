//! `windlass new`: a crate with a controller of your own, and all that it builds from.

pub(crate) mod args;
mod sources;

use crate::failure::Failure;
use crate::output_dir::OutputDir;
use crate::{interrupt, stdout};
use args::{Name, New, NewController};
use std::fs;
use std::path::Path;

/// The files of a crate with a controller. `NAME`, `TYPE`, `CRATE` and `SOURCES` are placeholders.
const CONTROLLER: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("controller/Cargo.toml.in")),
    ("README.md", include_str!("controller/README.md.in")),
    (".gitignore", "/target\n/out*\n"),
    ("scenario.toml", include_str!("controller/scenario.toml.in")),
    ("src/lib.rs", include_str!("controller/lib.rs.in")),
    ("src/main.rs", include_str!("controller/main.rs.in")),
    ("tests/simulator.rs", include_str!("controller/simulator.rs.in")),
];

/// The folder of the crate that has Windlass's sources.
const SOURCES: &str = "windlass";

/// Writes the crate.
pub(crate) fn main(command: &New) -> Result<(), Failure> {
    let New::Controller(args) = command;
    interrupt::watch();
    let folder = args.dir.clone().unwrap_or_else(|| args.name.as_str().into());
    let sources = match &args.source {
        Some(source) => sources::check(source)?,
        None => SOURCES.into(),
    };
    let output = OutputDir::create_for(&folder, "")?;
    write_all(output.path(), args, &sources)
        .map_err(|error| Failure::io(folder.display(), &error))?;
    output.finish()?;
    stdout::line(&next_steps(&folder, &args.name))
}

fn write_all(folder: &Path, args: &NewController, sources: &Path) -> std::io::Result<()> {
    for (name, template) in CONTROLLER {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, filled(template, &args.name, sources))?;
    }
    match &args.source {
        // The lock file of the sources: what Windlass was tested with.
        Some(source) => fs::copy(source.join("Cargo.lock"), folder.join("Cargo.lock")).map(|_| ()),
        None => {
            sources::unpack(&folder.join(SOURCES))?;
            fs::copy(folder.join(SOURCES).join("Cargo.lock"), folder.join("Cargo.lock")).map(|_| ())
        }
    }
}

fn filled(template: &str, name: &Name, sources: &Path) -> String {
    template
        .replace("{{NAME}}", name.as_str())
        .replace("{{TYPE}}", &name.type_name())
        .replace("{{CRATE}}", &name.as_str().replace('-', "_"))
        .replace("{{SOURCES}}", &sources.display().to_string())
}

fn next_steps(folder: &Path, name: &Name) -> String {
    let folder = folder.display();
    format!(
        "{folder}: a crate with the congestion controller {name}, in src/lib.rs. Build it, run it and \
         look at the run:\n\n  \
         cargo run --release --manifest-path {folder}/Cargo.toml -- sim run {folder}/scenario.toml \
         --out out\n  \
         windlass-lab plot out",
        name = name.as_str()
    )
}
