//! The file of `windlass link run`.

use crate::registry::registry;
use crate::value::{LossKeys, OverTime};
use ipnet::IpNet;
use windlass_base::Span;
use windlass_base::address::{parse_interface, parse_network};
use windlass_keys::{
    Context, Named, Probability, Problems, Reader, Version, keys, schema as schema_of, text,
};
use windlass_link::{LinkConfig, PathConfig, PortConfig};
use windlass_scenario::{QueueKind, QueueRef, Queues, Registry};

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

keys! {
    /// A link of two ports or more.
    struct FileKeys {
        /// Version of the format: 1.
        schema: Version,
        /// Seed of the random streams. Default: 1.
        seed: Option<u64>,
        /// The largest IP packet in bytes. Default: 1500.
        mtu: Option<u32>,
        /// The ports, at least two.
        ports: Vec<PortKeys>,
        /// Queue disciplines by name, for paths to refer to.
        queues: Option<Named<QueueKind>>,
    }
}

keys! {
    /// A port: a TUN device, through which packets enter and leave the link.
    struct PortKeys {
        /// The device.
        name: String,
        /// A name of ip netns, pid:NUMBER, or a path. Default: the namespace of the command.
        namespace: Option<String>,
        /// Addresses of the device, each with the length of its network.
        addresses: Vec<Interface>,
        /// Networks that are routed to the device.
        routes: Vec<Network>,
        /// The destinations behind the port, if there are more than two ports. Default: the device's own
        /// addresses.
        networks: Vec<Network>,
        /// From the port towards the others. Default: it changes nothing.
        up: Option<PathKeys>,
        /// From the others to the port. Default: it changes nothing.
        down: Option<PathKeys>,
    }
}

text! {
    /// An address of a device.
    struct Interface(IpNet) as "an address such as 10.0.0.1/24, in quotes" = interface;
}

text! {
    /// A network.
    struct Network(IpNet) as "a network such as 10.0.0.0/8, in quotes" = network;
}

fn interface(text: &str) -> Result<IpNet, String> {
    Ok(parse_interface(text)?)
}

fn network(text: &str) -> Result<IpNet, String> {
    Ok(parse_network(text)?)
}

keys! {
    /// A direction of a link.
    struct PathKeys {
        /// The delay varies by up to this. Default: none.
        jitter: Option<Span>,
        /// Packets may overtake each other by their jitter. Default: false.
        reorder: Option<bool>,
        /// The queue in front of the transmitter. Default: droptail.
        queue: Option<QueueRef>,
        /// How much transmission time the device may take from the queue in advance. Default: none.
        device_queue: Option<Span>,
        /// Loss behind the transmitter. Default: none.
        loss: Option<LossKeys>,
        /// Probability that a packet arrives twice. Default: 0.
        duplicate: Option<Probability>,
        /// Probability that one bit behind the IP header is flipped. Default: 0.
        corrupt: Option<Probability>,
        #flatten over_time: OverTime,
    }
}

/// Reads the text of the file `origin`. Paths of traces are relative to its directory.
pub(super) fn read(origin: &str, text: &str) -> Result<LinkFile, Problems> {
    Reader::new(origin, registry().clone()).toml(text, |root, context| {
        let keys: FileKeys = context.root(root)?;
        let queues = Queues::new(keys.queues.as_ref(), context);
        let (mut ports, mut devices) = (Vec::new(), Vec::new());
        for port in keys.ports {
            let (config, place) = port.resolve(&queues, context);
            ports.push(config);
            devices.push(place);
        }
        let link = LinkConfig { seed: keys.seed.unwrap_or(windlass_link::DEFAULT_SEED), ports };
        Some(LinkFile { link, mtu: keys.mtu.unwrap_or(MTU_DEFAULT), devices })
    })
}

/// The JSON Schema of the file.
pub(super) fn schema() -> serde_json::Value {
    schema_of::<FileKeys, _>("Windlass link, version 1", registry().clone())
}

