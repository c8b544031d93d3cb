//! The queues and offloads of this machine's interfaces, as `tc`, `ethtool` and `nft` tell them.

use super::finding::Finding::{self, Missing, Present};
use super::kernel;
use super::machine::Machine;
use serde::Serialize;
use std::{fmt, fs};

/// From this release on the kernel cuts a list that a program edits (`skb_segment_list`).
const LISTS_EDITED_FROM: (u32, u32) = (6, 12);

/// A queue of this machine marks packets.
pub(super) fn marking_queue(machine: &Machine) -> Finding {
    match marking_queues(machine) {
        Ok(found) if found.is_empty() => Missing("no queue of this machine marks".to_owned()),
        Ok(found) => {
            let found: Vec<String> = found.iter().map(MarkingQueue::to_string).collect();
            Present(found.join(", "))
        }
        Err(why) => Missing(why),
    }
}

/// A queue that marks packets in place of dropping them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct MarkingQueue {
    /// The kind as tc(8) names it, such as fq_codel.
    pub(crate) kind: String,
    pub(crate) interface: String,
}

impl fmt::Display for MarkingQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.kind, self.interface)
    }
}

/// The queues of this network namespace that mark.
///
/// # Errors
///
/// There is no tc(8), or it fails.
pub(super) fn marking_queues(machine: &Machine) -> Result<Vec<MarkingQueue>, String> {
    machine.output("tc", &["qdisc", "show"]).map(|listing| marking(&listing))
}

/// The queues that mark in a listing of tc(8): `qdisc codel 8001: dev eth0 root refcnt 2 limit 1000p ecn`.
/// cake and dualpi2 mark without saying so.
fn marking(listing: &str) -> Vec<MarkingQueue> {
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, kind, ..] = words[..] else { return None };
        let marks = ["cake", "dualpi2"].contains(&kind) || words.contains(&"ecn");
        let interface = (*words.iter().skip_while(|word| **word != "dev").nth(1)?).to_owned();
        marks.then(|| MarkingQueue { kind: kind.to_owned(), interface })
    };
    let mut found: Vec<MarkingQueue> = listing.lines().filter_map(of_line).collect();
    // One for each queue of the hardware.
    found.dedup();
    found
}

/// No interface joins packets into lists, or the kernel can edit those as a whole.
pub(super) fn receive_lists(machine: &Machine) -> Finding {
    let (major, minor) = LISTS_EDITED_FROM;
    if let Present(release) = kernel::release_from(major, minor) {
        return Present(format!("Linux {release} edits lists as a whole, on or off"));
    }
    let interfaces = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = interfaces.filter_map(|entry| entry.file_name().into_string().ok());
    let mut on = Vec::new();
    for name in names {
        match machine.output("ethtool", &["-k", &name]) {
            Ok(features) if has_lists(&features) => on.push(name),
            Ok(_) => {}
            Err(why) => return Missing(why),
        }
    }
    match on.is_empty() {
        true => Present("off at every interface".to_owned()),
        false => Missing(format!("on at {}", on.join(", "))),
    }
}

/// A line of ethtool(8): `rx-gro-list: on`.
fn has_lists(features: &str) -> bool {
    features.lines().any(|line| line.trim().starts_with("rx-gro-list: on"))
}

/// No flowtable of nftables is in the hardware.
pub(super) fn hardware_flow_tables(machine: &Machine) -> Finding {
    match machine.output("nft", &["list", "flowtables"]) {
        Ok(listing) => match in_hardware(&listing) {
            Some(name) => Missing(format!("flowtable {name} is in the hardware")),
            None => Present("none in the hardware".to_owned()),
        },
        Err(why) => Missing(why),
    }
}

/// The first flowtable with the flag in a listing of nft(8).
fn in_hardware(listing: &str) -> Option<&str> {
    let mut name = "";
    for line in listing.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("flowtable ") {
            name = rest.trim_end_matches('{').trim();
        } else if line.starts_with("flags ") && line.contains("offload") {
            return Some(name);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_marks_if_it_says_ecn_or_cannot_do_without() {
        let listing = "qdisc noqueue 0: dev lo root refcnt 2\n\
            qdisc mq 0: dev eth0 root\n\
            qdisc fq_codel 0: dev eth0 parent :2 limit 10240p flows 1024 target 5ms ecn drop_batch 64\n\
            qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 target 5ms ecn drop_batch 64\n\
            qdisc codel 8001: dev eth1 root refcnt 2 limit 1000p target 5ms interval 100ms\n\
            qdisc cake 8002: dev eth2 root refcnt 2 bandwidth 20Mbit besteffort\n";
        let found: Vec<String> = marking(listing).iter().map(MarkingQueue::to_string).collect();
        assert_eq!(found, ["fq_codel at eth0", "cake at eth2"]);
        assert_eq!(marking("qdisc pfifo_fast 0: dev eth0 root\n\nnonsense\n"), []);
    }

    #[test]
    fn lists_are_a_feature_of_their_own() {
        let features = |lists| format!("Features for eth0:\nrx-gro-hw: on\nrx-gro-list: {lists}\n");
        assert!(has_lists(&features("on")) && has_lists(&features("on [fixed]")));
        assert!(!has_lists(&features("off")));
    }

    #[test]
    fn a_flowtable_in_the_hardware_is_named() {
        let table = |flags| {
            format!(
                "table inet fw {{\n\tflowtable fast {{\n\t\tdevices = {{ eth0 }}\n{flags}\t}}\n}}\n"
            )
        };
        assert_eq!(in_hardware(&table("\t\tflags offload;\n")), Some("fast"));
        assert_eq!(in_hardware(&table("")), None);
    }
}
