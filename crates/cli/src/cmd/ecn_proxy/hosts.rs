//! `windlass ecn-proxy hosts`: the served hosts, sorted.

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

/// Prints a line for each served host, and their number on standard error.
pub(super) fn main(args: &HostsArgs) -> Result<(), Failure> {
    let mut hosts = Vec::new();
    let end = ask(&args.at.socket, Command::Hosts)?.finish(|host| -> Result<(), AskError> {
        hosts.push(host);
        Ok(())
    })?;
    sort(&mut hosts, args.sort, args.reverse);
    if args.json {
        let line = |host: &Value| stdout::line(&Document::new("ecn-proxy.host", host).line());
        return hosts.iter().try_for_each(line);
    }
    stdout::line(&print::hosts(&hosts))?;
    eprintln!("{}", print::hosts_summary(&end["hosts"], &end["ecn"]));
    Ok(())
}

/// Addresses ascend and figures descend, unless `reverse`. Equal ones are sorted by address.
pub(super) fn sort(hosts: &mut [Value], key: SortKey, reverse: bool) {
    hosts.sort_by(|one, other| {
        let order = match key {
            SortKey::Address => Ordering::Equal,
            SortKey::Seen => {
                let idle = |host: &Value| host["idle"].as_f64().unwrap_or_default();
                idle(one).total_cmp(&idle(other))
            }
            _ => figure(other, key).cmp(&figure(one, key)),
        };
        order.then_with(|| address(one).cmp(&address(other)))
    });
    if reverse {
        hosts.reverse();
    }
}

fn figure(host: &Value, key: SortKey) -> u64 {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    match key {
        SortKey::Connections => print::total(&host["connections"]),
        SortKey::Bytes => print::total(&host["bytes"]),
        SortKey::Reductions => number(&host["reductions"]),
        SortKey::Marks => number(&host["marks"]),
        SortKey::Address | SortKey::Seen => 0,
    }
}

fn address(host: &Value) -> Option<IpAddr> {
    host["address"].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sorted(key: SortKey, reverse: bool) -> Vec<String> {
        let host = |address: &str, own: u64, bytes: u64, idle: f64| {
            json!({ "address": address, "connections": { "own": own, "served": 1 },
                    "bytes": { "own": bytes }, "reductions": own, "marks": bytes, "idle": idle })
        };
        let mut hosts =
            vec![host("10.0.0.10", 1, 5, 0.5), host("10.0.0.9", 1, 7, 2.0), host("::1", 3, 6, 1.0)];
        sort(&mut hosts, key, reverse);
        hosts.iter().filter_map(|host| host["address"].as_str().map(str::to_owned)).collect()
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
