//! `windlass ecn-proxy hosts` for people.

use crate::stdout;
use serde_json::Value;
use std::time::Duration;
use windlass_ecn_proxy::datapath::EcnUse;

/// A row for each device. Below it is one for each of its addresses, unless the device is shown by
/// its only one.
pub(in crate::cmd::ecn_proxy) fn table(devices: &[Value]) -> String {
    let header = [
        "device",
        "mac",
        "ecn",
        "connections",
        "own",
        "served",
        "payload",
        "own",
        "served",
        "reductions",
        "unresponsive",
        "marks",
        "seen",
    ];
    stdout::table(&header, devices.iter().flat_map(rows))
}

/// The number of devices by who gives them ECN, and the shares of all devices and connections that
/// have it.
pub(in crate::cmd::ecn_proxy) fn summary(by_ecn: &Value, ecn: &Value) -> String {
    let count = |name: &str| by_ecn[name].as_u64().unwrap_or_default();
    let total: u64 = EcnUse::ALL.iter().map(|(_, name)| count(name)).sum();
    let parts = EcnUse::ALL.map(|(_, name)| format!("{} {name}", count(name)));
    format!("{}: {}\nwith ECN: {}", counted(total), parts.join(", "), with_ecn(ecn))
}

/// Devices by their number.
pub(in crate::cmd::ecn_proxy) fn counted(devices: u64) -> String {
    format!("{devices} device{}", if devices == 1 { "" } else { "s" })
}

/// How many devices and connections have ECN, of all that the proxy knows.
pub(super) fn with_ecn(ecn: &Value) -> String {
    let of = |what: &str| {
        let (part, whole) = (number(&ecn[format!("{what}_with_ecn")]), number(&ecn[what]));
        let share = if whole == 0 { String::new() } else { format!(" ({})", share(part, whole)) };
        format!("{part} of {whole} {what}{share}")
    };
    format!("{}, {}", of("devices"), of("connections"))
}

/// The name of the device, else its only address, else the MAC address that its addresses share.
pub(in crate::cmd::ecn_proxy) fn title(device: &Value) -> &str {
    let only = match device["addresses"].as_array().map(Vec::as_slice) {
        Some([only]) => only["address"].as_str(),
        _ => None,
    };
    device["name"].as_str().or(only).or(device["mac"].as_str()).unwrap_or("?")
}

fn rows(device: &Value) -> Vec<Vec<String>> {
    let addresses = device["addresses"].as_array().map_or(&[][..], Vec::as_slice);
    let mut rows = vec![row(title(device).to_owned(), mac(device), device)];
    if device["name"].is_string() || addresses.len() > 1 {
        let title = |host: &Value| format!("  {}", host["address"].as_str().unwrap_or("?"));
        rows.extend(addresses.iter().map(|host| row(title(host), String::new(), host)));
    }
    rows
}

/// The MAC address of a device, and of the router before it.
fn mac(device: &Value) -> String {
    match (device["mac"].as_str(), device["router"].as_str()) {
        (Some(mac), Some(router)) => format!("{mac} behind {router}"),
        (Some(mac), None) => mac.to_owned(),
        (None, Some(router)) => format!("behind {router}"),
        (None, None) => "-".to_owned(),
    }
}

/// The figures of a device or of one of its addresses.
fn row(title: String, mac: String, of: &Value) -> Vec<String> {
    let (connections, bytes) = (&of["connections"], &of["bytes"]);
    let own = number(&connections["own"]) + number(&connections["own_refused"]);
    let idle = Duration::from_secs(of["idle"].as_f64().unwrap_or_default() as u64);
    vec![
        title,
        mac,
        of["ecn"].as_str().unwrap_or("-").to_owned(),
        total(connections).to_string(),
        share(own, total(connections)),
        share(number(&connections["served"]), total(connections)),
        size(total(bytes)),
        share(number(&bytes["own"]), total(bytes)),
        share(number(&bytes["served"]), total(bytes)),
        number(&of["reductions"]).to_string(),
        number(&of["unresponsive"]).to_string(),
        number(&of["marks"]).to_string(),
        format!("{} ago", humantime::format_duration(idle)),
    ]
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// The sum of a group of figures.
pub(in crate::cmd::ecn_proxy) fn total(group: &Value) -> u64 {
    group.as_object().into_iter().flatten().map(|(_, figure)| number(figure)).sum()
}

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
    }
}

/// Bytes with a prefix of SI and three digits.
fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // From 999.5 on, the number would have four digits.
    while value >= 999.5 {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.95 { 0 } else { usize::from(value < 9.995) + 1 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_have_three_digits() {
        let sizes = [0, 999, 1000, 12_345, 999_499, 999_500, 1_234_567_890, u64::MAX];
        let expected =
            ["0 B", "999 B", "1.00 kB", "12.3 kB", "999 kB", "1.00 MB", "1.23 GB", "18.4 EB"];
        assert_eq!(sizes.map(size), expected);
    }

    #[test]
    fn a_device_is_a_row_with_shares_and_its_addresses_are_rows_below() {
        let device = json!({
            "name": null, "mac": null, "router": null,
            "ecn": "mixed", "idle": 61.7, "reductions": 3, "unresponsive": 2, "marks": 4,
            "connections": { "own": 1, "own_refused": 1, "served": 5, "refused": 2, "other": 1 },
            "bytes": { "served": 750_000, "own": 250_000, "without": 0 },
            "addresses": [{ "address": "fd00::7" }],
        });
        let figures =
            ["mixed", "10", "20 %", "50 %", "1.00 MB", "25 %", "75 %", "3", "2", "4", "1m 1s ago"];
        assert_eq!(rows(&device), [[&["fd00::7", "-"], &figures[..]].concat()]);

        let first_cells = |device: &Value| -> Vec<[String; 2]> {
            let cells = |row: Vec<String>| [row[0].clone(), row[1].clone()];
            rows(device).into_iter().map(cells).collect()
        };
        let mut named = device.clone();
        named["name"] = json!("phone");
        named["router"] = json!("02:00:00:00:00:09");
        assert_eq!(first_cells(&named), [["phone", "behind 02:00:00:00:00:09"], ["  fd00::7", ""]]);
        named["mac"] = json!("02:00:00:00:00:01");
        named["name"] = Value::Null;
        named["addresses"] = json!([{ "address": "10.0.0.7" }, { "address": "fd00::7" }]);
        let mac = "02:00:00:00:00:01 behind 02:00:00:00:00:09";
        assert_eq!(
            first_cells(&named),
            [["02:00:00:00:00:01", mac], ["  10.0.0.7", ""], ["  fd00::7", ""]]
        );
    }

    #[test]
    fn the_summary_counts_devices_and_gives_shares() {
        let by_ecn = json!({ "own": 1, "served": 20, "mixed": 0, "without": 2 });
        let ecn = json!({
            "devices": 23, "devices_with_ecn": 21, "connections": 200, "connections_with_ecn": 110,
        });
        let expected = "23 devices: 1 own, 20 served, 0 mixed, 2 without\n\
                        with ECN: 21 of 23 devices (91 %), 110 of 200 connections (55 %)";
        assert_eq!(summary(&by_ecn, &ecn), expected);
        assert_eq!(counted(1), "1 device");
    }
}
