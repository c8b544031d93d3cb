//! Two hosts behind gateways, a rendezvous between them, and `expose` and `forward` on the hosts: real
//! kernels, as root.

use crate::bed::{bytes, text};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use windlass_testbed::nat::Crossing;
use windlass_testbed::{Background, Namespace, Need, eventually, output, skip_unless, unique};

/// Bytes that each connection carries in each direction.
pub(crate) const BYTES: usize = 100_000;
/// The port of the echo service at the exposing host, and of `forward` at the other one.
const SERVICE: u16 = 9000;
const FORWARD: u16 = 9001;

pub(crate) fn cannot_run() -> bool {
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

    /// The public key of a host, which is made on first use.
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
pub(crate) struct Killed(Child);

impl Killed {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The result of a cell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The path that the session settled on, `direct` or `relayed`, and the time until the first byte.
    Path(String, Duration),
    /// The error of `pipe`.
    Error(String),
}

/// A crossing with a rendezvous, a service at the second host, and what carries it to the first.
pub(crate) struct Cell {
    pub(crate) crossing: Crossing,
    keys: Keys,
    via: String,
    pub(crate) rendezvous: Background,
    pub(crate) expose: Option<Background>,
    link: Option<Background>,
}

/// Copies each connection's bytes back, for as long as the process runs.
fn serve_echo(host: &Namespace) {
    let listener = host.inside(|| TcpListener::bind(("127.0.0.1", SERVICE))).expect("a port");
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                let mut copy = stream.try_clone().expect("a descriptor");
                let _ = io::copy(&mut copy, &mut stream);
                let _ = stream.shutdown(Shutdown::Write);
            });
        }
    });
}

/// Starts the rendezvous; waits until it takes connections.
fn start_rendezvous(crossing: &Crossing, keys: &Keys) -> Background {
    let address = crossing.rendezvous_addresses()[0];
    let mut command = crossing.rendezvous.command(env!("CARGO_BIN_EXE_windlass"));
    keys.public("rendezvous");
    command.args(["tou", "rendezvous", "--key", &keys.file("rendezvous")]);
    command.args(["--listen", &with_port(address, 3478), "--tls", &with_port(address, 443)]);
    // The network behind a firewall has addresses that the Internet has not.
    command.args(["--relay-peer", "198.18.0.0/15", "--relay-address", &address.to_string()]);
    command.stdout(Stdio::null());
    let rendezvous = Background::start(command);
    let listens = || {
        let connect = || TcpStream::connect(SocketAddr::new(address, 443));
        crossing.rendezvous.inside(connect).is_ok()
    };
    assert!(eventually(listens), "the rendezvous does not start");
    rendezvous
}

fn with_port(address: IpAddr, port: u16) -> String {
    SocketAddr::new(address, port).to_string()
}

impl Cell {
    pub(crate) fn new(crossing: Crossing) -> Cell {
        let keys = Keys::new();
        let address = crossing.rendezvous_addresses()[0];
        let rendezvous = start_rendezvous(&crossing, &keys);
        serve_echo(&crossing.hosts[1]);
        let via = match address {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Cell { crossing, keys, via, rendezvous, expose: None, link: None }
    }

    /// Delays every packet on the Internet by `delay`, a time such as `20ms`, and loses this share.
    pub(crate) fn emulate(&mut self, delay: &str, loss: f64) {
        let internet = &self.crossing.internet;
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["link", "--delay", delay, "--loss", &format!("{}%", loss * 100.0)]);
        let port = |device: &str| format!("{device}@{}", internet.name());
        command.args(["--port", &port("entry"), "--port", &port("exit")]).stdout(Stdio::null());
        self.link = Some(Background::start(command));
        let route = || {
            let command = format!("-n {} route add default dev entry table 100", internet.name());
            output("ip", &command).status.success()
        };
        assert!(eventually(route), "the link does not start");
        for device in ["site0", "site1", "rendezvous"] {
            internet.ip(&format!("rule add iif {device} lookup 100"));
        }
    }

