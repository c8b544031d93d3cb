//! Each served host's connections and their use of ECN: `struct served_host` of bpf/tables.h.

use super::bytes::{ADDRESS_BYTES, FLOW_BYTES, FLOW_KEY_BYTES, Reader, SERVED_HOST_BYTES};
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::AddAssign;
use std::str::FromStr;
use std::time::Duration;

/// A host without a packet for this long is forgotten.
pub(super) const SERVED_HOST_MEMORY: Duration = Duration::from_secs(86_400);

/// The end that gives a served host's connections ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EcnUse {
    /// The host itself: it asks for ECN, or accepts it.
    Own,
    /// The proxy.
    Served,
    /// The host on some connections, the proxy on others.
    Mixed,
    /// Neither so far.
    Without,
}

impl EcnUse {
    /// All, and the names that serde gives them.
    pub const ALL: [(EcnUse, &'static str); 4] = [
        (EcnUse::Own, "own"),
        (EcnUse::Served, "served"),
        (EcnUse::Mixed, "mixed"),
        (EcnUse::Without, "without"),
    ];
}

/// A MAC address, written as `02:00:00:00:00:01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = self.0.map(|octet| format!("{octet:02x}"));
        f.write_str(&octets.join(":"))
    }
}

/// The text is not six pairs of hexadecimal digits with colons between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMacAddress;

impl FromStr for MacAddress {
    type Err = NoMacAddress;

    fn from_str(text: &str) -> Result<MacAddress, NoMacAddress> {
        let mut octets = [0; 6];
        let mut pairs = text.split(':');
        for octet in &mut octets {
            let pair = pairs.next().filter(|pair| pair.len() == 2 && !pair.starts_with('+'));
            *octet = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(NoMacAddress)?;
        }
        pairs.next().is_none().then_some(MacAddress(octets)).ok_or(NoMacAddress)
    }
}

impl Serialize for MacAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Connections of a served host, each counted once when its handshake has shown the outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HostConnections {
    /// Both ends have ECN themselves.
    pub own: u64,
    /// The host asked for ECN itself, and the far host refused.
    pub own_refused: u64,
    /// The proxy gives the host's end ECN.
    pub served: u64,
    /// The far host refused the proxy's request, or opened the connection without ECN.
    pub refused: u64,
    /// The proxy left the connection alone for another reason.
    pub other: u64,
}

impl HostConnections {
    /// All connections.
    pub fn total(&self) -> u64 {
        self.own + self.own_refused + self.served + self.refused + self.other
    }

    /// The end that gives them ECN.
    pub fn ecn_use(&self) -> EcnUse {
        match (self.own + self.own_refused > 0, self.served > 0) {
            (true, true) => EcnUse::Mixed,
            (true, false) => EcnUse::Own,
            (false, true) => EcnUse::Served,
            (false, false) => EcnUse::Without,
        }
    }
}

impl AddAssign for HostConnections {
    fn add_assign(&mut self, other: HostConnections) {
        self.own += other.own;
        self.own_refused += other.own_refused;
        self.served += other.served;
        self.refused += other.refused;
        self.other += other.other;
    }
}

/// Payload of a served host's connections in bytes, both ways, retransmissions included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HostBytes {
    /// Of served connections.
    pub served: u64,
    /// Of others, in packets with an ECN codepoint: both ends have ECN.
    pub own: u64,
    /// Of others, in packets without one.
    pub without: u64,
}

impl HostBytes {
    /// All payload.
    pub fn total(&self) -> u64 {
        self.served + self.own + self.without
    }
}

impl AddAssign for HostBytes {
    fn add_assign(&mut self, other: HostBytes) {
        self.served += other.served;
        self.own += other.own;
        self.without += other.without;
    }
}

/// A served host, by its address, since the device of now has the address.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServedHost {
    /// Address of the host.
    pub address: IpAddr,
    /// The MAC address from which its packets come: its own, or that of a router before it. `None`
    /// without Ethernet.
    pub mac: Option<MacAddress>,
    /// The end that gives its connections ECN.
    pub ecn: EcnUse,
    /// Its connections by outcome.
    pub connections: HostConnections,
    /// Their payload.
    pub bytes: HostBytes,
    /// Times that its sender slowed down for a mark on a served connection.
    pub reductions: u64,
    /// CE on packets for the host, on served connections.
    pub marks: u64,
    /// Times that another device took the address over, which reset the other figures.
    pub takeovers: u64,
    /// Connections that lost ECT because the host's sender did not slow down for marks.
    pub unresponsive: u64,
    /// Time since the first connection.
    pub age: Duration,
    /// Time since the last packet of a connection, or since the last handshake.
    pub idle: Duration,
}

/// The sums of the connections in the table: bytes, marks, the last packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowSums {
    opened_ns: u64,
    seen_ns: u64,
    bytes: u64,
    marks: u64,
}

