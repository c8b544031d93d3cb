//! The findings as text and as JSON.

use super::Found;
use crate::envelope::Document;
use crate::failure::plain;
use crate::stdout;
use serde_json::{Map, Value, json};
use windlass_rendezvous::behavior::{Dependence, Findings, Outcome, Peer, Unknown};

/// A paragraph for each version of IP.
pub(super) fn text(found: &[Found]) -> String {
    found.iter().map(paragraph).collect::<Vec<_>>().join("\n\n")
}

fn paragraph(found: &Found) -> String {
    let findings = match &found.result {
        Ok(findings) => findings,
        Err(error) => return format!("{}: {}", found.server, plain(&error.to_string())),
    };
    let mut lines = vec![
        line("server", &found.server.to_string()),
        line("this host", &findings.local.to_string()),
    ];
    if let Some(mapped) = findings.mapped {
        lines.push(line("seen as", &format!("{mapped}{}", translation(findings))));
        lines.push(line("mapping", name(findings.mapping)));
        lines.push(line("filtering", name(findings.filtering)));
        lines.push(line("hairpinning", hairpinning(findings)));
    }
    if let Some(tcp443) = found.tcp443 {
        lines.push(line("TCP port 443", if tcp443 { "reachable" } else { "not reachable" }));
    }
    if let Some(peers) = peers(found, findings) {
        let row = |peer: Peer| vec![peer.behind.to_owned(), session(peer.outcome).to_owned()];
        lines.push(String::new());
        lines.push(stdout::table(&["peer behind", "session"], peers.into_iter().map(row)));
    }
    lines.push(String::new());
    lines.push(meaning(found, findings).to_owned());
    let sentence = |(what, why): (&str, Unknown)| format!("Unknown {what}: {why}");
    lines.extend(unknown(findings).map(sentence));
    lines.join("\n")
}

/// The findings that are unknown, and why.
fn unknown(findings: &Findings) -> impl Iterator<Item = (&'static str, Unknown)> {
    let all = [
        ("mapping", findings.mapping_unknown()),
        ("filtering", findings.filtering_unknown()),
        ("hairpinning", findings.hairpin_unknown()),
    ];
    all.into_iter().filter_map(|(what, why)| Some((what, why?)))
}

fn line(key: &str, value: &str) -> String {
    format!("{key:<14}{value}")
}

fn translation(findings: &Findings) -> &'static str {
    match (findings.is_translated(), findings.keeps_port()) {
        (false, _) => " (no translation)",
        (true, Some(true)) => " (translated, same port)",
        (true, _) => " (translated)",
    }
}

/// The terms of RFC 4787.
fn name(dependence: Option<Dependence>) -> &'static str {
    match dependence {
        Some(Dependence::Independent) => "endpoint-independent",
        Some(Dependence::Address) => "address-dependent",
        Some(Dependence::AddressAndPort) => "address and port-dependent",
        None => "unknown",
    }
}

fn hairpinning(findings: &Findings) -> &'static str {
    match findings.hairpin {
        Some(true) => "yes",
        Some(false) => "no",
        None if findings.is_translated() => "unknown",
        None => "not needed",
    }
}

fn session(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Direct => "direct",
        Outcome::Relayed => "relayed",
        Outcome::Impossible => "none",
    }
}

/// The peers and what a session with them would have. Where not even TCP passes, it has nothing.
fn peers(found: &Found, findings: &Findings) -> Option<Vec<Peer>> {
    let mut peers = findings.peers()?;
    if found.tcp443 == Some(false) {
        peers.iter_mut().for_each(|peer| peer.outcome = Outcome::Impossible);
    }
    Some(peers)
}

fn meaning(found: &Found, findings: &Findings) -> &'static str {
    match found.tcp443 {
        Some(false) => {
            "The server answers neither by UDP nor by TCP at port 443. No session is possible by it."
        }
        _ => findings.meaning(),
    }
}

/// The same as one object.
pub(super) fn json(found: &[Found]) -> String {
    let results: Vec<Value> = found.iter().map(result).collect();
    Document::new("tou.nat", json!({ "results": results })).pretty()
}

fn result(found: &Found) -> Value {
    let findings = match &found.result {
        Ok(findings) => findings,
        Err(error) => {
            let error = plain(&error.to_string());
            return json!({ "server": found.server.to_string(), "error": error });
        }
    };
    let peer = |peer: Peer| json!({ "behind": peer.behind, "session": session(peer.outcome) });
    let peers = peers(found, findings).map(|peers| peers.into_iter().map(peer).collect::<Vec<_>>());
    let unknown: Map<String, Value> =
        unknown(findings).map(|(what, why)| (what.to_owned(), why.to_string().into())).collect();
    json!({
        "server": found.server.to_string(),
        "local": findings.local.to_string(),
        "mapped": findings.mapped.map(|mapped| mapped.to_string()),
        "translated": findings.mapped.map(|_| findings.is_translated()),
        "same_port": findings.keeps_port(),
        "mapping": findings.mapping.map(key),
        "filtering": findings.filtering.map(key),
        "hairpin": findings.hairpin,
        "tcp443": found.tcp443,
        "peers": peers,
        "unknown": unknown,
        "meaning": meaning(found, findings),
    })
}

fn key(dependence: Dependence) -> &'static str {
    match dependence {
        Dependence::Independent => "endpoint-independent",
        Dependence::Address => "address-dependent",
        Dependence::AddressAndPort => "address-and-port-dependent",
    }
}
