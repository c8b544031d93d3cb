//! Sessions behind every pair of gateways: `expose` and `forward` on real kernels, as root. Each cell
//! must end as theory predicts (docs/internals/nat-traversal.md).

use crate::bed::{bytes, text};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use windlass_testbed::nat::{Crossing, Family, Gateway, Outcome, predicted, predicted_behind_one};
use windlass_testbed::{Background, Namespace, Need, eventually, skip_unless, unique};

/// Bytes that each connection carries in each direction.
const BYTES: usize = 100_000;
/// The port of the service at the exposing host, and of `forward` at the other one.
const SERVICE: u16 = 9000;
const FORWARD: u16 = 9001;

fn cannot_run() -> bool {
    skip_unless(&[Need::Root, Need::Tun, Need::Program("ip"), Need::Program("nft")])
}

/// The keys of the rendezvous and of both hosts, in a folder that is removed in the end.
struct Keys(PathBuf);

impl Keys {
    fn new() -> Keys {
        let path = std::env::temp_dir().join(unique("matrix"));
        std::fs::create_dir(&path).expect("a folder");
        Keys(path)
    }

    fn file(&self, of: &str) -> String {
        self.0.join(of).to_str().expect("UTF-8").to_owned()
    }

    /// The public key.
    fn public(&self, of: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let printed = command.args(["tou", "key", "--file", &self.file(of)]).output();
        let printed = text(&printed.expect("starts").stdout);
        printed.split_whitespace().find(|word| word.len() == 52).expect("a key").to_owned()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A child that is killed in the end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What became of a cell.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// The path that the session settled on, `direct` or `relayed`, and the time until the first byte.
    Path(String, Duration),
    /// The error of `pipe`.
    Error(String),
}

/// A crossing with a rendezvous, a service at the second host, and what carries it to the first.
struct Cell {
    crossing: Crossing,
    keys: Keys,
    via: String,
    _rendezvous: Background,
    expose: Option<Background>,
}

/// Copies each connection's bytes back, for as long as the process runs.
fn serve_echo(host: &Namespace) {
    let listener = host.inside(|| TcpListener::bind(("127.0.0.1", SERVICE))).expect("a port");
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                let mut copy = stream.try_clone().expect("a descriptor");
                let _ = std::io::copy(&mut copy, &mut stream);
                let _ = stream.shutdown(Shutdown::Write);
            });
        }
    });
}

fn with_port(address: IpAddr, port: u16) -> String {
    SocketAddr::new(address, port).to_string()
}

impl Cell {
    fn new(crossing: Crossing) -> Cell {
        let keys = Keys::new();
        let address = crossing.rendezvous_addresses()[0];
        let mut command = crossing.rendezvous.command(env!("CARGO_BIN_EXE_windlass"));
        command.args(["tou", "rendezvous", "--key", &keys.file("rendezvous")]);
        command.args(["--listen", &with_port(address, 3478), "--tls", &with_port(address, 443)]);
        command.args(["--relay-address", &address.to_string()]).stdout(Stdio::null());
        let rendezvous = Background::start(command);
        let listens = || {
            let connect = || TcpStream::connect(SocketAddr::new(address, 443));
            crossing.rendezvous.inside(connect).is_ok()
        };
        assert!(eventually(listens), "the rendezvous does not start");
        serve_echo(&crossing.hosts[1]);
        let via = match address {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Cell { crossing, keys, via, _rendezvous: rendezvous, expose: None }
    }

    fn command(&self, host: usize, name: &str) -> Command {
        let mut command = self.crossing.hosts[host].command(env!("CARGO_BIN_EXE_windlass"));
        let key = self.keys.file(["a", "b"][host]);
        command.args(["tou", name, "--key", &key, "--via", &self.via, "--config", "/dev/null"]);
        command
    }

    /// Starts `expose`; waits until the host is registered, if that is possible.
    fn expose(&mut self, possible: bool) {
        let mut command = self.command(1, "expose");
        command.arg(format!("echo=127.0.0.1:{SERVICE}"));
        command.args(["--allow", &self.keys.public("a")]).stdout(Stdio::null());
        let expose = Background::start(command);
        if possible {
            expose.wait_for("registered");
        }
        self.expose = Some(expose);
    }

    fn service(&self) -> String {
        format!("echo@{}", self.keys.public("b"))
    }

    /// The error of an attempt that cannot work.
    fn error(&self) -> Found {
        let mut command = self.command(0, "pipe");
        command.arg(self.service()).stdin(Stdio::null());
        let printed = command.output().expect("starts");
        assert_eq!(printed.status.code(), Some(1), "{}", text(&printed.stderr));
        // After the log of the attempt.
        let printed = text(&printed.stderr);
        Found::Error(printed.lines().last().unwrap_or_default().to_owned())
    }

    /// Carries bytes both ways, and waits until the session has the path `expected`.
    fn path(&self, expected: &str) -> Found {
        let start = Instant::now();
        let mut command = self.command(0, "forward");
        command.arg(format!("{FORWARD}={}", self.service()));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let forward = Killed(command.spawn().expect("starts"));
        let first = self.echo(start);
        let mut path = None;
        eventually(|| {
            path = self.path_of(forward.0.id());
            path.as_deref() == Some(expected)
        });
        self.echo(start);
        Found::Path(path.unwrap_or_else(|| "no path".to_owned()), first)
    }

    /// Sends bytes through the forwarded port and gets them back. Returns when the first one came.
    fn echo(&self, start: Instant) -> Duration {
        let host = &self.crossing.hosts[0];
        let mut stream = None;
        let connected = eventually(|| {
            stream = host.inside(|| TcpStream::connect(("127.0.0.1", FORWARD))).ok();
            stream.is_some()
        });
        assert!(connected, "forward does not listen");
        let mut stream = stream.expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        let sent = bytes(5, BYTES);
        let mut writer = stream.try_clone().expect("a descriptor");
        let copy = sent.clone();
        let writes = thread::spawn(move || {
            writer.write_all(&copy).expect("it takes bytes");
            writer.shutdown(Shutdown::Write).expect("open");
        });
        let mut received = vec![0];
        stream.read_exact(&mut received).expect("the first byte");
        let first = start.elapsed();
        stream.read_to_end(&mut received).expect("an end in order");
        writes.join().expect("all was written");
        assert!(received == sent, "{} of {BYTES} bytes came back", received.len());
        first
    }

    /// The path that `tou status` shows for the command with this process.
    fn path_of(&self, pid: u32) -> Option<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let printed = command.args(["tou", "status", "--json"]).output().expect("starts");
        let document: Value = serde_json::from_slice(&printed.stdout).expect("JSON");
        let commands = document["running"].as_array().expect("a list");
        let own = commands.iter().find(|one| one["pid"] == pid)?;
        own["peers"][0]["sessions"][0]["path"].as_str().map(str::to_owned)
    }
}

/// Runs a cell. Returns its text for the table, or the reason why theory is wrong.
fn run(crossing: Crossing, expected: Outcome, exposable: bool) -> Result<String, String> {
    let mut cell = Cell::new(crossing);
    cell.expose(exposable);
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
        let found = pair(Family::V4, a, b).expect("as theory says");
        assert!(found.starts_with(path), "{} and {}: {found}", a.name(), b.name());
    }
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
