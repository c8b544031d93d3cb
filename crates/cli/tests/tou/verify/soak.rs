//! One session for half an hour: NATs that forget their mappings every 20 s, a direct path that comes
//! and goes, and blackouts. No byte may be lost.

use crate::bed::bytes;
use crate::cell::{Cell, cannot_run};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use windlass_testbed::Namespace;
use windlass_testbed::nat::Dependence::{AddressAndPort, Independent};
use windlass_testbed::nat::{Crossing, Family, Gateway};

/// Connections that live as long as the soak.
const LONG_LIVED: u64 = 4;
/// Bytes that each of them sends at once, and the pause before the next ones.
const CHUNK: usize = 4000;
const PAUSE: Duration = Duration::from_millis(200);
/// Bytes of a connection that lives for a moment.
const SHORT: usize = 20_000;
/// The period of the disturbances.
const PERIOD_S: u64 = 120;

/// A change of the networks at a second of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Disturbance {
    /// The NAT of a host forgets its mappings, and gives out other ports.
    Rebinding(usize),
    /// Packets between the hosts are lost; those to the rendezvous are not.
    DirectBlocked,
    Unblocked,
    /// All packets are lost.
    Blackout,
}

/// A mapping is lost every 20 s, once with the relay in use and once just before a blackout.
fn disturbances(second: u64) -> Option<Disturbance> {
    Some(match second % PERIOD_S {
        0 | 40 | 80 => Disturbance::Rebinding(0),
        20 | 60 | 100 => Disturbance::Rebinding(1),
        30 => Disturbance::DirectBlocked,
        70 | 110 => Disturbance::Unblocked,
        102 => Disturbance::Blackout,
        _ => return None,
    })
}

/// Replaces what the Internet drops.
fn drop_on(internet: &Namespace, rules: &str) {
    let chain = format!("chain c {{\ntype filter hook forward priority filter\n{rules}\n}}");
    let table =
        format!("table inet soak\ndelete table inet soak\ntable inet soak {{\n{chain}\n}}\n");
    let mut command = internet.command("nft");
    let mut nft = command.args(["-f", "-"]).stdin(Stdio::piped()).spawn().expect("nftables");
    nft.stdin.take().expect("piped").write_all(table.as_bytes()).expect("nft reads");
    assert!(nft.wait().expect("a child").success(), "nft: {table}");
}

fn disturb(cell: &mut Cell, what: Disturbance) {
    let internet = &cell.crossing.internet;
    match what {
        Disturbance::Rebinding(host) => cell.crossing.restart_gateway(host),
        Disturbance::DirectBlocked => {
            let (a, b) = ("198.51.100.0/24", "192.0.2.0/24");
            let rule = |from, to| format!("ip saddr {from} ip daddr {to} drop\n");
            drop_on(internet, &(rule(a, b) + &rule(b, a)));
        }
        Disturbance::Unblocked => drop_on(internet, ""),
        Disturbance::Blackout => drop_on(internet, "drop"),
    }
}

/// Sends chunks until the end and compares what comes back. Returns the number of bytes.
fn converse(mut stream: TcpStream, seed: u64, until: Instant) -> Result<usize, String> {
    let mut writer = stream.try_clone().map_err(|error| error.to_string())?;
    let writes = thread::spawn(move || {
        let mut sent = 0;
        while Instant::now() < until {
            writer.write_all(&bytes(seed + sent as u64, CHUNK)).ok()?;
            sent += CHUNK;
            thread::sleep(PAUSE);
        }
        writer.shutdown(Shutdown::Write).ok()?;
        Some(sent)
    });
    let mut received = 0;
    let mut part = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(len) if part[..len] == bytes(seed + received as u64, len) => received += len,
            Ok(_) => return Err(format!("a wrong byte after {received}")),
            Err(error) => return Err(format!("after {received} bytes: {error}")),
        }
    }
    match writes.join().expect("no panic") {
        Some(sent) if sent == received => Ok(received),
        sent => Err(format!("{received} bytes came back of {sent:?}")),
    }
}

/// A connection of a moment; its time.
fn visit(cell: &Cell) -> Result<Duration, String> {
    let start = Instant::now();
    let mut stream = cell.connect_forwarded().map_err(|error| error.to_string())?;
    let sent = bytes(3, SHORT);
    stream.write_all(&sent).map_err(|error| error.to_string())?;
    stream.shutdown(Shutdown::Write).map_err(|error| error.to_string())?;
    let mut received = vec![];
    stream.read_to_end(&mut received).map_err(|error| error.to_string())?;
    match received == sent {
        true => Ok(start.elapsed()),
        false => Err(format!("{} of {SHORT} bytes came back", received.len())),
    }
}

fn duration() -> Duration {
    let seconds = std::env::var("SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1800))
}

#[test]
#[ignore = "takes half an hour: make soak-sessions"]
fn a_session_survives_half_an_hour_of_disturbances() {
    if cannot_run() {
        return;
    }
    let gateway = Gateway::Nat(Independent, AddressAndPort);
    let mut cell = Cell::new(Crossing::new("ts", Family::V4, gateway, gateway));
    cell.emulate("20ms", 0.01);
    cell.expose(true, &[]);
    let forward = cell.start_forward();
    let (start, end) = (Instant::now(), Instant::now() + duration());
    let long_lived: Vec<_> = (0..LONG_LIVED)
        .map(|seed| {
            let stream = cell.connect_forwarded().expect("forward listens");
            thread::spawn(move || converse(stream, seed << 40, end))
        })
        .collect();
    let mut counts: BTreeMap<Disturbance, u32> = BTreeMap::new();
    let mut on_path: BTreeMap<String, u32> = BTreeMap::new();
    let mut visits = vec![];
    let mut changes = 0;
    let mut last = String::new();
    for second in 0.. {
        if let Some(what) = disturbances(second) {
            disturb(&mut cell, what);
            *counts.entry(what).or_default() += 1;
        }
        let path = cell.path_of(forward.id()).unwrap_or_else(|| "none".to_owned());
        changes += u32::from(path != last);
        *on_path.entry(path.clone()).or_default() += 1;
        last = path;
        // Not in a blackout, which may be longer than an attempt to connect.
        if second % 15 == 10 {
            visits.push(visit(&cell));
        }
        let next = start + Duration::from_secs(second + 1);
        thread::sleep(next.saturating_duration_since(Instant::now()));
        if Instant::now() >= end {
            break;
        }
    }
    drop_on(&cell.crossing.internet, "");
    report(&counts, &on_path, changes, &visits);
    let ends: Vec<_> = long_lived.into_iter().map(|one| one.join().expect("no panic")).collect();
    println!("long-lived connections: {ends:?}");
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    assert!(visits.iter().all(Result::is_ok), "{visits:?}");
}

fn report(
    counts: &BTreeMap<Disturbance, u32>,
    on_path: &BTreeMap<String, u32>,
    changes: u32,
    visits: &[Result<Duration, String>],
) {
    for (what, count) in counts {
        println!("{what:?}: {count} times");
    }
    println!("seconds on each path: {on_path:?}; {changes} changes");
    let mut times: Vec<_> = visits.iter().filter_map(|visit| visit.as_ref().ok()).collect();
    times.sort();
    let (median, longest) = (times.get(times.len() / 2), times.last());
    println!(
        "short connections: {} of {} intact, median {median:?}, longest {longest:?}",
        times.len(),
        visits.len()
    );
}
