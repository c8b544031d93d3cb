//! `--set key=value`: sets the value at a dotted path of the document before it is read.

use crate::decode::Context;
use crate::problem::Position;
use crate::tree::{KeyValue, Node, Value, parse_toml_value};

/// Puts the value of each `key=value` into the tree.
pub(crate) fn apply<R>(root: &mut Node, overrides: &[String], context: &mut Context<R>) {
    for (index, argument) in overrides.iter().enumerate() {
        let position = Position::Override(index);
        let key_and_text = argument.split_once('=').filter(|(path, _)| !path.trim().is_empty());
        let Some((path, text)) = key_and_text else {
            context.wrong(position, "expected key=value".to_owned());
            continue;
        };
        match value(text.trim(), position) {
            Some(node) => {
                let path: Vec<&str> = path.trim().split('.').collect();
                if let Err(message) = put(root, &path, node) {
                    context.within(path.join("."), |context| context.wrong(position, message));
                }
            }
            None => context.within(path.trim(), |context| {
                context.wrong(position, format!("{text} is not a TOML value"));
            }),
        }
    }
}

/// Parses a TOML value, or else text whose quotes the shell removed: `1s` means `"1s"`.
fn value(text: &str, position: Position) -> Option<Node> {
    let quoted = text.starts_with(['"', '\'', '[', '{']);
    parse_toml_value(text, position)
        .filter(|node| quoted || !matches!(node.value, Value::Other(_)))
        .or_else(|| (!quoted).then(|| Node { position, value: Value::Text(text.to_owned()) }))
}

/// Puts `leaf` at `path`. Creates missing tables on the path; the items of lists must exist.
fn put(node: &mut Node, path: &[&str], leaf: Node) -> Result<(), String> {
    let Some((step, rest)) = path.split_first() else {
        *node = leaf;
        return Ok(());
    };
    match &mut node.value {
        Value::Table(entries) => put(entry(entries, step, leaf.position), rest, leaf),
        Value::List(items) => {
            let length = items.len();
            let index = step.parse().ok().filter(|index: &usize| *index < length);
            match index {
                Some(index) => put(&mut items[index], rest, leaf),
                None => Err(format!(
                    "expected the index of an item, from 0 to {}, found {step:?}",
                    length.saturating_sub(1)
                )),
            }
        }
        // A name alone becomes a table of that kind, whose settings can be changed.
        Value::Text(kind) => {
            let position = node.position;
            let kind = Node { position, value: Value::Text(kind.clone()) };
            let key = "kind".to_owned();
            node.position = leaf.position;
            node.value = Value::Table(vec![KeyValue { key, key_position: position, node: kind }]);
            put(node, path, leaf)
        }
        _ => Err(format!("{step:?} asks for a table or a list, found {}", node.shown())),
    }
}

fn entry<'a>(entries: &'a mut Vec<KeyValue>, key: &str, position: Position) -> &'a mut Node {
    let index = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
        let node = Node { position, value: Value::Table(Vec::new()) };
        entries.push(KeyValue { key: key.to_owned(), key_position: position, node });
        entries.len() - 1
    });
    &mut entries[index].node
}
