//! From the tree of a document to typed keys.

use super::definitions::Definitions;
use super::problem::{Diagnostic, Location};
use super::registry::Registry;
use super::tree::{KeyValue, Node, Value};
use serde_json::json;
use std::path::PathBuf;
use windlass_base::suggest::did_you_mean;

/// A type that a key's value can have.
pub(super) trait Decode: Sized {
    /// The expected value as messages name it, such as `a time such as "94ms"`.
    const EXPECTED: &'static str;

    /// The value, or `None` after reporting the problem to `context`.
    fn decode(node: &Node, context: &mut Context) -> Option<Self>;

    /// The value of a key that is absent; `None` if the key must be there.
    fn missing() -> Option<Self> {
        None
    }

    /// Its JSON Schema. Named schemas go into `definitions`.
    fn schema(definitions: &mut Definitions) -> serde_json::Value;
}

/// The keys of a table.
pub(super) trait Keys: Sized {
    /// Each key's name.
    fn names() -> Vec<&'static str>;

    /// The names of the required keys.
    fn required() -> Vec<&'static str>;

    /// Each key's schema.
    fn properties(
        definitions: &mut Definitions,
        properties: &mut serde_json::Map<String, serde_json::Value>,
    );

    /// Their values. Does not check for unknown keys.
    fn read(table: &Node, context: &mut Context) -> Option<Self>;
}

/// The path from the root to the value being read, and the problems found so far.
#[derive(Debug, Default)]
pub(super) struct Context {
    path: Vec<String>,
    pub diagnostics: Vec<Diagnostic>,
    /// Keys of the document itself, which TOML reads as keys of the table above them if they follow
    /// one.
    root_keys: Vec<&'static str>,
    /// The root keys that were found in another table.
    misplaced: Vec<String>,
    /// The kinds that are known beside Windlass's.
    pub registry: Registry,
    /// Where relative paths begin; `None`: in the working directory.
    pub directory: Option<PathBuf>,
}

impl Context {
    /// The context of a document with these keys at its root.
    pub(super) fn of_document(root_keys: Vec<&'static str>, registry: Registry) -> Context {
        Context { root_keys, registry, ..Context::default() }
    }

    /// All problems. A root key that stands in a table is one problem, not also a missing key.
    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let Context { mut diagnostics, misplaced, .. } = self;
        diagnostics.retain(|diagnostic| {
            !(misplaced.contains(&diagnostic.key) && diagnostic.message.starts_with("missing"))
        });
        diagnostics
    }

    /// Reports a problem of the value at the present path.
    pub(super) fn wrong(&mut self, location: Location, message: String) {
        let key = self.path.join(".");
        self.diagnostics.push(Diagnostic { location, key, message });
    }

    /// Reports that the value at the present path is not a `T`.
    pub(super) fn unexpected<T: Decode, U>(&mut self, node: &Node) -> Option<U> {
        self.wrong(node.location, format!("expected {}, found {}", T::EXPECTED, node.shown()));
        None
    }

    /// Reports a problem of a value that was read before.
    pub(super) fn wrong_at(&mut self, spot: &Spot, message: String) {
        self.diagnostics.push(Diagnostic {
            location: spot.location,
            key: spot.key.clone(),
            message,
        });
    }

    /// Calls `body` one step further down the path.
    pub(super) fn within<T>(
        &mut self,
        step: impl Into<String>,
        body: impl FnOnce(&mut Context) -> T,
    ) -> T {
        self.path.push(step.into());
        let result = body(self);
        self.path.pop();
        result
    }

    /// Reads the value of `key` in `table`.
    pub(super) fn key<T: Decode>(&mut self, table: &Node, key: &str) -> Option<T> {
        self.within(key, |context| match table.get(key) {
            Some(node) => T::decode(node, context),
            None => T::missing().or_else(|| {
                context.wrong(table.location, format!("missing: expected {}", T::EXPECTED));
                None
            }),
        })
    }

    /// Reads all keys of a table. `also` is a key that does not belong to `T`.
    pub(super) fn table<T: Keys>(&mut self, node: &Node, also: Option<&str>) -> Option<T> {
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
        } else {
            format!("unknown key{}", did_you_mean(key, names))
        };
        self.within(key, |context| context.wrong(entry.key_location, message));
    }

    /// The present path, for later messages.
    pub(super) fn spot(&self, location: Location) -> Spot {
        Spot { location, key: self.path.join(".") }
    }

    /// The index of the word among `names`; reports a problem otherwise.
    pub(super) fn word(&mut self, node: &Node, what: &str, names: &[&str]) -> Option<usize> {
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
        let message = if near.is_empty() {
            let list = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            format!("expected {what} ({list}), found {}", node.shown())
        } else {
            format!("expected {what}, found {}{near}", node.shown())
        };
        self.wrong(node.location, message);
    }
}

