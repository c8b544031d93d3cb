//! Values that hold others: with their location, optional, in a list, in a table.

use crate::decode::{Context, Decode};
use crate::definitions::Definitions;
use crate::problem::Location;
use crate::tree::{Node, Value};
use serde_json::json;

/// A value with its location, for problems that show only after the reading.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its location.
    pub location: Location,
}

impl<R, T: Decode<R>> Decode<R> for Located<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let location = context.location(node.position);
        T::decode(node, context).map(|value| Located { value, location })
    }

    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value {
        T::schema(definitions)
    }
}

impl<R, T: Decode<R>> Decode<R> for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        T::decode(node, context).map(Some)
    }

    fn missing() -> Option<Self> {
        Some(None)
    }

    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value {
        T::schema(definitions)
    }
}

impl<R, T: Decode<R>> Decode<R> for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
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

    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "array", "items": T::schema(definitions) })
    }
}

/// A table whose keys are names that the user chooses.
#[derive(Clone, Debug)]
pub struct Named<T>(pub Vec<(String, Located<T>)>);

impl<R, T: Decode<R>> Decode<R> for Named<T> {
    const EXPECTED: &'static str = "a table";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let Some(entries) = node.table() else {
            return context.unexpected::<Self, _>(node);
        };
        let read: Vec<Option<(String, Located<T>)>> = entries
            .iter()
            .map(|entry| {
                let value = context.within(&entry.key, |c| Located::<T>::decode(&entry.node, c));
                value.map(|value| (entry.key.clone(), value))
            })
            .collect();
        read.into_iter().collect::<Option<Vec<_>>>().map(Named)
    }

    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": T::schema(definitions) })
    }
}
