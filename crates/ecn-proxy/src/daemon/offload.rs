//! Flow offload: packets that nftables' flowtables take past the programs.
//!
//! A flowtable in software takes a packet behind the ingress hook of its device and hands it to
//! another device in front of that one's egress hook, so programs at those two see it. They do
//! not where the table is in the hardware, or where it goes past the interface of the
//! programs (a bridge, a VLAN, a bond) straight to the devices below.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// A flowtable of nftables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlowTable {
    name: String,
    devices: BTreeSet<String>,
    hardware: bool,
}

#[derive(Deserialize)]
struct Listing {
    nftables: Vec<ListedObject>,
}

#[derive(Deserialize)]
struct ListedObject {
    flowtable: Option<Keys>,
}

#[derive(Deserialize)]
struct Keys {
    family: String,
    table: String,
    name: String,
    dev: Option<OneOrMany>,
    flags: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn into_set(self) -> BTreeSet<String> {
        match self {
            OneOrMany::One(one) => BTreeSet::from([one]),
            OneOrMany::Many(many) => many.into_iter().collect(),
        }
    }
}

/// The flowtables of this network namespace; none where there is no nft.
///
/// # Errors
///
/// nft is there but does not answer as it should.
pub(crate) fn flow_tables() -> Result<Vec<FlowTable>, String> {
    let mut command = Command::new("nft");
    command.args(["-j", "list", "flowtables"]).stdin(Stdio::null());
    match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("nft: {error}")),
        Ok(output) if !output.status.success() => {
            let message = String::from_utf8_lossy(&output.stderr);
            Err(format!("nft -j list flowtables: {}", message.lines().next().unwrap_or_default()))
        }
        Ok(output) => parse(&output.stdout),
    }
}

fn parse(json: &[u8]) -> Result<Vec<FlowTable>, String> {
    let listing: Listing =
        serde_json::from_slice(json).map_err(|error| format!("nft -j list flowtables: {error}"))?;
    let tables = listing.nftables.into_iter().filter_map(|entry| entry.flowtable);
    let table = |keys: Keys| FlowTable {
        name: format!("{} {} {}", keys.family, keys.table, keys.name),
        devices: keys.dev.map(OneOrMany::into_set).unwrap_or_default(),
        hardware: keys.flags.is_some_and(|flags| flags.into_set().contains("offload")),
    };
    Ok(tables.map(table).collect())
}

/// Warnings of flowtables through which packets bypass the programs at one of these interfaces.
pub(crate) fn warnings<'a>(
    tables: &[FlowTable],
    interfaces: impl Iterator<Item = &'a String>,
    devices_below: impl Fn(&str) -> Vec<String>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for interface in interfaces {
        let below = devices_below(interface);
        for table in tables {
            let (name, devices) = (&table.name, &table.devices);
            let past = below.iter().find(|device| devices.contains(*device));
            if table.hardware && (devices.contains(interface) || past.is_some()) {
                warnings.push(format!(
                    "flowtable {name} is offloaded to hardware: packets of established connections \
                     do not come by the ECN proxy at {interface}"
                ));
            } else if let Some(device) = past {
                warnings.push(format!(
                    "flowtable {name} has {device}, which is below {interface}: packets of \
                     established connections go past the ECN proxy at {interface}"
                ));
            }
        }
    }
    warnings
}

/// Warnings of an interface that is served and has another such below it. A packet passes the
/// programs at both, and the second time it looks like a retransmission.
pub(crate) fn served_twice(
    interfaces: &[&String],
    devices_below: impl Fn(&str) -> Vec<String>,
) -> Vec<String> {
    let warning = |interface: &str, below: &str| {
        format!(
            "{interface} is above {below}, and both are served: packets come by the ECN proxy \
             twice; serve one of them"
        )
    };
    let mut warnings = Vec::new();
    for interface in interfaces {
        let below = devices_below(interface);
        let twice = below.iter().filter(|device| interfaces.contains(device));
        warnings.extend(twice.map(|device| warning(interface, device)));
    }
    warnings
}

