//! TOML and JSON as one tree whose nodes have positions.

use crate::problem::{Diagnostic, Location, Position};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its position in the input.
    pub position: Position,
    /// The value.
    pub value: Value,
}

/// The values that TOML and JSON have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A value that no key accepts, as text for the message: a TOML date, JSON's null, or a number
    /// that is too large.
    Other(String),
    /// A list.
    List(Vec<Node>),
    /// A table, its keys in the order of the document.
    Table(Vec<KeyValue>),
}

/// A key of a table and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    /// The key.
    pub key: String,
    /// The key's position.
    pub key_position: Position,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// A text that stands in no input.
    pub fn text(text: &str) -> Node {
        Node { position: Position::Unknown, value: Value::Text(text.to_owned()) }
    }

    /// The entries of a table; `None` for any other value.
    pub fn table(&self) -> Option<&[KeyValue]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a table's key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.table()?.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Text(text) | Value::Other(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Bool(truth) => (*truth).into(),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Table(entries) => {
                let entry = |entry: &KeyValue| (entry.key.clone(), entry.node.to_json());
                serde_json::Value::Object(entries.iter().map(entry).collect())
            }
        }
    }

    /// The value as a message shows it.
    pub fn shown(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("{text:?}"),
            Value::Integer(number) => format!("the bare number {number}"),
            Value::Float(number) => format!("the bare number {number}"),
            Value::Bool(truth) => truth.to_string(),
            Value::Other(text) => text.clone(),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
        }
    }
}

/// Parses a TOML document. Do not use the tree if there are diagnostics.
pub(crate) fn parse_toml(text: &str) -> (Node, Vec<Diagnostic>) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let diagnostics = errors.iter().map(|error| Diagnostic {
        location: Location {
            position: Position::Offset(error.span().map_or(0, |span| span.start)),
            key: String::new(),
        },
        message: match (error.message(), error.span()) {
            ("duplicate key", Some(span)) => {
                format!("{} is there already", text.get(span).unwrap_or("the key"))
            }
            (message, _) => message.replace('\n', ", "),
        }
        .into(),
    });
    let node = Node { position: Position::Offset(0), value: table(root.get_ref(), &position_of) };
    (node, diagnostics.collect())
}

/// Parses one TOML value. It and all that it holds have `position`.
pub(crate) fn parse_toml_value(text: &str, position: Position) -> Option<Node> {
    let value = DeValue::parse(text).ok()?;
    Some(from_toml(&value, &|_| position))
}

/// The tree of a JSON value, which has no positions.
pub(crate) fn from_json(json: &serde_json::Value) -> Node {
    use serde_json::Value as Json;
    let value = match json {
        Json::Null => Value::Other("null".into()),
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Value::Integer(integer),
            (None, Some(float)) if number.is_f64() => Value::Float(float),
            _ => Value::Other(number.to_string()),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(from_json).collect()),
        Json::Object(entries) => Value::Table(
            entries
                .iter()
                .map(|(key, value)| KeyValue {
                    key: key.clone(),
                    key_position: Position::Unknown,
                    node: from_json(value),
                })
                .collect(),
        ),
    };
    Node { position: Position::Unknown, value }
}

type PositionOf<'a> = &'a dyn Fn(usize) -> Position;

fn position_of(offset: usize) -> Position {
    Position::Offset(offset)
}

fn from_toml(spanned: &Spanned<DeValue<'_>>, position_of: PositionOf<'_>) -> Node {
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or_else(|_| Value::Other(integer.to_string()), Value::Integer),
        DeValue::Float(float) => {
            float.as_str().parse().map_or_else(|_| Value::Other(float.to_string()), Value::Float)
        }
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(date) => Value::Other(format!("the date {date}")),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| from_toml(item, position_of)).collect())
        }
        DeValue::Table(entries) => table(entries, position_of),
    };
    Node { position: position_of(spanned.span().start), value }
}

fn table(entries: &DeTable<'_>, position_of: PositionOf<'_>) -> Value {
    Value::Table(
        entries
            .iter()
            .map(|(key, value)| KeyValue {
                key: key.get_ref().to_string(),
                key_position: position_of(key.span().start),
                node: from_toml(value, position_of),
            })
            .collect(),
    )
}
