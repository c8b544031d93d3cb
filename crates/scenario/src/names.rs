//! Checks that names exist and are unique.

use crate::registry::Context;
use std::collections::BTreeSet;
use windlass_base::suggest::did_you_mean;
use windlass_keys::{Located, Name};

/// The position of a name among `names`. Reports an unknown name with the known ones.
pub(crate) fn look_up(
    name: &Located<String>,
    what: &str,
    names: &[String],
    context: &mut Context,
) -> Option<usize> {
    let found = names.iter().position(|other| *other == name.value);
    if found.is_none() {
        let near = did_you_mean(&name.value, names);
        // A suggestion replaces the list, which would name the suggested one again.
        let list = if near.is_empty() { list_of(names) } else { String::new() };
        let message = format!("expected {what}{list}, found {:?}{near}", name.value);
        context.wrong_at(&name.location, message);
    }
    found
}

/// The names that there are, each once: the first and the last of many.
fn list_of(names: &[String]) -> String {
    let mut seen = BTreeSet::new();
    let names: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| seen.insert(*name)).collect();
    match names[..] {
        [first, second, .., last] if names.len() > 12 => {
            format!(" ({first}, {second}, ... {last})")
        }
        _ => format!(" ({})", names.join(", ")),
    }
}

/// Reports every repeated name.
pub(crate) fn check_unique(names: &[Located<Name>], what: &str, context: &mut Context) {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(&name.value.0) {
            context.wrong_at(&name.location, format!("there is {what} {:?} already", name.value.0));
        }
    }
}
