//! Values that hold others: with their location, optional, in a list, in a table.

use crate::decode::{Context, Decode, Spot};
use crate::definitions::Definitions;
use crate::tree::{Node, Value};
use serde_json::json;

/// A value with its spot.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub spot: Spot,
}

impl<R, T: Decode<R>> Decode<R> for At<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let spot = context.spot(node.location);
        T::decode(node, context).map(|value| At { value, spot })
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
pub struct Named<T>(pub Vec<(String, At<T>)>);

impl<R, T: Decode<R>> Decode<R> for Named<T> {
    const EXPECTED: &'static str = "a table";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
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

    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": T::schema(definitions) })
    }
}
