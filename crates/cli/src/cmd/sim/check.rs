//! `windlass sim check`.

use super::args::Check;
use super::load;
use crate::envelope::Document;
use crate::failure::{Failure, plain};
use crate::stdout;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use windlass_base::text_file;
use windlass_scenario::upgrade;

/// Prints the good files with their warnings to standard output, and what is wrong with the others to
/// standard error.
pub(super) fn main(args: &Check) -> Result<(), Failure> {
    let mut problems = Vec::new();
    let mut files = Vec::new();
    for path in &args.files {
        let checked = check(path, args);
        files.push(entry(path, &checked));
        match checked {
            Ok(good) if !args.json => stdout::line(&good.lines(path).join("\n"))?,
            Ok(_) => {}
            Err(message) => problems.push(message),
        }
    }
    if args.json {
        let body = json!({ "ok": problems.is_empty(), "files": files });
        stdout::line(&Document::new("sim.check", body).pretty())?;
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Input(problems.join("\n"))) }
}

/// A file that can be run.
struct Good {
    upgraded: bool,
    warnings: Vec<String>,
}

impl Good {
    fn lines(&self, path: &Path) -> Vec<String> {
        let name = path.display();
        let state = if self.upgraded { "ok, of version 2 now" } else { "ok" };
        let warnings = self.warnings.iter().map(|warning| format!("{name}: warning: {warning}"));
        std::iter::once(format!("{name}: {state}")).chain(warnings).collect()
    }
}

/// A file, or its problems, one per line.
fn check(path: &Path, args: &Check) -> Result<Good, String> {
    let document = load::file(path, &args.set)?;
    let upgraded = args.upgrade && upgrade_file(path)?;
    Ok(Good { upgraded, warnings: load::warnings(&document) })
}

/// A file's entry in the JSON.
fn entry(path: &Path, checked: &Result<Good, String>) -> Value {
    let (upgraded, warnings) =
        checked.as_ref().map_or((false, &[][..]), |good| (good.upgraded, &good.warnings));
    let problems: Vec<&str> =
        checked.as_ref().err().into_iter().flat_map(|text| text.lines()).collect();
    json!({
        "file": path.display().to_string(),
        "ok": checked.is_ok(),
        "upgraded": upgraded,
        "warnings": warnings,
        "problems": problems,
    })
}

/// Rewrites a file of version 1; false for one of version 2.
fn upgrade_file(path: &Path) -> Result<bool, String> {
    let failed = |error: &dyn std::fmt::Display| plain(&format!("{}: {error}", path.display()));
    let text = text_file::read(path).map_err(|error| failed(&error))?;
    let upgraded = upgrade(&text)
        .map_err(|error| failed(&format!("--upgrade rewrites TOML only: {error}")))?;
    let Some(upgraded) = upgraded else { return Ok(false) };
    fs::write(path, upgraded).map_err(|error| failed(&error))?;
    Ok(true)
}