/// The location of a value, for checks that need several values.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub location: Location,
    pub key: String,
}

/// A value with its spot.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub value: T,
    pub spot: Spot,
}

impl<T: Decode> Decode for At<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let spot = context.spot(node.location);
        T::decode(node, context).map(|value| At { value, spot })
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        T::schema(definitions)
    }
}

impl<T: Decode> Decode for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        T::decode(node, context).map(Some)
    }

    fn missing() -> Option<Self> {
        Some(None)
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        T::schema(definitions)
    }
}

impl<T: Decode> Decode for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let Value::List(items) = &node.value else {
            return context.unexpected::<Self, _>(node);
        };
        // Read every item even if one is wrong, to report all problems at once.
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| context.within(index.to_string(), |c| T::decode(item, c)))
            .collect();
        read.into_iter().collect()
    }

    fn missing() -> Option<Self> {
        Some(Vec::new())
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "type": "array", "items": T::schema(definitions) })
    }
}

impl Decode for String {
    const EXPECTED: &'static str = "text in quotes";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

/// A name that is valid in results and file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(pub String);

impl Decode for Name {
    const EXPECTED: &'static str =
        "a name of letters, digits and . _ - + that begins with a letter or digit";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        match &node.value {
            Value::Text(text)
                if (1..=100).contains(&text.len())
                    && text.chars().all(allowed)
                    && text.starts_with(|c: char| c.is_ascii_alphanumeric()) =>
            {
                Some(Name(text.clone()))
            }
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$" })
    }
}

impl Decode for bool {
    const EXPECTED: &'static str = "true or false";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value {
            Value::Bool(truth) => Some(truth),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "boolean" })
    }
}

macro_rules! whole_number {
    ($type:ty, $expected:literal) => {
        impl Decode for $type {
            const EXPECTED: &'static str = $expected;

            fn decode(node: &Node, context: &mut Context) -> Option<Self> {
                match node.value {
                    Value::Integer(number) => <$type>::try_from(number).ok(),
                    _ => None,
                }
                .or_else(|| context.unexpected::<Self, _>(node))
            }

            fn schema(_: &mut Definitions) -> serde_json::Value {
                // TOML's integers end at 2^63 - 1.
                let maximum = i64::try_from(<$type>::MAX).unwrap_or(i64::MAX);
                json!({ "type": "integer", "minimum": 0, "maximum": maximum })
            }
        }
    };
}

whole_number!(u16, "a whole number from 0 to 65535");
whole_number!(u32, "a whole number from 0 to 4294967295");
whole_number!(u64, "a whole number, not negative");

impl Decode for f64 {
    const EXPECTED: &'static str = "a finite number";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) if number.is_finite() => Some(number),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "number" })
    }
}

/// A table with any content, which the simulator does not read.
#[derive(Clone, Debug)]
pub(super) struct FreeTable;

impl Decode for FreeTable {
    const EXPECTED: &'static str = "a table";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        if node.table().is_some() { Some(FreeTable) } else { context.unexpected::<Self, _>(node) }
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "object" })
    }
}

/// The kind that a [`choice!`] names.
pub(super) fn kind_of<T: Decode>(
    node: &Node,
    context: &mut Context,
    what: &str,
    kinds: &[&'static str],
) -> Option<&'static str> {
    match &node.value {
        Value::Text(_) => context.word(node, what, kinds),
        Value::Table(_) => match node.get("kind") {
            Some(kind) => context.within("kind", |context| context.word(kind, what, kinds)),
            None => {
                let list = kinds.join(", ");
                let message = format!("missing: expected the kind of {what} ({list})");
                context.within("kind", |context| context.wrong(node.location, message));
                None
            }
        },
        _ => context.unexpected::<T, _>(node),
    }
    .map(|index| kinds[index])
}

/// A table whose keys are names that the user chooses.
#[derive(Clone, Debug)]
pub(super) struct Named<T>(pub Vec<(String, At<T>)>);

impl<T: Decode> Decode for Named<T> {
    const EXPECTED: &'static str = "a table";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let Some(entries) = node.table() else {
            return context.unexpected::<Self, _>(node);
        };
        let read: Vec<Option<(String, At<T>)>> = entries
            .iter()
            .map(|entry| {
                let value = context.within(&entry.key, |c| At::<T>::decode(&entry.node, c));
                value.map(|value| (entry.key.clone(), value))
            })
            .collect();
        read.into_iter().collect::<Option<Vec<_>>>().map(Named)
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": T::schema(definitions) })
    }
}
