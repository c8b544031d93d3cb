//! `windlass tou rendezvous` as an operator and as hosts meet it.

use crate::bed::{Running, run, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use windlass_testbed::nat::{Crossing, Family, Gateway};
use windlass_testbed::{Background, Need, skip_unless, unique};

/// A folder of its own, which is removed in the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        let path = std::env::temp_dir().join(unique("rendezvous"));
        std::fs::create_dir(&path).expect("a folder");
        Folder(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// A file with a secret key.
    pub(crate) fn key(&self, name: &str) -> String {
        let file = self.file(name);
        assert!(run(&["key", "--file", &file]).status.success());
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A command that prints a line of JSON when it is ready.
pub(crate) struct Ready {
    child: Child,
    pub(crate) line: Value,
}

impl Ready {
    pub(crate) fn start(mut command: Command) -> Ready {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.as_mut().expect("piped"));
        stdout.read_line(&mut line).expect("UTF-8");
        let line = serde_json::from_str(&line).expect("JSON");
        Ready { child, line }
    }

    pub(crate) fn address(&self, of: &str) -> SocketAddr {
        let text = self.line[of].as_str().or(self.line[of][0].as_str()).expect("an address");
        text.parse().expect("an address")
    }

    fn terminate(mut self) -> Option<i32> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).expect("it runs");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn windlass() -> Command {
    Command::new(env!("CARGO_BIN_EXE_windlass"))
}

/// Its arguments, at free ports of the loopback address.
pub(crate) fn local(key: &str) -> Command {
    let mut command = windlass();
    command.args(["tou", "rendezvous", "--listen", "127.0.0.1:0", "--tls", "127.0.0.1:0"]);
    command.args(["--metrics", "127.0.0.1:0", "--json", "--key", key]);
    command
}

#[test]
fn it_says_where_it_is_serves_metrics_and_ends_in_order() {
    let folder = Folder::new();
    let key = folder.key("key");
    let first = Ready::start(local(&key));
    assert_eq!((&first.line["schema"], &first.line["kind"]), (&json!(1), &json!("tou.rendezvous")));
    assert_eq!(first.address("udp"), first.address("tcp"), "at one port");
    let own = first.line["key"].clone();
    assert_eq!(own.as_str().map(str::len), Some(52));
    let mut stream = TcpStream::connect(first.address("metrics")).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("open");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("UTF-8");
    assert!(page.contains("\nwindlass_rendezvous_registrations 0\n"), "{page}");
    assert_eq!(first.terminate(), Some(0));
    let second = Ready::start(local(&key));
    assert_eq!(second.line["key"], own, "the key is kept");
    assert_eq!(second.terminate(), Some(0));
}

#[test]
fn it_tells_the_service_manager() {
    let folder = Folder::new();
    let manager = folder.file("notify");
    let socket = UnixDatagram::bind(&manager).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    let mut command = local(&folder.key("key"));
    let running = Ready::start({
        command.env("NOTIFY_SOCKET", &manager).env("WATCHDOG_USEC", "30000000");
        command
    });
    let next = || {
        let mut bytes = [0; 256];
        let len = socket.recv(&mut bytes).expect("a message");
        text(&bytes[..len])
    };
    assert!(next().starts_with("READY=1"));
    assert!(next().starts_with("WATCHDOG=1"));
    assert_eq!(running.terminate(), Some(0));
    while !next().starts_with("STOPPING=1") {}
}

#[test]
fn impossible_addresses_are_refused() {
    let folder = Folder::new();
    let key = folder.key("key");
    let empty = folder.file("empty");
    std::fs::write(&empty, "").expect("a file");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("bound").to_string();
    let at = ["--listen", "127.0.0.1:0", "--tls", "127.0.0.1:0"];
    for (arguments, message, status) in [
        (&["--alternate", "127.0.0.2"][..], "--alternate: the port has no next one", 2),
        (&["--relay-address", "0.0.0.0"], "peers cannot send to it", 2),
        (&["--relay-ports", "9-8"], "expected ports FIRST-LAST", 2),
        (&["--relay-address", "10.0.0.1", "--no-relay"], "cannot be used with", 2),
        (&["--tls-cert", &empty], "--tls-key", 2),
        (&["--tls-cert", &empty, "--tls-key", &empty], "empty and ", 1),
        (&["--metrics", &taken], &format!("--metrics {taken}: Address already in use"), 1),
        (&["--tls", &taken], &format!("TLS at {taken}: Address already in use"), 1),
        (&["--key", "/proc/nonexistent"], "/proc/nonexistent", 1),
    ] {
        let key = ["--key", &key];
        let key = if arguments[0] == "--key" { &[][..] } else { &key };
        let output = run(&[&["rendezvous"], &at[..], key, arguments].concat());
        let said = text(&output.stderr);
        assert!(said.contains(message), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
    }
}

/// One host has no UDP, the other is behind a symmetric NAT: TLS leads to the rendezvous, and its
/// relay to the peer.
#[test]
fn hosts_meet_through_it_where_udp_is_blocked() {
    let programs = ["ip", "nft"].map(Need::Program);
    if skip_unless(&[&[Need::Root, Need::Tun], &programs[..]].concat()) {
        return;
    }
    let (folder, random) = (Folder::new(), Gateway::MasqueradeRandom);
    let crossing = Crossing::new("nd", Family::V4, Gateway::UdpBlocked, random);
    let [main, other] = crossing.rendezvous_addresses().map(|address| address.to_string());
    let rendezvous = Ready::start({
        let mut command = crossing.rendezvous.command(env!("CARGO_BIN_EXE_windlass"));
        command.args(["tou", "rendezvous", "--json", "--listen", &format!("{main}:3478")]);
        command.args(["--alternate", &other, "--tls", &format!("{main}:443")]);
        command.args(["--relay-address", &main, "--key", &folder.key("rendezvous")]);
        command
    });
    let via = format!("{main}#{}", rendezvous.line["key"].as_str().expect("text"));
    let keys = ["desk", "laptop"].map(|name| folder.file(name));
    let public = keys.each_ref().map(|file| text(&run(&["key", "--file", file]).stdout));
    let listener = crossing.hosts[1].inside(|| TcpListener::bind("127.0.0.1:0"));
    let listener = listener.expect("a port");
    let target = format!("echo={}", listener.local_addr().expect("bound"));
    let echo = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut back = stream.try_clone().expect("a clone");
        std::io::copy(&mut stream, &mut back).expect("it ends in order");
    });
    let exposing = Background::start({
        let mut command = crossing.hosts[1].command(env!("CARGO_BIN_EXE_windlass"));
        command.args(["tou", "expose", &target, "--via", &via, "--key", &keys[0]]);
        command.args(["--allow", public[1].trim()]).stdout(Stdio::null());
        command
    });
    exposing.wait_for("registered");
    let mut command = crossing.hosts[0].command(env!("CARGO_BIN_EXE_windlass"));
    let service = format!("echo@{}", public[0].trim());
    command.args(["tou", "pipe", &service, "--verbose", "--via", &via, "--key", &keys[1]]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut pipe = command.spawn().expect("starts");
    let mut input = pipe.stdin.take().expect("piped");
    let sent = crate::bed::bytes(1, 300_000);
    let expected = sent.clone();
    // It ends early if the pipe fails, which the pipe then says.
    let feed = thread::spawn(move || drop(input.write_all(&sent)));
    let output = pipe.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    feed.join().expect("no panic");
    assert!(output.status.success() && output.stdout == expected, "{said}");
    assert!(said.contains("relayed path"), "{said}");
    echo.join().expect("no panic");
}

/// The public key of a secret key that no host has.
pub(crate) fn unknown_key(folder: &Folder) -> String {
    text(&run(&["key", "--file", &folder.file("unknown")]).stdout).trim().to_owned()
}

#[test]
fn a_peer_that_is_not_registered_is_reported_once() {
    let folder = Folder::new();
    let rendezvous = Ready::start(local(&folder.key("key")));
    let via = rendezvous.address("udp").to_string();
    let service = format!("ssh@{}", unknown_key(&folder));
    let output = run(&["pipe", &service, "--via", &via, "--key", &folder.key("own")]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("error: ") && said.contains("is registered"), "{said}");
    assert_eq!(rendezvous.terminate(), Some(0));
}

#[test]
fn run_ends_at_once_if_it_is_interrupted_while_it_looks_for_a_path() {
    let folder = Folder::new();
    // Nothing answers there, so that no path is found for a long time.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let via = silent.local_addr().expect("bound").to_string();
    let key = folder.key("own");
    let peer = unknown_key(&folder);
    let mut running = Running::start(&[
        "run", "--json", "--via", &via, "--key", &key, "--to", &peer, "--", "true",
    ]);
    let started: Value = serde_json::from_str(&running.stderr_line()).expect("JSON");
    assert_eq!(started["kind"], "tou.started");
    let began = Instant::now();
    running.terminate();
    assert_eq!(running.wait().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// A mistyped name must not become a host with a new key.
#[test]
fn a_key_file_that_is_named_is_made_by_no_command_but_key() {
    let folder = Folder::new();
    let (missing, peer) = (folder.file("mistyped"), unknown_key(&folder));
    let config = folder.file("tou.toml");
    std::fs::write(&config, "via = [\"127.0.0.1:9\"]\nkey = \"mistyped\"\n").expect("written");
    let service = format!("ssh@{peer}");
    let named = ["--via", "127.0.0.1:9", "--key", &missing];
    let configured = ["--config", &config];
    for how in [&named[..], &configured] {
        for command in [
            &["expose", "ssh=22", "--allow", &peer][..],
            &["pipe", &service],
            &["socks", "0", "--to", &peer],
        ] {
            let output = run(&[command, how].concat());
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
            let expected = format!("there is no key file {missing}; to make it: ");
            assert!(said.contains(&expected) && said.contains("tou key --file"), "{said}");
        }
    }
    let output = run(&["rendezvous", "--listen", "127.0.0.1:0", "--key", &missing]);
    assert!(text(&output.stderr).contains(&format!("there is no key file {missing}")));
    assert!(!std::path::Path::new(&missing).exists());
    // This one does, beside the configuration that names it.
    let output = run(&["key", "--config", &config, "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&document["kind"], &document["file"]), (&"tou.key".into(), &(*missing).into()));
    let printed = text(&run(&["key", "--config", &config]).stdout);
    assert_eq!(document["key"], printed.trim());
    assert!(std::path::Path::new(&missing).exists());
}
