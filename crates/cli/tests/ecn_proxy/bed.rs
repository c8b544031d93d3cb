//! A client, a router and a server, each a network namespace of the test's own, and a proxy on the
//! router. The client asks for no ECN; the server agrees to it.

use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");
/// Longer than anything here takes on a machine under load.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The router's interface to the client, and the one to the server.
pub(crate) const LAN: &str = "lan";
pub(crate) const WAN: &str = "wan";

/// True if a test cannot run; says why.
pub(crate) fn skipped(programs: &[&str]) -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let has = |program: &&&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).exists())
    };
    let missing = ["ip", "ss", "nsenter"].iter().chain(programs).find(|program| !has(program));
    match (root, missing, Path::new("/sys/kernel/btf/vmlinux").exists()) {
        (false, ..) => println!("skipped: needs root"),
        (_, Some(program), _) => println!("skipped: needs {program}"),
        (.., false) => println!("skipped: needs a kernel with BTF"),
        _ => return false,
    }
    true
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until `done`; false if it never is.
pub(crate) fn eventually(mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// The namespaces and a folder, as long as the value lives.
pub(crate) struct Bed {
    client: String,
    router: String,
    server: String,
    folder: PathBuf,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wep{}x{next}", std::process::id());
        let [client, router, server] = ["c", "r", "s"].map(|host| format!("{name}{host}"));
        let folder = std::env::temp_dir().join(&name);
        fs::create_dir_all(&folder).expect("writable");
        let bed = Bed { client, router, server, folder };
        for namespace in bed.namespaces() {
            ip(&format!("netns add {namespace}"));
            ip(&format!("-n {namespace} link set lo up"));
        }
        bed.connect(LAN, &bed.client, 1);
        bed.connect(WAN, &bed.server, 2);
        sysctl(&bed.router, "ip_forward", "1");
        sysctl(&bed.client, "tcp_ecn", "0");
        sysctl(&bed.server, "tcp_ecn", "1");
        bed
    }

    fn namespaces(&self) -> [&String; 3] {
        [&self.client, &self.router, &self.server]
    }

    /// Joins the router and a host; the router's end gets the name.
    fn connect(&self, own: &str, host: &str, subnet: u32) {
        let router = &self.router;
        ip(&format!("-n {router} link add {own} type veth peer router netns {host}"));
        ip(&format!("-n {router} address add 10.9.{subnet}.1/24 dev {own}"));
        ip(&format!("-n {host} address add 10.9.{subnet}.2/24 dev router"));
        ip(&format!("-n {router} link set {own} up"));
        ip(&format!("-n {host} link set router up"));
        ip(&format!("-n {host} route add default via 10.9.{subnet}.1"));
    }

    /// Takes the interface to the client away, and gives the router another of that name.
    pub(crate) fn remove_lan(&self) {
        ip(&format!("-n {} link del {LAN}", self.router));
    }

    pub(crate) fn restore_lan(&self) {
        self.connect(LAN, &self.client, 1);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn socket(&self) -> String {
        self.path("proxy.sock").display().to_string()
    }

    /// A command in the router's namespace.
    pub(crate) fn on_router(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.router)).arg(program);
        command
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
        let address = SocketAddr::from((Ipv4Addr::new(10, 9, 2, 2), 0));
        let listener = inside(&self.server, || TcpListener::bind(address)).expect("a free port");
        let peer = listener.local_addr().expect("bound");
        let client = inside(&self.client, || TcpStream::connect(peer)).expect("a way there");
        let (server, _) = listener.accept().expect("connected");
        for end in [&client, &server] {
            end.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        }
        Connection { client, server }
    }

    /// The server's end speaks ECN, as its kernel says.
    pub(crate) fn server_has_ecn(&self, connection: &Connection) -> bool {
        let port = connection.client.local_addr().expect("connected").port();
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.server));
        command.args(["ss", "-Htnie", "dport", "=", &format!(":{port}")]);
        let told = text(&command.output().expect("starts").stdout);
        assert!(told.contains("cwnd"), "ss knows the connection: {told:?}");
        told.split_whitespace().any(|word| word == "ecn")
    }

    /// A new connection is served: the server's end speaks ECN, which the client never asked for.
    pub(crate) fn serves(&self) -> bool {
        self.server_has_ecn(&self.open())
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        for namespace in self.namespaces() {
            let _ = Command::new("ip").args(["netns", "del", namespace]).status();
        }
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

    /// The served host's end as the proxy writes it.
    pub(crate) fn host(&self) -> String {
        self.client.local_addr().expect("connected").to_string()
    }
}

/// A running daemon; killed with the value.
pub(crate) struct Proxy {
    child: Child,
    lines: Receiver<String>,
}

impl Proxy {
    pub(crate) fn start(mut command: Command) -> Proxy {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("starts");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || stderr.lines().map_while(Result::ok).all(|l| sender.send(l).is_ok()));
        Proxy { child, lines }
    }

    /// The next line of the log with these words.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut log = String::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => log += &format!("{line}\n"),
                Err(RecvTimeoutError::Timeout) => panic!("no {words:?} in time after\n{log}"),
                Err(RecvTimeoutError::Disconnected) => panic!("ended without {words:?}:\n{log}"),
            }
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let mut kill = Command::new("kill");
        kill.args([format!("-{signal}"), self.child.id().to_string()]);
        assert!(kill.status().expect("starts").success());
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        let ended = || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        };
        assert!(eventually(ended), "it does not end");
        status.expect("ended")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("starts");
    assert!(output.status.success(), "ip {arguments}: {}", text(&output.stderr));
}

fn sysctl(namespace: &str, key: &str, value: &str) {
    let path = format!("/proc/sys/net/ipv4/{key}");
    inside(namespace, || fs::write(&path, value)).expect("a key of the kernel");
}

/// Runs `action` on a thread of its own in a network namespace.
fn inside<T: Send>(namespace: &str, action: impl FnOnce() -> T + Send) -> T {
    let file = File::open(format!("/run/netns/{namespace}")).expect("made by ip");
    let enter = || {
        nix::sched::setns(&file, nix::sched::CloneFlags::CLONE_NEWNET).expect("root");
        action()
    };
    thread::scope(|scope| scope.spawn(enter).join().expect("no panic"))
}

/// What `address` on the router serves at `path`.
pub(crate) fn get(bed: &Bed, address: SocketAddr, path: &str) -> String {
    assert_eq!(address.ip(), IpAddr::from(Ipv4Addr::LOCALHOST));
    let mut stream = inside(&bed.router, || TcpStream::connect(address)).expect("a server");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: router\r\n\r\n").expect("open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    answer
}
