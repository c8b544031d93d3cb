//! `windlass tou status`.

use super::args::TouStatus;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::stdout;
use serde_json::json;
use windlass_base::printable_lines;
use windlass_forward::status::{self, PeerStatus, SessionStatus, Status};

/// Prints what the running commands tell.
pub(crate) fn status(args: &TouStatus) -> Result<(), Failure> {
    let mut running = Vec::new();
    for folder in status::all_folders() {
        let found = status::query(&folder);
        running.extend(found.map_err(|error| Failure::io(folder.display(), &error))?);
    }
    if args.json {
        return stdout::line(&Document::new("tou.status", json!({ "running": running })).pretty());
    }
    if running.is_empty() {
        return stdout::line("no expose, forward, pipe, socks or run of this user is running");
    }
    let here = status::network_namespace();
    let texts: Vec<String> = running.iter().map(|one| paragraph(one, here.as_deref())).collect();
    // Other users' commands answer root.
    stdout::line(&printable_lines(&texts.join("\n\n")).to_string())
}

fn paragraph(status: &Status, here: Option<&str>) -> String {
    let Status { command, pid, uptime_s, .. } = status;
    let plain = if status.encrypted { "" } else { ", not encrypted" };
    let mut lines = vec![
        format!("{command} (process {pid}, for {}{plain})", lasted(*uptime_s)),
        format!("  runs       {}", place(status, here)),
        format!("  this host  {} at UDP port {}", status.key, status.local.port()),
        format!("  via        {}", status.via.join(", ")),
        format!("  serves     {}", status.serves.join(", ")),
    ];
    if status.peers.is_empty() {
        lines.push("  no session".to_owned());
    }
    status.peers.iter().for_each(|peer| peer_lines(peer, &mut lines));
    lines.join("\n")
}

/// The user and the network namespace of a command; `here` is the namespace of this process.
fn place(status: &Status, here: Option<&str>) -> String {
    let user = status.user.as_ref().map(|user| format!("as {user}"));
    let namespace = status.namespace.as_deref().map(|namespace| match Some(namespace) == here {
        true => format!("in this network namespace, {namespace}"),
        false => format!("in the network namespace {namespace}"),
    });
    user.into_iter().chain(namespace).collect::<Vec<_>>().join(" ")
}

fn peer_lines(peer: &PeerStatus, lines: &mut Vec<String>) {
    let name = peer.name.as_ref().map(|name| format!("{name} ")).unwrap_or_default();
    lines.push(format!("  peer       {name}{}", peer.key));
    if peer.sessions.is_empty() {
        lines.push("    no session now".to_owned());
    }
    lines.extend(peer.sessions.iter().map(session_line));
    lines.push(format!(
        "    {} connections open of {}, sent {}, received {}",
        peer.open,
        peer.connections,
        bytes(peer.sent_bytes),
        bytes(peer.received_bytes)
    ));
    if let Some(srtt) = peer.srtt_us {
        lines.push(format!("    SRTT {}, cwnd {}", milliseconds(srtt), bytes(peer.cwnd_bytes)));
    }
}

fn session_line(session: &SessionStatus) -> String {
    let rtt = session.round_trip_us.map(|us| format!(", RTT {}", milliseconds(us)));
    match (&session.path, session.local, session.remote) {
        (Some(path), Some(local), Some(remote)) => {
            format!("    {path}: {local} to {remote}{}", rtt.unwrap_or_default())
        }
        _ => format!("    {}: no path", session.state),
    }
}

fn milliseconds(us: u64) -> String {
    format!("{:.1} ms", us as f64 / 1_000.0)
}

fn lasted(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = "bytes";
    for next in UNITS {
        if value < 1_000.0 {
            break;
        }
        value /= 1_000.0;
        unit = next;
    }
    if unit == "bytes" { format!("{count} bytes") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_a_peer() {
        let session = SessionStatus {
            state: "connected".into(),
            path: Some("direct".into()),
            local: Some("192.0.2.1:5000".parse().expect("an address")),
            remote: Some("198.51.100.1:6000".parse().expect("an address")),
            round_trip_us: Some(41_234),
            asked: true,
        };
        let peer = PeerStatus {
            key: "KEY".into(),
            name: Some("laptop".into()),
            sessions: vec![session],
            open: 2,
            connections: 7,
            sent_bytes: 999,
            received_bytes: 1_234_567,
            cwnd_bytes: 20_000,
            srtt_us: Some(41_900),
        };
        let status = Status {
            command: "forward".into(),
            pid: 7,
            user: Some("root".into()),
            namespace: Some("lab".into()),
            uptime_s: 3_700,
            key: "OWN".into(),
            local: "0.0.0.0:5000".parse().expect("an address"),
            serves: vec!["127.0.0.1:2222 to ssh@laptop".into()],
            via: vec!["host:3478".into()],
            encrypted: true,
            peers: vec![peer],
        };
        let expected = "\
forward (process 7, for 1 h 1 min)
  runs       as root in the network namespace lab
  this host  OWN at UDP port 5000
  via        host:3478
  serves     127.0.0.1:2222 to ssh@laptop
  peer       laptop KEY
    direct: 192.0.2.1:5000 to 198.51.100.1:6000, RTT 41.2 ms
    2 connections open of 7, sent 999 bytes, received 1.2 MB
    SRTT 41.9 ms, cwnd 20.0 kB";
        assert_eq!(paragraph(&status, Some("net:[1]")), expected);
        let here = paragraph(&status, Some("lab"));
        assert!(here.contains("as root in this network namespace, lab\n"), "{here}");
    }
}
