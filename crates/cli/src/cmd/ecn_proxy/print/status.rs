//! `windlass ecn-proxy status` for people.

use super::hosts::with_ecn;
use crate::stdout;
use humantime::{format_duration, format_rfc3339_seconds};
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A few lines, a table of the interfaces, the warnings.
pub(in crate::cmd::ecn_proxy) fn text(status: &Value) -> String {
    let features = &status["features"];
    let hooks = if features["tcx"] == true { "TCX" } else { "no TCX: clsact filters" };
    let pinned = match features["pinned"].as_str() {
        Some(folder) if features["reused"] == true => format!("pinned at {folder}, taken over"),
        Some(folder) => format!("pinned at {folder}"),
        None => "not pinned".to_owned(),
    };
    let mut lines = vec![
        format!("state   {}, {}", word(&status["state"]), since(&status["state_since_s"])),
        format!("policy  {}", word(&status["policy"])),
        format!(
            "daemon  process {}, windlass {}, {}",
            status["pid"],
            word(&status["windlass"]),
            since(&status["started_s"])
        ),
        format!("kernel  {}, {hooks}, {pinned}", word(&features["kernel"])),
        format!("flows   {}", flows(&status["flows"], &status["sizes"])),
    ];
    lines.extend(withheld(&status["withheld"]));
    lines.push(format!("ecn     {}", with_ecn(&status["ecn"])));
    lines.push(format!("avoided {} losses, at least", status["losses_avoided"]));
    lines.extend(status["config_file"].as_str().map(|file| format!("config  {file}")));
    lines.push(String::new());
    lines.push(interfaces(&status["interfaces"]));
    let warnings = status["warnings"].as_array().into_iter().flatten();
    lines.extend(warnings.map(|warning| format!("warning: {}", word(warning))));
    lines.join("\n")
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn since(seconds: &Value) -> String {
    let start = UNIX_EPOCH + Duration::from_secs(seconds.as_u64().unwrap_or_default());
    let age = SystemTime::now().duration_since(start).unwrap_or_default();
    let age = format_duration(Duration::from_secs(age.as_secs()));
    format!("since {}, for {age}", format_rfc3339_seconds(start))
}

fn flows(flows: &Value, sizes: &Value) -> String {
    let states = flows.as_object().into_iter().flatten();
    let states: Vec<String> = states.map(|(state, count)| format!("{count} {state}")).collect();
    let found = if states.is_empty() { "none".to_owned() } else { states.join(", ") };
    let (flows, handshakes) = (&sizes["flows_max"], &sizes["handshakes_max"]);
    format!("{found} (room for {flows}, and {handshakes} handshakes)")
}

/// Connections without ECT, by the reason.
fn withheld(reasons: &Value) -> Option<String> {
    let reasons = reasons.as_object()?.iter();
    let parts: Vec<String> = reasons.map(|(reason, count)| format!("{count} {reason}")).collect();
    (!parts.is_empty()).then(|| format!("ect     withheld: {}", parts.join(", ")))
}

fn interfaces(interfaces: &Value) -> String {
    let all = || interfaces.as_array().into_iter().flatten();
    let header = ["interface", "side", "hook", "header", "index"];
    let mut lines = vec![stdout::table(&header, all().map(interface))];
    lines.extend(all().filter_map(|interface| {
        let trouble = interface["trouble"].as_str()?;
        Some(format!("{} NOT SERVED: {trouble}", word(&interface["name"])))
    }));
    lines.join("\n")
}

/// Name, side, hook, header and index of an interface.
pub(in crate::cmd::ecn_proxy) fn interface(interface: &Value) -> Vec<String> {
    let attached = &interface["attached"];
    let [hook, header, index] = match attached.is_object() {
        true => {
            let header = if attached["ethernet"] == true { "ethernet" } else { "ip" };
            [word(&attached["hook"]), header, &attached["index"].to_string()].map(str::to_owned)
        }
        false => ["none", "-", "-"].map(str::to_owned),
    };
    let side = word(&interface["side"]).trim_end_matches("-side").to_owned();
    vec![word(&interface["name"]).to_owned(), side, hook, header, index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn connections_not_served_are_shown_with_the_reason() {
        let shown = text(&json!({
            "state": "on", "policy": "drop", "pid": 7, "windlass": "0.1.0",
            "state_since_s": 0, "started_s": 0,
            "features": { "kernel": "6.1.0", "tcx": false, "pinned": null, "reused": false },
            "ecn": { "devices": 4, "devices_with_ecn": 3, "connections": 0, "connections_with_ecn": 0 },
            "losses_avoided": 12, "flows": { "simulated": 3 }, "withheld": { "no-response": 2 },
            "sizes": { "flows_max": 10, "handshakes_max": 20, "hosts_max": 30 },
            "interfaces": [
                { "name": "eth1", "side": "client-side", "attached":
                    { "hook": "clsact", "ethernet": true, "index": 4 }, "trouble": null },
                { "name": "wg0", "side": "client-side", "attached": null, "trouble": "no such one" },
            ],
            "warnings": ["flowtable"],
        }));
        for part in [
            "state   on, since 1970-01-01T00:00:00Z, for ",
            "kernel  6.1.0, no TCX: clsact filters, not pinned",
            "flows   3 simulated (room for 10, and 20 handshakes)",
            "ect     withheld: 2 no-response",
            "ecn     3 of 4 devices (75 %), 0 of 0 connections\n",
            "avoided 12 losses, at least",
            "wg0 NOT SERVED: no such one",
            "warning: flowtable",
        ] {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
    }
}