impl FlowSums {
    /// An entry of the table `flows`, with the address of its served host.
    pub(super) fn from_entry(key: &[u8], value: &[u8]) -> Option<(IpAddr, FlowSums)> {
        let mut reader = Reader::new(value, FLOW_BYTES)?;
        let (seen_ns, opened_ns, bytes) = (reader.u64()?, reader.u64()?, reader.u64()?);
        // packets_from_host, packets_to_host
        reader.skip(8)?;
        let marks = reader.u32()?.into();
        let address = Reader::new(key, FLOW_KEY_BYTES)?.address()?;
        Some((address, FlowSums { opened_ns, seen_ns, bytes, marks }))
    }
}

/// An entry of the table `served_hosts`.
pub(super) struct Entry {
    since_ns: u64,
    seen_ns: u64,
    host: ServedHost,
}

impl Entry {
    pub(super) fn read(key: &[u8], value: &[u8]) -> Option<Entry> {
        let address = Reader::new(key, ADDRESS_BYTES)?.address()?;
        let mut reader = Reader::new(value, SERVED_HOST_BYTES)?;
        let (since_ns, seen_ns) = (reader.u64()?, reader.u64()?);
        let mac = reader.array::<8>()?;
        let mac = MacAddress([mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]]);
        let mut bytes = || reader.u64();
        let bytes = HostBytes { served: bytes()?, own: bytes()?, without: bytes()? };
        let mut number = || reader.u32().map(u64::from);
        let connections = HostConnections {
            own: number()?,
            own_refused: number()?,
            served: number()?,
            refused: number()?,
            other: number()?,
        };
        let host = ServedHost {
            address,
            mac: (mac.0 != [0; 6]).then_some(mac),
            ecn: connections.ecn_use(),
            connections,
            bytes,
            reductions: number()?,
            marks: number()?,
            takeovers: number()?,
            unresponsive: number()?,
            age: Duration::ZERO,
            idle: Duration::ZERO,
        };
        Some(Entry { since_ns, seen_ns, host })
    }

    /// Whether no handshake, end of a connection or unserved packet has updated it for long.
    pub(super) fn is_old(&self, now_ns: u64) -> bool {
        Duration::from_nanos(now_ns.saturating_sub(self.seen_ns)) >= SERVED_HOST_MEMORY
    }

    /// The host with the connections that are in the table.
    fn with(mut self, flows: &[FlowSums], now_ns: u64) -> ServedHost {
        // Older ones are of the device that had the address before.
        for flow in flows.iter().filter(|flow| flow.opened_ns >= self.since_ns) {
            self.host.bytes.served += flow.bytes;
            self.host.marks += flow.marks;
            self.seen_ns = self.seen_ns.max(flow.seen_ns);
        }
        let since = |then: u64| Duration::from_nanos(now_ns.saturating_sub(then));
        ServedHost { age: since(self.since_ns), idle: since(self.seen_ns), ..self.host }
    }
}

/// The hosts with what their connections in the table have summed, by address.
pub(super) fn join(
    entries: Vec<Entry>,
    flows: Vec<(IpAddr, FlowSums)>,
    now_ns: u64,
) -> Vec<ServedHost> {
    let mut of_hosts: HashMap<IpAddr, Vec<FlowSums>> = HashMap::new();
    for (address, sums) in flows {
        of_hosts.entry(address).or_default().push(sums);
    }
    let none = Vec::new();
    let with = |entry: Entry| {
        let flows = of_hosts.get(&entry.host.address).unwrap_or(&none);
        entry.with(flows, now_ns)
    };
    let mut hosts: Vec<ServedHost> = entries.into_iter().map(with).collect();
    hosts.sort_by_key(|host| host.address);
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_json() {
        for (ecn, name) in EcnUse::ALL {
            assert_eq!(serde_json::json!(ecn), name);
        }
        let mac = MacAddress([2, 0, 0, 0xab, 0, 1]);
        assert_eq!(serde_json::json!(mac), "02:00:00:ab:00:01");
        assert_eq!("02:00:00:AB:00:01".parse(), Ok(mac));
        for wrong in
            ["", "02:00:00:ab:00", "02:00:00:ab:00:01:00", "2:0:0:ab:0:1", "+2:00:00:ab:00:01"]
        {
            assert_eq!(wrong.parse::<MacAddress>(), Err(NoMacAddress), "{wrong}");
        }
    }

    #[test]
    fn the_class_of_sums_is_that_of_all_connections() {
        let mut connections = HostConnections { own_refused: 1, ..HostConnections::default() };
        assert_eq!(connections.ecn_use(), EcnUse::Own);
        connections += HostConnections { served: 2, other: 3, ..HostConnections::default() };
        assert_eq!((connections.ecn_use(), connections.total()), (EcnUse::Mixed, 6));
    }

    #[test]
    fn connections_of_the_device_before_do_not_count() {
        let host = [0u8; 16];
        let mut value = [100u64, 200, 0, 7, 0, 0].map(u64::to_ne_bytes).concat();
        value.resize(SERVED_HOST_BYTES, 0);
        let entry = Entry::read(&host, &value).expect("whole");
        let flow = |opened_ns, seen_ns| FlowSums { opened_ns, seen_ns, bytes: 10, marks: 1 };
        let host = entry.with(&[flow(99, 900), flow(100, 300)], 1000);
        assert_eq!((host.bytes.served, host.marks), (17, 1));
        assert_eq!((host.age.as_nanos(), host.idle.as_nanos()), (900, 700));
    }
}
