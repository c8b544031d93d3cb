//! The file of `windlass link run`.

use crate::registry::registry;
use crate::value::{LossKeys, OverTime};
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use windlass_aqm::Config as Queue;
use windlass_base::Span;
use windlass_base::address::{AddressError, parse_interface, parse_network};
use windlass_base::suggest::did_you_mean;
use windlass_link::{LinkConfig, Loss, PathConfig, PortConfig};
use windlass_sim::scenario;

/// The version of the format.
const SCHEMA_VERSION: u32 = 1;
/// The MTU of Ethernet, in bytes.
const MTU_DEFAULT: u32 = 1500;

/// A link and the devices at its ports.
#[derive(Debug)]
pub(super) struct LinkFile {
    pub link: LinkConfig,
    pub mtu: u32,
    /// One for each port, in their order.
    pub devices: Vec<PortDevice>,
}

/// Where a port's device is, and what is routed to it.
#[derive(Debug, Default)]
pub(super) struct PortDevice {
    pub namespace: Option<String>,
    pub addresses: Vec<IpNet>,
    pub routes: Vec<IpNet>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKeys {
    schema: u32,
    seed: Option<u64>,
    mtu: Option<u32>,
    ports: Vec<PortKeys>,
    #[serde(default)]
    queues: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PortKeys {
    name: String,
    namespace: Option<String>,
    #[serde(default, deserialize_with = "interfaces")]
    addresses: Vec<IpNet>,
    #[serde(default, deserialize_with = "networks")]
    routes: Vec<IpNet>,
    #[serde(default, deserialize_with = "networks")]
    networks: Vec<IpNet>,
    #[serde(default)]
    up: PathKeys,
    #[serde(default)]
    down: PathKeys,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PathKeys {
    rate: Option<Value>,
    delay: Option<Value>,
    shaper: Option<Value>,
    policer: Option<Value>,
    aggregation: Option<Value>,
    outages: Option<Value>,
    #[serde(deserialize_with = "time")]
    jitter: Span,
    reorder: bool,
    queue: Option<Value>,
    #[serde(deserialize_with = "time")]
    device_queue: Span,
    loss: Option<LossKeys>,
    duplicate: f64,
    corrupt: f64,
}

/// Reads a file's text; what is wrong, if it is. Paths of traces are relative to `directory`.
pub(super) fn read(text: &str, directory: &Path) -> Result<LinkFile, String> {
    let keys: FileKeys = toml::from_str(text).map_err(|error| described(text, &error))?;
    if keys.schema != SCHEMA_VERSION {
        let (only, found) = (SCHEMA_VERSION, keys.schema);
        return Err(format!("schema: expected {only}, the only version there is, found {found}"));
    }
    let (mut ports, mut devices) = (Vec::new(), Vec::new());
    for port in keys.ports {
        let (config, place) = port.resolve(&keys.queues, directory)?;
        ports.push(config);
        devices.push(place);
    }
    let link = LinkConfig { seed: keys.seed.unwrap_or(windlass_link::DEFAULT_SEED), ports };
    Ok(LinkFile { link, mtu: keys.mtu.unwrap_or(MTU_DEFAULT), devices })
}

/// Line and message of an error of the TOML text, with a suggestion for a misspelt key.
fn described(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    let hint = match message.split('`').collect::<Vec<_>>()[..] {
        ["unknown field ", found, ref names @ ..] => {
            did_you_mean(found, names.iter().copied().skip(1).step_by(2))
        }
        _ => String::new(),
    };
    match error.span() {
        Some(span) => {
            let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            format!("line {line}: {message}{hint}")
        }
        None => format!("{message}{hint}"),
    }
}

impl PortKeys {
    fn resolve(
        self,
        queues: &BTreeMap<String, Value>,
        directory: &Path,
    ) -> Result<(PortConfig, PortDevice), String> {
        let up = self.up.resolve(queues, directory, &format!("port {}: up", self.name))?;
        let down = self.down.resolve(queues, directory, &format!("port {}: down", self.name))?;
        // The networks behind a port; by default the device's own addresses.
        let own = self.addresses.iter().map(|address| IpNet::from(address.addr()));
        let networks = if self.networks.is_empty() { own.collect() } else { self.networks };
        let Self { name, namespace, addresses, routes, .. } = self;
        Ok((PortConfig { name, networks, up, down }, PortDevice { namespace, addresses, routes }))
    }
}

impl PathKeys {
    fn resolve(
        self,
        queues: &BTreeMap<String, Value>,
        directory: &Path,
        place: &str,
    ) -> Result<PathConfig, String> {
        let over_time = [
            ("rate", self.rate),
            ("delay", self.delay),
            ("shaper", self.shaper),
            ("policer", self.policer),
            ("aggregation", self.aggregation),
            ("outages", self.outages),
        ];
        let over_time: Map<String, Value> = over_time
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?)))
            .collect();
        let over_time = OverTime::read(place, directory, over_time.into())?;
        Ok(over_time.apply(PathConfig {
            queue: queue(self.queue, queues, place)?,
            device_queue: self.device_queue,
            jitter: self.jitter,
            reorder: self.reorder,
            loss: self.loss.map(Loss::from).unwrap_or_default(),
            duplicate: self.duplicate,
            corrupt: self.corrupt,
            ..PathConfig::default()
        }))
    }
}