    /// Starts the rendezvous again.
    pub(crate) fn restart_rendezvous(&mut self) {
        self.rendezvous = start_rendezvous(&self.crossing, &self.keys);
    }

    pub(crate) fn command(&self, host: usize, name: &str) -> Command {
        let mut command = self.crossing.hosts[host].command(env!("CARGO_BIN_EXE_windlass"));
        // A key that is named must exist.
        self.keys.public(["a", "b"][host]);
        let key = self.keys.file(["a", "b"][host]);
        command.args(["tou", name, "--key", &key, "--via", &self.via, "--config", "/dev/null"]);
        command
    }

    /// Starts `expose` with the echo service and further arguments; waits until the host is
    /// registered, if that is possible.
    pub(crate) fn expose(&mut self, possible: bool, arguments: &[&str]) {
        let mut command = self.command(1, "expose");
        command.arg(format!("echo=127.0.0.1:{SERVICE}")).args(arguments);
        command.args(["--allow", &self.keys.public("a")]).stdout(Stdio::null());
        let expose = Background::start(command);
        if possible {
            expose.wait_for("registered");
        }
        self.expose = Some(expose);
    }

    /// The key of the exposing host.
    pub(crate) fn key(&self) -> String {
        self.keys.public("b")
    }

    /// A service of the exposing host, as `forward` and `pipe` take it.
    pub(crate) fn service(&self, name: &str) -> String {
        format!("{name}@{}", self.key())
    }

    /// The error of an attempt that cannot work.
    pub(crate) fn error(&self) -> Found {
        let mut command = self.command(0, "pipe");
        command.arg(self.service("echo")).stdin(Stdio::null());
        let printed = command.output().expect("starts");
        assert_eq!(printed.status.code(), Some(1), "{}", text(&printed.stderr));
        // After the log of the attempt.
        let printed = text(&printed.stderr);
        Found::Error(printed.lines().last().unwrap_or_default().to_owned())
    }

    /// Starts `forward` for the echo service.
    pub(crate) fn start_forward(&self) -> Killed {
        let mut command = self.command(0, "forward");
        command.arg(format!("{FORWARD}={}", self.service("echo")));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Killed(command.spawn().expect("starts"))
    }

    /// Opens a connection to the port of `forward`; waits until it listens.
    pub(crate) fn connect_forwarded(&self) -> io::Result<TcpStream> {
        let host = &self.crossing.hosts[0];
        let mut stream = Err(io::ErrorKind::TimedOut.into());
        eventually(|| {
            stream = host.inside(|| TcpStream::connect(("127.0.0.1", FORWARD)));
            stream.is_ok()
        });
        stream
    }

    /// Carries bytes both ways, and waits until the session has the path `expected`.
    pub(crate) fn path(&self, expected: &str) -> Found {
        let start = Instant::now();
        let forward = self.start_forward();
        let first = self.echo(start);
        let mut path = None;
        eventually(|| {
            path = self.path_of(forward.id());
            path.as_deref() == Some(expected)
        });
        self.echo(start);
        Found::Path(path.unwrap_or_else(|| "no path".to_owned()), first)
    }

    /// Sends bytes through the forwarded port and gets them back. Returns when the first one came.
    pub(crate) fn echo(&self, start: Instant) -> Duration {
        let mut stream = self.connect_forwarded().expect("forward listens");
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
    pub(crate) fn path_of(&self, pid: u32) -> Option<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let printed = command.args(["tou", "status", "--json"]).output().expect("starts");
        let document: Value = serde_json::from_slice(&printed.stdout).expect("JSON");
        let commands = document["running"].as_array().expect("a list");
        let own = commands.iter().find(|one| one["pid"] == pid)?;
        own["peers"][0]["sessions"][0]["path"].as_str().map(str::to_owned)
    }
}
