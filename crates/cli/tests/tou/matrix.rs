//! Sessions behind every pair of gateways: `expose` and `forward` on real kernels, as root. Each cell
//! must end as theory predicts (docs/internals/nat-traversal.md).

use crate::cell::{Cell, Found, cannot_run};
use std::fmt::Write as _;
use windlass_testbed::nat::{Crossing, Family, Gateway, Outcome, predicted, predicted_behind_one};

/// Runs a cell. Returns its text for the table, or the reason why theory is wrong.
fn run(crossing: Crossing, expected: Outcome, exposable: bool) -> Result<String, String> {
    let mut cell = Cell::new(crossing);
    cell.expose(exposable, &[]);
    let found = match expected {
        Outcome::Direct => cell.path("direct"),
        Outcome::Relayed => cell.path("relayed"),
        Outcome::Impossible => cell.error(),
    };
    match (expected, found) {
        (Outcome::Direct, Found::Path(path, time)) if path == "direct" => {
            Ok(format!("direct, {} ms", time.as_millis()))
        }
        // Random ports may agree by chance.
        (Outcome::Relayed, Found::Path(path, time)) if path != "no path" => {
            Ok(format!("{path}, {} ms", time.as_millis()))
        }
        (Outcome::Impossible, Found::Error(text)) if text.starts_with("error: ") => {
            // Without the peer's key.
            Ok(text.rsplit(": ").next().unwrap_or_default().to_owned())
        }
        (expected, found) => Err(format!("{expected:?} expected, found {found:?}")),
    }
}

fn pair(family: Family, a: Gateway, b: Gateway) -> Result<String, String> {
    let crossing = Crossing::new("tm", family, a, b);
    // As of a bridge to containers: packets from it would take another mapping of the NAT.
    for host in &crossing.hosts {
        host.ip("address add 172.17.0.1/16 dev lo");
    }
    run(crossing, predicted(a, b), b != Gateway::Sealed)
}

#[test]
fn sessions_are_direct_where_they_can_be_and_relayed_elsewhere() {
    if cannot_run() {
        return;
    }
    let cells = [
        (Gateway::Masquerade, Gateway::Masquerade, "direct"),
        (Gateway::MasqueradeFullyRandom, Gateway::Masquerade, "relayed"),
        (Gateway::UdpBlocked, Gateway::Public, "relayed"),
    ];
    for (a, b, path) in cells {
        let mut found = pair(Family::V4, a, b).expect("as theory says");
        if path == "relayed" && found.starts_with("direct") {
            // The random port was the one that the other host expects: one crossing in 20,000, so a
            // second one in a row is no chance.
            eprintln!("{} and {}: {found}; once more", a.name(), b.name());
            found = pair(Family::V4, a, b).expect("as theory says");
        }
        assert!(found.starts_with(path), "{} and {}: {found}", a.name(), b.name());
    }
}

/// The router takes what comes from outside as its own, so each host's NAT must be open before the other
/// host's first check arrives (docs/internals/nat-traversal.md, "A trap in Linux").
#[test]
fn plain_masquerade_at_both_ends_gives_a_direct_path() {
    if cannot_run() {
        return;
    }
    let plain = Gateway::MasqueradeUnfiltered;
    let found = pair(Family::V4, plain, plain).expect("as theory says");
    assert!(found.starts_with("direct"), "{found}");
}

/// All pairs: `make verify-nat`.
#[test]
#[ignore = "takes ten minutes: make verify-nat"]
fn every_pair_of_gateways_ends_as_theory_predicts() {
    if cannot_run() {
        return;
    }
    let mut wrong = Vec::new();
    for family in [Family::V4, Family::V6] {
        let gateways = Gateway::all(family);
        let mut table = format!("{family:?}, asking host by row, exposing host by column\n\n| |");
        gateways.iter().for_each(|one| write!(table, " {} |", one.name()).expect("a string"));
        table += "\n|---|";
        gateways.iter().for_each(|_| table += "---|");
        for a in &gateways {
            write!(table, "\n| {} |", a.name()).expect("a string");
            for b in &gateways {
                let text = pair(family, *a, *b).unwrap_or_else(|fault| {
                    wrong.push(format!("{} and {}: {fault}", a.name(), b.name()));
                    format!("WRONG: {fault}")
                });
                write!(table, " {text} |").expect("a string");
                eprintln!("{} and {}: {text}", a.name(), b.name());
            }
        }
        println!("{table}\n");
    }
    let behind_one = Gateway::all(Family::V4).into_iter().filter_map(|gateway| match gateway {
        Gateway::Nat(..) => Some(vec![(gateway, true), (gateway, false)]),
        Gateway::Masquerade => Some(vec![(gateway, false)]),
        _ => None,
    });
    println!("| both behind one gateway | hairpin | found |\n|---|---|---|");
    for (gateway, hairpin) in behind_one.flatten() {
        let crossing = Crossing::behind_one("tm", Family::V4, gateway, hairpin);
        let text = run(crossing, predicted_behind_one(gateway, hairpin), true);
        let text = text.unwrap_or_else(|fault| {
            wrong.push(format!("behind one {}: {fault}", gateway.name()));
            format!("WRONG: {fault}")
        });
        println!("| {} | {} | {text} |", gateway.name(), if hairpin { "yes" } else { "no" });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