/// A queue by the name of a table, the name of a kind, or its settings.
fn queue(
    value: Option<Value>,
    queues: &BTreeMap<String, Value>,
    place: &str,
) -> Result<Queue, String> {
    let Some(value) = value else { return Ok(PathConfig::default().queue) };
    let named = value.as_str().and_then(|name| queues.get(name));
    registry()
        .read_queue(&format!("{place}: queue"), named.unwrap_or(&value))
        .map_err(|problems| problems.to_string())
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
    scenario::parse_time(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// Addresses of a device, each with the length of its network.
fn interfaces<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    each(deserializer, parse_interface)
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    each(deserializer, parse_network)
}

fn each<'de, D: Deserializer<'de>>(
    deserializer: D,
    parse: fn(&str) -> Result<IpNet, AddressError>,
) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| parse(text).map_err(de::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_aqm::{CoDelConfig, DropTailConfig, Limit};
    use windlass_base::BitRate;
    use windlass_link::config::ListedLossConfig;

    const FILE: &str = r#"
schema = 1
seed = 7

[[ports]]
name = "a"
namespace = "left"
addresses = ["10.0.0.1/24", "fd00::1/64"]
up = { rate = "10Mbit/s", device_queue = "3ms", delay = "20ms", queue = "short", loss = { first = [3] } }
down = { jitter = "1ms", delay = "2ms", reorder = true, queue = "codel", loss = 0.1 }

[[ports]]
name = "b"
routes = ["10.1.0.0/16"]
networks = ["10.0.0.0/8"]

[queues.short]
kind = "droptail"
limit = "5 packets"
"#;

    #[test]
    fn every_key_arrives() {
        let file = read(FILE, Path::new("")).expect("a file without faults");
        assert_eq!((file.link.seed, file.mtu), (7, 1500));
        let [a, b] = &file.link.ports[..] else { panic!("two ports") };
        assert_eq!(a.up.rate, BitRate::from_bits_per_sec(10_000_000));
        assert_eq!((a.up.device_queue, a.up.delay), (Span::from_millis(3), Span::from_millis(20)));
        let limit = Limit::Packets(5);
        assert_eq!(a.up.queue, Queue::DropTail(DropTailConfig { limit }));
        let first = ListedLossConfig { first: vec![3], retransmissions: vec![] };
        assert_eq!(a.up.loss, Loss::Listed(first));
        assert_eq!(a.down.queue, Queue::CoDel(CoDelConfig::default()));
        assert_eq!((a.down.jitter, a.down.reorder), (Span::from_millis(1), true));
        assert_eq!(a.down.loss, Loss::Random(0.1));
        let networks: Vec<String> = a.networks.iter().map(IpNet::to_string).collect();
        assert_eq!(networks, ["10.0.0.1/32", "fd00::1/128"]);
        assert_eq!(b.networks, ["10.0.0.0/8".parse().expect("a prefix")]);
        assert_eq!(file.devices[0].namespace.as_deref(), Some("left"));
        assert_eq!(file.devices[1].routes.len(), 1);
    }

    #[test]
    fn a_path_may_change_over_time_as_in_a_scenario() {
        let text = FILE.replace(
            "rate = \"10Mbit/s\"",
            "rate = { trace = \"wifi.trace\" }, shaper = { rate = \"9Mbit/s\", burst = \"9kB\" }, \
             outages = [{ at = \"1s\", lasts = \"1s\" }]",
        );
        let traces = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/traces"));
        let up = read(&text, traces).expect("a file without faults").link.ports[0].up.clone();
        assert!(up.variation.rate.is_some() && up.variation.shaper.is_some());
        assert_eq!(up.variation.outages.len(), 1);
        let error = read(&text, Path::new("elsewhere")).expect_err("no trace there");
        assert!(error.starts_with("port a: up: rate.trace: elsewhere/wifi.trace: "), "{error}");
    }

    #[test]
    fn the_page_shows_files_that_can_be_read() {
        let page = include_str!("../../../../../docs/guide/link.md");
        let blocks: Vec<&str> = page.split("```toml\n").skip(1).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            let (text, _) = block.split_once("\n```").expect("the end of the block");
            let file = read(text, Path::new("")).expect("a file without faults");
            windlass_link::Network::new(&file.link).expect("a link that works");
        }
    }

    #[test]
    fn an_error_names_its_place() {
        let fault = |from: &str, to: &str| {
            read(&FILE.replace(from, to), Path::new("")).expect_err("a fault")
        };
        assert!(fault("seed", "sead").contains("line 3"));
        assert!(fault("seed", "sead").ends_with("; did you mean \"seed\"?"));
        assert!(fault("20ms", "20").contains("expected a time such as"));
        assert!(fault("schema = 1", "schema = 2").contains("found 2"));
        assert!(fault("5 packets", "5").contains("port a: up: queue: limit: expected a limit"));
        assert!(fault("first", "frist").contains("retransmissions"));
    }
}
