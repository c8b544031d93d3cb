//! From the tree of a document to typed keys: the traits that the declarations of `macros`
//! implement, and the context in which they report problems.

use crate::definitions::Definitions;
use crate::problem::{Diagnostic, Location, Message, Position};
use crate::tree::{KeyValue, Node, Value};
use std::path::{Path, PathBuf};
use windlass_base::suggest::did_you_mean;

/// A type that a key's value can have.
pub trait Decode<R>: Sized {
    /// The expected value as messages name it, such as `a time such as "94ms"`.
    const EXPECTED: &'static str;

    /// The value, or `None` after reporting the problem to `context`.
    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self>;

    /// The value of a key that is absent; `None` if the key must be there.
    fn missing() -> Option<Self> {
        None
    }

    /// Its JSON Schema. Named schemas go into `definitions`.
    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value;
}

/// The keys of a table.
pub trait Keys<R>: Sized {
    /// Each key's name.
    fn names() -> Vec<&'static str>;

    /// The names of the required keys.
    fn required() -> Vec<&'static str>;

    /// Each key's schema.
    fn properties(
        definitions: &mut Definitions<R>,
        properties: &mut serde_json::Map<String, serde_json::Value>,
    );

    /// Their values. Does not check for unknown keys.
    fn read(table: &Node, context: &mut Context<R>) -> Option<Self>;
}

/// A choice among kinds, as [`choice!`](crate::choice) declares it.
pub trait Choice {
    /// The names of the kinds.
    const KINDS: &'static [&'static str];

    /// The noun for the choice in messages, such as "an application".
    const NOUN: &'static str;

    /// The name of the kind.
    fn kind(&self) -> &'static str;
}

/// The path from the root to the value being read, and the problems found so far.
#[derive(Debug)]
pub struct Context<R = ()> {
    path: Vec<String>,
    diagnostics: Vec<Diagnostic>,
    /// Keys of the document itself, which TOML reads as keys of the table above them if they follow
    /// one.
    root_keys: Vec<&'static str>,
    /// The root keys that were found in another table.
    misplaced: Vec<String>,
    registry: R,
    directory: PathBuf,
}

impl<R> Context<R> {
    /// The context of a document that may name the kinds of `registry`. Its relative paths begin in
    /// `directory`; an empty one is the working directory.
    pub fn new(registry: R, directory: PathBuf) -> Context<R> {
        let (path, diagnostics, root_keys, misplaced) = (vec![], vec![], vec![], vec![]);
        Context { path, diagnostics, root_keys, misplaced, registry, directory }
    }

    /// The kinds that the document may name.
    pub fn registry(&self) -> &R {
        &self.registry
    }

    /// Where relative paths begin.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// True if a problem was found.
    pub(crate) fn has_problems(&self) -> bool {
        !self.diagnostics.is_empty()
    }

    /// Reads the keys of a whole document. TOML reads those that follow a table as keys of that table;
    /// their message says so.
    pub fn root<T: Keys<R> + Decode<R>>(&mut self, node: &Node) -> Option<T> {
        self.root_keys = T::names();
        T::decode(node, self)
    }

