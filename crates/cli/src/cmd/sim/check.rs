//! `windlass sim check`.

use super::args::Check;
use super::load;
use crate::failure::{Failure, plain};
use crate::stdout;
use std::fs;
use std::path::Path;
use windlass_base::text_file;
use windlass_scenario::upgrade;

/// Prints the good files with their warnings to standard output, and what is wrong with the others to
/// standard error.
pub(super) fn main(args: &Check) -> Result<(), Failure> {
    let mut problems = Vec::new();
    for path in &args.files {
        match check(path, args) {
            Ok(lines) => stdout::line(&lines.join("\n"))?,
            Err(message) => problems.push(message),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Input(problems.join("\n"))) }
}

/// Lines about a good file, or its problems.
fn check(path: &Path, args: &Check) -> Result<Vec<String>, String> {
    let document = load::file(path, &args.set)?;
    let name = path.display();
    let upgraded = args.upgrade && upgrade_file(path)?;
    let state = if upgraded { "ok, of version 2 now" } else { "ok" };
    let warnings = load::warnings(&document);
    let warnings = warnings.iter().map(|warning| format!("{name}: warning: {warning}"));
    Ok(std::iter::once(format!("{name}: {state}")).chain(warnings).collect())
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