/// A warning if `kept`, the lists of GRO of which the programs could change the first packet only,
/// is not 0.
pub(super) fn lists_kept(kept: u64, kernel: &str) -> Option<String> {
    (kept > 0).then(|| {
        format!(
            "Linux {kernel} joins packets into lists (rx-gro-list), of which the ECN proxy can \
             change the first packet only. It drops those that would show a served host a \
             codepoint, and takes on no new connection. Run `ethtool -K INTERFACE rx-gro-list \
             off` for every interface, then `windlass ecn-proxy on`; or use Linux 6.12"
        )
    })
}

/// A warning for kernels on which lists of GRO are not recognised.
pub(super) fn lists_unknown(kernel: &str) -> String {
    format!(
        "Linux {kernel} does not tell its types (CONFIG_DEBUG_INFO_BTF), so lists of packets \
         (rx-gro-list) are not recognised; keep it off: `ethtool -K INTERFACE rx-gro-list off`"
    )
}

/// The devices below a bridge, a VLAN or a bond, at any depth.
pub(crate) fn devices_below(interface: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![interface.to_owned()];
    while let Some(device) = waiting.pop() {
        let Ok(entries) = fs::read_dir(Path::new("/sys/class/net").join(&device)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let lower = name.to_str().and_then(|name| name.strip_prefix("lower_"));
            if let Some(lower) = lower.filter(|lower| !found.iter().any(|device| device == lower)) {
                found.push(lower.to_owned());
                waiting.push(lower.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = r#"{"nftables": [
        {"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
        {"flowtable": {"family": "inet", "name": "fast", "table": "fw", "handle": 3,
            "hook": "ingress", "prio": 0, "dev": ["lan1", "wan"]}},
        {"flowtable": {"family": "ip", "name": "hw", "table": "fw", "handle": 4,
            "hook": "ingress", "prio": 0, "dev": "eth9", "flags": ["offload"]}}]}"#;

    fn messages(interface: &str) -> Vec<String> {
        let tables = parse(LISTING.as_bytes()).expect("sound");
        let below = |interface: &str| match interface {
            "br0" => vec!["lan1".to_owned(), "lan2".to_owned()],
            _ => Vec::new(),
        };
        warnings(&tables, [interface.to_owned()].iter(), below)
    }

    #[test]
    fn hardware_and_a_device_below_are_warned_of() {
        assert_eq!(messages("br0").len(), 1);
        assert!(
            messages("br0")[0].starts_with("flowtable inet fw fast has lan1, which is below br0")
        );
        assert!(messages("eth9")[0].starts_with("flowtable ip fw hw is offloaded to hardware"));
    }

    #[test]
    fn a_flowtable_in_software_at_the_interface_itself_passes_the_programs() {
        assert_eq!(messages("wan"), Vec::<String>::new());
        assert_eq!(messages("other"), Vec::<String>::new());
    }

    #[test]
    fn a_vlan_and_its_parent_are_one_interface_too_many() {
        let below = |interface: &str| match interface {
            "eth1.7" => vec!["eth1".to_owned()],
            _ => Vec::new(),
        };
        let [vlan, parent, other] = ["eth1.7", "eth1", "eth2"].map(str::to_owned);
        let warnings = served_twice(&[&parent, &other, &vlan], below);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("eth1.7 is above eth1, and both are served"));
        assert_eq!(served_twice(&[&vlan, &other], below), Vec::<String>::new());
    }

    #[test]
    fn lists_that_were_not_changed_as_a_whole_are_warned_of() {
        assert_eq!(lists_kept(0, "6.11.0"), None);
        let warning = lists_kept(1, "6.11.0").expect("a list");
        assert!(warning.contains("Linux 6.11.0") && warning.contains("rx-gro-list off"));
    }

    #[test]
    fn output_that_is_no_listing_is_reported_in_one_line() {
        for text in ["", "{}", "[1]", "{\"nftables\":[{\"flowtable\":{}}]}"] {
            let error = parse(text.as_bytes()).expect_err(text);
            assert!(error.starts_with("nft -j list flowtables: "), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
        assert_eq!(parse(b"{\"nftables\": []}"), Ok(Vec::new()));
    }
}
