//! A scenario as plain JSON, for programs that run it elsewhere than in the simulator.

use crate::document::Document;
use crate::registry::{Context, Registry};
use serde_json::{Map, Value, json};
use windlass_base::BitRate;
use windlass_keys::{Node, Position, Problems, Reader, Value as Keyed};
use windlass_sim::model::{Flow, Link, TcpApp};

impl Registry {
    /// The scenario of a TOML text, checked and with what follows from its shorthands and profiles.
    ///
    /// An object with the keys `document` (the file with its overrides, and with `[defaults]` in each
    /// flow), `places` (each key's place in the file, as messages name it), `nodes`, `links`, `flows`,
    /// `bottleneck` (a link's name, and "forward" or "backward") and the times of the run in seconds.
    /// Links and flows have the `key` of their table in the document.
    ///
    /// # Errors
    ///
    /// All problems of the text and the overrides.
    pub fn outline_toml(
        &self,
        origin: &str,
        text: &str,
        overrides: &[String],
    ) -> Result<Value, Problems> {
        let reader = Reader::new(origin, self.clone()).with_overrides(overrides);
        let (document, tree) = reader.toml(text, read)?;
        Ok(outline(&document, &tree, &|at| at.place(origin, Some(text), overrides)))
    }

    /// [`Registry::outline_toml`] for a JSON value, which has no line numbers.
    ///
    /// # Errors
    ///
    /// All problems of the value and the overrides.
    pub fn outline_json(
        &self,
        origin: &str,
        value: &Value,
        overrides: &[String],
    ) -> Result<Value, Problems> {
        let reader = Reader::new(origin, self.clone()).with_overrides(overrides);
        let (document, tree) = reader.json(value, read)?;
        Ok(outline(&document, &tree, &|at| at.place(origin, None, overrides)))
    }
}

fn read(root: &mut Node, context: &mut Context) -> Option<(Document, Node)> {
    let document = crate::read(root, context)?;
    Some((document, root.clone()))
}

/// The place of each key, those of tables and lists included.
fn note_places(
    node: &Node,
    key: &str,
    place: &dyn Fn(Position) -> String,
    places: &mut Map<String, Value>,
) {
    let below = |step: &str| if key.is_empty() { step.to_owned() } else { format!("{key}.{step}") };
    match &node.value {
        Keyed::Table(entries) => {
            for entry in entries {
                let key = below(&entry.key);
                // An override replaces the value of a key that stays where it is.
                let position = match entry.node.position {
                    overridden @ Position::Override(_) => overridden,
                    _ => entry.key_position,
                };
                places.insert(key.clone(), place(position).into());
                note_places(&entry.node, &key, place, places);
            }
        }
        Keyed::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let key = below(&index.to_string());
                places.insert(key.clone(), place(item.position).into());
                note_places(item, &key, place, places);
            }
        }
        _ => {}
    }
}

fn outline(document: &Document, tree: &Node, place: &dyn Fn(Position) -> String) -> Value {
    let mut places = Map::new();
    note_places(tree, "", place, &mut places);
    let scenario = &document.scenario;
    let nodes = &scenario.nodes;
    let origins = &document.origins;
    let links = scenario.links.iter().zip(&origins.links);
    let flows = scenario.flows.iter().zip(&origins.flows);
    let direction = if scenario.bottleneck.reverse { "backward" } else { "forward" };
    json!({
        "document": tree.to_json(),
        "places": places,
        "name": scenario.name,
        "seed": document.seed,
        "duration_s": scenario.duration.as_secs_f64(),
        "steady_from_s": scenario.steady_from.as_secs_f64(),
        "nodes": nodes,
        "links": links.map(|(link, key)| link_outline(link, key, nodes)).collect::<Vec<_>>(),
        "flows": flows.map(|(flow, key)| flow_outline(flow, key, nodes)).collect::<Vec<_>>(),
        "jitter_s": scenario.jitter.as_secs_f64(),
        "bottleneck": [scenario.links[scenario.bottleneck.link].name, direction],
    })
}

fn link_outline(link: &Link, key: &str, nodes: &[String]) -> Value {
    let ways = [&link.forward, &link.backward];
    let delays = ways.map(|way| way.delay.as_nanos());
    let rates = ways.map(|way| way.rate.map(BitRate::bits_per_sec));
    json!({
        "name": link.name,
        "key": key,
        "a": nodes[link.a],
        "b": nodes[link.b],
        "delay_ns": delays,
        "rate_bps": rates,
    })
}

fn flow_outline(flow: &Flow, key: &str, nodes: &[String]) -> Value {
    let (sender, receiver) = (&flow.sender, &flow.receiver);
    json!({
        "name": flow.name,
        "key": key,
        "from": nodes[flow.from],
        "to": nodes[flow.to],
        "start_s": flow.start.as_secs_f64(),
        "stop_s": flow.stop.map(|stop| stop.as_secs_f64()),
        "is_bulk": matches!(flow.app, TcpApp::Bulk),
        "controller": sender.congestion.name(),
        "mss": sender.mss,
        "initial_window": sender.window.initial,
        "ecn": sender.ecn.enabled,
        "ecn_fallback": sender.ecn.fallback,
        "receiver_ecn": receiver.ecn.enabled,
        "timestamps": sender.extensions.timestamps,
        "sack": sender.extensions.sack,
        "window_scaling": sender.extensions.window_scaling,
    })
}
