//! Names: each exists, and stands once.

use crate::scenario::decode::{At, Context, Name, did_you_mean};

/// The position of a name among `names`, or a message with the names that there are.
pub(super) fn look_up(
    name: &At<String>,
    what: &str,
    names: &[String],
    context: &mut Context,
) -> Option<usize> {
    let found = names.iter().position(|other| *other == name.value);
    if found.is_none() {
        let list = if names.len() <= 12 {
            format!(" ({})", names.join(", "))
        } else {
            format!(" ({}, {}, ... {})", names[0], names[1], names[names.len() - 1])
        };
        let hint = did_you_mean(&name.value, names);
        let message = format!("expected {what}{list}, found {:?}{hint}", name.value);
        context.wrong_at(&name.spot, message);
    }
    found
}

/// Tells of every name that stands a second time.
pub(super) fn check_unique(names: &[At<Name>], what: &str, context: &mut Context) {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(&name.value.0) {
            context.wrong_at(&name.spot, format!("there is {what} {:?} already", name.value.0));
        }
    }
}