    /// All problems. A root key that stands in a table is one problem, not also a missing key.
    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let Context { mut diagnostics, misplaced, .. } = self;
        diagnostics.retain(|diagnostic| {
            let message = diagnostic.message.to_string();
            !(misplaced.contains(&diagnostic.location.key) && message.starts_with("missing"))
        });
        diagnostics
    }

    /// Reports a problem of the value at the present path.
    pub fn wrong(&mut self, position: Position, message: impl Into<Message>) {
        let (location, message) = (self.location(position), message.into());
        self.diagnostics.push(Diagnostic { location, message });
    }

    /// Reports that the value at the present path is not a `T`.
    pub fn unexpected<T: Decode<R>, U>(&mut self, node: &Node) -> Option<U> {
        let (expected, found) = (T::EXPECTED.to_owned(), node.shown());
        self.wrong(node.position, Message::Unexpected { expected, found });
        None
    }

    /// Reports a problem of a value that was read before.
    pub fn wrong_at(&mut self, location: &Location, message: String) {
        let (location, message) = (location.clone(), message.into());
        self.diagnostics.push(Diagnostic { location, message });
    }

    /// Calls `body` one step further down the path.
    pub fn within<T>(
        &mut self,
        step: impl Into<String>,
        body: impl FnOnce(&mut Context<R>) -> T,
    ) -> T {
        self.path.push(step.into());
        let result = body(self);
        self.path.pop();
        result
    }

    /// Reads the value of `key` in `table`.
    pub fn key<T: Decode<R>>(&mut self, table: &Node, key: &str) -> Option<T> {
        self.within(key, |context| match table.get(key) {
            Some(node) => T::decode(node, context),
            None => T::missing().or_else(|| {
                let (what, expected) = ("missing".to_owned(), T::EXPECTED.to_owned());
                context.wrong(table.position, Message::Wrong { what, expected });
                None
            }),
        })
    }

    /// Reads all keys of a table. `also` is a key that does not belong to `T`.
    pub fn table<T: Keys<R>>(&mut self, node: &Node, also: Option<&str>) -> Option<T> {
        let diagnostics = self.diagnostics.len();
        let names = T::names();
        for entry in node.table().unwrap_or_default() {
            if Some(entry.key.as_str()) != also && !names.contains(&entry.key.as_str()) {
                self.unknown_key(entry, &names);
            }
        }
        T::read(node, self).filter(|_| self.diagnostics.len() == diagnostics)
    }

    fn unknown_key(&mut self, entry: &KeyValue, names: &[&str]) {
        let key = entry.key.as_str();
        let message = if !self.path.is_empty() && self.root_keys.contains(&key) {
            self.misplaced.push(key.to_owned());
            let table = self.path.join(".");
            format!(
                "`{key}` is not a key of `{table}`: move it above the first [table] of the file"
            )
            .into()
        } else {
            Message::Other { what: "unknown key".to_owned(), hint: did_you_mean(key, names) }
        };
        self.within(key, |context| context.wrong(entry.key_position, message));
    }

    /// The location of the value at the present path, for later messages.
    pub fn location(&self, position: Position) -> Location {
        Location { position, key: self.path.join(".") }
    }

    /// The index of the word among `names`; reports a problem otherwise. `what` is the noun for them in
    /// messages.
    pub fn word(&mut self, node: &Node, what: &str, names: &[&str]) -> Option<usize> {
        let found = match &node.value {
            Value::Text(text) => names.iter().position(|name| name == text),
            _ => None,
        };
        if found.is_none() {
            self.unknown_word(node, what, names);
        }
        found
    }

    fn unknown_word(&mut self, node: &Node, what: &str, names: &[&str]) {
        let near = match &node.value {
            Value::Text(text) => did_you_mean(text, names),
            _ => String::new(),
        };
        let expected = if near.is_empty() {
            let list = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            format!("{what} ({list})")
        } else {
            what.to_owned()
        };
        let found = format!("{}{near}", node.shown());
        self.wrong(node.position, Message::Unexpected { expected, found });
    }
}

/// The one of `kinds` that a node names, alone or as `kind` of a table. `what` is the noun for them in
/// messages. `None` after reporting the problem.
pub fn kind_of<T: Decode<R>, R>(
    node: &Node,
    context: &mut Context<R>,
    what: &str,
    kinds: &[&'static str],
) -> Option<&'static str> {
    match &node.value {
        Value::Text(_) => context.word(node, what, kinds),
        Value::Table(_) => match node.get("kind") {
            Some(kind) => context.within("kind", |context| context.word(kind, what, kinds)),
            None => {
                let expected = format!("the kind of {what} ({})", kinds.join(", "));
                let message = Message::Wrong { what: "missing".to_owned(), expected };
                context.within("kind", |context| context.wrong(node.position, message));
                None
            }
        },
        _ => context.unexpected::<T, _>(node),
    }
    .map(|index| kinds[index])
}
