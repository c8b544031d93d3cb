//! `windlass ecn-proxy hosts`: the served hosts by device, sorted.

use super::args::{HostsArgs, SortKey};
use super::print;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::stdout;
use serde_json::Value;
use std::cmp::Ordering;
use std::net::IpAddr;
use windlass_ecn_proxy::daemon::client::{AskError, ask};
use windlass_ecn_proxy::daemon::protocol::Command;

/// Prints the devices with their addresses, and their number on standard error.
pub(super) fn main(args: &HostsArgs) -> Result<(), Failure> {
    let mut devices = Vec::new();
    let end = ask(&args.at.socket, Command::Hosts)?.finish(|device| -> Result<(), AskError> {
        devices.push(device);
        Ok(())
    })?;
    sort(&mut devices, args.sort, args.reverse);
    if args.json {
        let line = |device: &Value| stdout::line(&Document::new("ecn-proxy.device", device).line());
        return devices.iter().try_for_each(line);
    }
    stdout::line(&print::devices(&devices))?;
    eprintln!("{}", print::devices_summary(&end["devices"], &end["ecn"]));
    Ok(())
}

/// Addresses ascend and figures descend, unless `reverse`. Equal ones are sorted by address. The
/// address of a device is its first.
pub(super) fn sort(devices: &mut [Value], key: SortKey, reverse: bool) {
    devices.sort_by(|one, other| {
        let order = match key {
            SortKey::Address => Ordering::Equal,
            SortKey::Seen => {
                let idle = |device: &Value| device["idle"].as_f64().unwrap_or_default();
                idle(one).total_cmp(&idle(other))
            }
            _ => figure(other, key).cmp(&figure(one, key)),
        };
        order.then_with(|| address(one).cmp(&address(other)))
    });
    if reverse {
        devices.reverse();
    }
}

fn figure(device: &Value, key: SortKey) -> u64 {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    match key {
        SortKey::Connections => print::total(&device["connections"]),
        SortKey::Bytes => print::total(&device["bytes"]),
        SortKey::Reductions => number(&device["reductions"]),
        SortKey::Marks => number(&device["marks"]),
        SortKey::Address | SortKey::Seen => 0,
    }
}

fn address(device: &Value) -> Option<IpAddr> {
    device["addresses"][0]["address"].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sorted(key: SortKey, reverse: bool) -> Vec<String> {
        let device = |address: &str, own: u64, bytes: u64, idle: f64| {
            json!({ "addresses": [{ "address": address }], "connections": { "own": own, "served": 1 },
                    "bytes": { "own": bytes }, "reductions": own, "marks": bytes, "idle": idle })
        };
        let mut devices = vec![
            device("10.0.0.10", 1, 5, 0.5),
            device("10.0.0.9", 1, 7, 2.0),
            device("::1", 3, 6, 1.0),
        ];
        sort(&mut devices, key, reverse);
        devices.iter().filter_map(|device| Some(address(device)?.to_string())).collect()
    }

    #[test]
    fn the_largest_figure_comes_first_and_addresses_are_sorted_as_numbers() {
        let ascending = ["10.0.0.9", "10.0.0.10", "::1"];
        assert_eq!(sorted(SortKey::Address, false), ascending);
        assert_eq!(sorted(SortKey::Connections, false), ["::1", "10.0.0.9", "10.0.0.10"]);
        assert_eq!(sorted(SortKey::Reductions, false), ["::1", "10.0.0.9", "10.0.0.10"]);
        assert_eq!(sorted(SortKey::Bytes, false), ["10.0.0.9", "::1", "10.0.0.10"]);
        assert_eq!(sorted(SortKey::Marks, true), ["10.0.0.10", "::1", "10.0.0.9"]);
        assert_eq!(sorted(SortKey::Seen, false), ["10.0.0.10", "::1", "10.0.0.9"]);
    }
}
