//! The scenarios that the command carries.

use windlass_base::suggest::did_you_mean;

/// Scenarios and the files that they read: a path below `experiments`, and the text. The build script
/// lists them, in the order of their paths.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// The sets, in the order of the list, and what each is.
pub(super) const SETS: [(&str, &str); 4] = [
    ("ready", "networks as people use them"),
    ("examples", "what scenario files can say"),
    ("tcpeval", "the TCP evaluation suite, draft-irtf-iccrg-tcpeval-01"),
    ("c4", "the tests of C4, draft-huitema-ccwg-c4-test, for any controller"),
];

/// A scenario that the command carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example {
    /// Its set and its name in it, `c4/simple-20`.
    pub name: &'static str,
    /// Its path below `experiments`.
    pub file: &'static str,
    pub text: &'static str,
}

impl Example {
    pub(super) fn set(self) -> &'static str {
        self.name.split('/').next().unwrap_or_default()
    }

    pub(super) fn description(self) -> &'static str {
        let line = |line: &'static str| line.strip_prefix("description = \"")?.strip_suffix('"');
        self.text.lines().find_map(line).unwrap_or_default()
    }

    /// The files that it reads. Scenarios name them relative to their own folder.
    pub(super) fn data(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let read = move |&(path, _): &(&str, _)| self.text.contains(&format!("\"../{path}\""));
        FILES.iter().copied().filter(read)
    }
}

fn all() -> impl Iterator<Item = Example> {
    let of =
        |set: &'static str| move |&(path, _): &&(&str, &str)| path.split('/').next() == Some(set);
    let example = |&(file, text): &(&'static str, &'static str)| {
        Some(Example { name: file.strip_suffix(".toml")?, file, text })
    };
    SETS.into_iter().flat_map(move |(set, _)| FILES.iter().filter(of(set)).filter_map(example))
}

/// Those of the named sets and scenarios, or all, each once.
pub(super) fn chosen(names: &[String]) -> Vec<Example> {
    let named = |one: &Example| names.iter().any(|name| name == one.name || name == one.set());
    all().filter(|one| names.is_empty() || named(one)).collect()
}

/// The names of sets and scenarios.
pub(super) fn names() -> Vec<&'static str> {
    SETS.into_iter().map(|(set, _)| set).chain(all().map(|one| one.name)).collect()
}

/// The name of a set or of a scenario.
///
/// # Errors
///
/// There is none of that name.
pub(super) fn parse_name(text: &str) -> Result<String, String> {
    let names = names();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    let near = did_you_mean(text, names);
    Err(format!("no set or scenario of `windlass sim examples` has this name{near}"))
}