impl PortKeys {
    fn resolve(self, queues: &Queues, context: &mut Context<Registry>) -> (PortConfig, PortDevice) {
        let mut path = |keys: Option<PathKeys>| {
            keys.map_or_else(PathConfig::default, |keys| keys.resolve(queues, context))
        };
        let (up, down) = (path(self.up), path(self.down));
        let addresses: Vec<IpNet> = self.addresses.into_iter().map(|it| it.0).collect();
        let routes = self.routes.into_iter().map(|it| it.0).collect();
        // The networks behind a port; by default the device's own addresses.
        let own = addresses.iter().map(|address| IpNet::from(address.addr()));
        let networks = match self.networks.is_empty() {
            true => own.collect(),
            false => self.networks.into_iter().map(|it| it.0).collect(),
        };
        let device = PortDevice { namespace: self.namespace, addresses, routes };
        (PortConfig { name: self.name, networks, up, down }, device)
    }
}

impl PathKeys {
    fn resolve(self, queues: &Queues, context: &mut Context<Registry>) -> PathConfig {
        let OverTime { rate, delay, variation } = self.over_time;
        let queue = self.queue.and_then(|queue| queues.resolve(&queue, rate, context));
        PathConfig {
            rate,
            delay,
            variation,
            queue: queue.unwrap_or(PathConfig::default().queue),
            device_queue: self.device_queue.unwrap_or_default(),
            jitter: self.jitter.unwrap_or_default(),
            reorder: self.reorder.unwrap_or(false),
            loss: self.loss.map(|loss| loss.0).unwrap_or_default(),
            duplicate: self.duplicate.map_or(0.0, |probability| probability.0),
            corrupt: self.corrupt.map_or(0.0, |probability| probability.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_aqm::{CoDelConfig, Config as Queue, DropTailConfig, Limit};
    use windlass_base::BitRate;
    use windlass_link::Loss;
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
        let file = read("link.toml", FILE).expect("a file without faults");
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
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/traces/link.toml");
        let up = read(beside, &text).expect("a file without faults").link.ports[0].up.clone();
        assert!(up.variation.rate.is_some() && up.variation.shaper.is_some());
        assert_eq!(up.variation.outages.len(), 1);
        let error = read("elsewhere/link.toml", &text).expect_err("no trace there").to_string();
        let place = "elsewhere/link.toml:9:25: ports.0.up.rate.trace: elsewhere/wifi.trace: ";
        assert!(error.starts_with(place), "{error}");
    }

    #[test]
    fn the_page_shows_files_that_can_be_read() {
        let page = include_str!("../../../../../docs/guide/link.md");
        let blocks: Vec<&str> = page.split("```toml\n").skip(1).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            let (text, _) = block.split_once("\n```").expect("the end of the block");
            let file = read("link.md", text).expect("a file without faults");
            windlass_link::Network::new(&file.link).expect("a link that works");
        }
    }

    #[test]
    fn an_error_names_its_place() {
        let fault = |from: &str, to: &str| {
            read("link.toml", &FILE.replace(from, to)).expect_err("a fault").to_string()
        };
        let sead = "link.toml:3:1: sead: unknown key; did you mean \"seed\"?";
        assert_eq!(fault("seed", "sead"), sead);
        assert!(fault("20ms", "20").contains(": ports.0.up.delay: expected a time such as"));
        assert!(fault("schema = 1", "schema = 2").ends_with("found 2"));
        assert!(fault("5 packets", "5").contains(": queues.short.limit: expected a limit"));
        assert!(fault("first", "frist").contains("retransmissions"));
        assert!(fault("0.1 }", "2 }").contains(": ports.0.down.loss: expected a probability"));
        assert!(fault("10.0.0.1/24", "10.0.0.1").contains(": ports.0.addresses.0: "));
        assert!(fault("\"codel\"", "\"codle\"").contains("did you mean \"codel\"?"));
    }

    #[test]
    fn the_schema_knows_every_key() {
        let schema = schema();
        let path = schema["$defs"]["Path"]["properties"].as_object().expect("a table");
        for key in ["rate", "delay", "shaper", "outages", "jitter", "queue", "loss", "corrupt"] {
            assert!(path.contains_key(key), "{key}");
        }
        assert_eq!(schema["$defs"]["File"]["required"], serde_json::json!(["schema"]));
    }
}
