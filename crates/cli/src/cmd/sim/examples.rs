//! `windlass sim examples`: the scenarios that the command carries.

use super::args::Examples;
use super::carried::{Example, SETS, chosen};
use crate::envelope::Document;
use crate::failure::{Failure, plain};
use crate::output_file::OutputFile;
use crate::stdout;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Lists scenarios, prints one, or writes them.
pub(super) fn main(args: &Examples) -> Result<(), Failure> {
    let chosen = chosen(&args.names);
    match (&args.write, &args.names[..], &chosen[..]) {
        (Some(folder), ..) => write(folder, &chosen, args.force),
        (None, [name], [one]) if !args.json && one.name == *name => {
            stdout::line(one.text.trim_end())
        }
        _ if args.json => stdout::line(&Document::new("sim.examples", list(&chosen)).pretty()),
        _ => stdout::line(&table(&chosen)),
    }
}

/// A line for each, below that of its set.
fn table(chosen: &[Example]) -> String {
    let width = chosen.iter().map(|one| one.name.len()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for (set, about) in SETS {
        let of_set = || chosen.iter().filter(|one| one.set() == set);
        if of_set().next().is_some() {
            lines.push(format!("{set}: {about}"));
        }
        lines.extend(of_set().map(|one| format!("  {:width$}  {}", one.name, one.description())));
    }
    if lines.is_empty() {
        return "this build of windlass carries no scenarios".to_owned();
    }
    lines.join("\n")
}

fn list(chosen: &[Example]) -> Value {
    let entry = |one: &Example| {
        json!({
            "name": one.name,
            "set": one.set(),
            "description": one.description(),
            "file": one.file,
            "data": one.data().map(|(path, _)| path).collect::<Vec<_>>(),
        })
    };
    json!({ "scenarios": chosen.iter().map(entry).collect::<Vec<_>>() })
}

/// Writes the scenarios and the files that they read, with their folders. Before it writes any, it refuses
/// to change a file unless `force`; one that has the same text already stays.
fn write(folder: &Path, chosen: &[Example], force: bool) -> Result<(), Failure> {
    let mut files: Vec<(&str, &str)> = chosen.iter().flat_map(|one| one.data()).collect();
    files.extend(chosen.iter().map(|one| (one.file, one.text)));
    files.sort_unstable();
    files.dedup();
    files.retain(|(path, text)| {
        fs::read(folder.join(path)).ok().as_deref() != Some(text.as_bytes())
    });
    let taken = files.iter().map(|(path, _)| folder.join(path)).find(|path| path.exists());
    if let Some(taken) = taken.filter(|_| !force) {
        let message = "exists already, with another text; --force replaces it";
        return Err(Failure::Input(format!("{}: {message}", taken.display())));
    }
    for (path, text) in &files {
        let path = folder.join(path);
        write_file(&path, text).map_err(|error| {
            Failure::Input(plain(&format!("{}: cannot be written: {error}", path.display())))
        })?;
    }
    let scenario = |one: &Example| folder.join(one.file).display().to_string();
    stdout::line(&chosen.iter().map(scenario).collect::<Vec<_>>().join("\n"))
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let mut file = OutputFile::replace(path)?;
    file.write_all(text.as_bytes())?;
    file.finish()
}
