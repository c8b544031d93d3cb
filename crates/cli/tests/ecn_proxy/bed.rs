//! A client, a router and a server, each a network namespace of the test's own, and a proxy on the
//! router. The client asks for no ECN; the server agrees to it.

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use windlass_testbed::{Need, Routed, SocketOptions, connect, skip_unless, unique};

pub(crate) use windlass_testbed::{Background as Proxy, PATIENCE, eventually, text};

pub(crate) const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");
/// The router's interface to the client, and the one to the server.
pub(crate) const LAN: &str = "lan";
pub(crate) const WAN: &str = "wan";

/// True, after a line that says why, if a test cannot run.
pub(crate) fn skipped(programs: &[&str]) -> bool {
    let programs = ["ip", "ss", "nsenter"].iter().chain(programs);
    let programs = programs.map(|program| Need::Program(program));
    skip_unless(&[Need::Root, Need::Btf].into_iter().chain(programs).collect::<Vec<_>>())
}

/// The namespaces and a folder, as long as the value lives.
pub(crate) struct Bed {
    network: Routed,
    folder: PathBuf,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        let folder = std::env::temp_dir().join(unique("wep"));
        fs::create_dir_all(&folder).expect("writable");
        let network = Routed::new("wep", [LAN, WAN], "", "");
        network.client.sysctl("ipv4/tcp_ecn", "0");
        network.server.sysctl("ipv4/tcp_ecn", "1");
        Bed { network, folder }
    }

    /// Limits the links, so that data under way leaves the processor to the proxy.
    pub(crate) fn slow_down(&self) {
        for device in [LAN, WAN] {
            let tbf = "root tbf rate 20mbit burst 16k limit 100k";
            self.network.router.tc(&format!("qdisc add dev {device} {tbf}"));
        }
    }

    pub(crate) fn network(&self) -> &Routed {
        &self.network
    }

    /// Removes the interface to the client.
    pub(crate) fn remove_lan(&self) {
        self.network.disconnect_client();
    }

    /// Gives the router another interface of that name.
    pub(crate) fn restore_lan(&self) {
        self.network.connect_client();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn socket(&self) -> String {
        self.path("proxy.sock").display().to_string()
    }

    /// A command in the router's namespace.
    pub(crate) fn on_router(&self, program: &str) -> Command {
        self.network.router.command(program)
    }

    /// `windlass ecn-proxy run` there, with these options.
    pub(crate) fn run(&self, options: &[&str]) -> Proxy {
        let mut command = self.on_router(WINDLASS);
        command.args(["ecn-proxy", "run", "--socket", &self.socket()]).args(options);
        Proxy::start(command)
    }

    /// The same with nothing but the interface to the client.
    pub(crate) fn run_plain(&self) -> Proxy {
        let proxy = self.run(&["--client-side", LAN]);
        proxy.wait_for("running");
        proxy
    }

    /// One of the commands that ask the proxy.
    pub(crate) fn ask(&self, command: &[&str]) -> Output {
        let mut windlass = Command::new(WINDLASS);
        windlass.arg("ecn-proxy").args(command).args(["--socket", &self.socket()]);
        windlass.output().expect("starts")
    }

    /// The same with --json.
    pub(crate) fn json(&self, command: &str) -> Value {
        let output = self.ask(&[command, "--json"]);
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The connections that the proxy lists.
    pub(crate) fn flows(&self) -> Vec<Value> {
        let output = self.ask(&["flows", "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let lines = text(&output.stdout);
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// A connection from the client to the server.
    pub(crate) fn open(&self) -> Connection {
        let Routed { client, server, .. } = &self.network;
        let options = SocketOptions::default();
        let address = self.network.server_address(false);
        let ends = connect((client, options), (server, options), address).expect("a route");
        let (client, server) = ends;
        for end in [&client, &server] {
            end.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        }
        Connection { client, server }
    }

    /// Whether the server's end uses ECN, by its kernel's own account.
    pub(crate) fn server_has_ecn(&self, connection: &Connection) -> bool {
        let port = connection.client.local_addr().expect("connected").port();
        let listed = self.network.server.output("ss", &format!("-Htnie dport = :{port}"));
        assert!(listed.contains("cwnd"), "ss knows the connection: {listed:?}");
        listed.split_whitespace().any(|word| word == "ecn")
    }

    /// Whether a new connection is served: the server's end uses ECN, and the client never asks.
    pub(crate) fn serves(&self) -> bool {
        self.server_has_ecn(&self.open())
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Both ends of a connection.
pub(crate) struct Connection {
    pub client: TcpStream,
    pub server: TcpStream,
}

impl Connection {
    /// Bytes up and down arrive as they were.
    pub(crate) fn carries(&mut self) {
        let sent: Vec<u8> = (0..200_000u32).map(|n| (n * 7 % 251) as u8).collect();
        for (from, to) in [(&self.client, &self.server), (&self.server, &self.client)] {
            let (mut from, mut to) = (from.try_clone().expect("open"), to);
            let data = sent.clone();
            let sender = thread::spawn(move || from.write_all(&data));
            let mut got = vec![0; sent.len()];
            to.read_exact(&mut got).expect("all of it");
            sender.join().expect("no panic").expect("sent");
            assert!(got == sent, "what arrived is not what was sent");
        }
    }

    /// The same again and again while `during` runs.
    pub(crate) fn while_carrying(&mut self, during: impl FnOnce()) {
        // Dropped by a panic too, so that the thread ends.
        let (stop, stopped) = channel::<()>();
        thread::scope(|scope| {
            let stop = stop;
            scope.spawn(move || {
                while stopped.try_recv() == Err(TryRecvError::Empty) {
                    self.carries();
                }
            });
            during();
            drop(stop);
        });
    }

    /// The address of the served host's end, as the proxy prints it.
    pub(crate) fn host(&self) -> String {
        self.client.local_addr().expect("connected").to_string()
    }
}

/// The address at which the proxy serves metrics, from its log.
pub(crate) fn metrics_address(proxy: &Proxy) -> SocketAddr {
    let line = proxy.wait_for("metrics at http://");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    address.expect("an address").parse().expect("an address")
}

/// The response of an HTTP server on the router to a request for `path`.
pub(crate) fn get(bed: &Bed, address: SocketAddr, path: &str) -> String {
    assert_eq!(address.ip(), IpAddr::from(Ipv4Addr::LOCALHOST));
    let mut stream = bed.network.router.inside(|| TcpStream::connect(address)).expect("a server");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: router\r\n\r\n").expect("open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    answer
}
