//! `windlass probe serve` as a user meets it: web servers behind a TUN device, for any client. The tests
//! need root and are skipped without it.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use windlass_probe_serve::page;
use windlass_testbed::{Namespace, Need, PATIENCE, skip_unless, text};

const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 98, 0, 2), 80);

fn skipped() -> bool {
    skip_unless(&[Need::Root, Need::Tun, Need::Program("ip")])
}

/// A server at 10.98.0.2 in a namespace of its own. Both go with the value.
struct Served {
    server: Child,
    namespace: Namespace,
}

impl Served {
    fn start(page_bytes: usize) -> Served {
        Served::start_with(page_bytes, &[])
    }

    fn start_with(page_bytes: usize, options: &[&str]) -> Served {
        let namespace = Namespace::new("wps");
        let words = ["probe", "serve", "--tun", "engine", "--address", "10.98.0.2", "--rtt", "1ms"];
        let mut command = Command::new(WINDLASS);
        command.args(words).args(options).args([
            "--initial-window",
            "10",
            "--page",
            &page_bytes.to_string(),
        ]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = namespace.inside(|| command.spawn().expect("starts"));
        let mut line = String::new();
        // With --json the line is on standard error.
        match options.contains(&"--json") {
            true => BufReader::new(server.stderr.take().expect("piped")).read_line(&mut line),
            false => BufReader::new(server.stdout.take().expect("piped")).read_line(&mut line),
        }
        .expect("text");
        assert!(line.starts_with("serving 1 addresses"), "{line}");
        namespace.bring_up("engine", &["10.98.0.1/24"]);
        Served { server, namespace }
    }

    /// The memory of the server, in bytes.
    fn resident(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server.id()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        let kib = line.split_whitespace().next().and_then(|kib| kib.parse::<usize>().ok());
        kib.expect("a number") << 10
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The SHA-256 of these bytes, in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    let mut sum = Command::new("sha256sum");
    let mut child = sum.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("of coreutils");
    child.stdin.take().expect("piped").write_all(bytes).expect("read");
    let output = child.wait_with_output().expect("ends");
    text(&output.stdout).split_whitespace().next().expect("a sum").to_owned()
}

#[test]
fn curl_fetches_a_large_page_with_the_right_sha256() {
    if skipped() || skip_unless(&[Need::Program("curl")]) {
        return;
    }
    let bytes = 24_000_000;
    let served = Served::start(bytes);
    let fetch = "set -o pipefail; curl --fail --silent --show-error http://10.98.0.2/ | sha256sum";
    let fetched = served.namespace.inside(|| Command::new("bash").args(["-c", fetch]).output());
    let fetched = fetched.expect("bash");
    assert!(fetched.status.success(), "{}", text(&fetched.stderr));
    let whole = page(bytes);
    assert_eq!(
        text(&fetched.stdout).trim_end_matches(" -\n").trim(),
        sha256(&whole[whole.len() - bytes..])
    );
    let resident = served.resident();
    assert!(resident < 64 << 20, "{resident}: the page is nowhere in memory");
}

/// A client that has asked for the page.
fn ask() -> TcpStream {
    let mut client = TcpStream::connect(SERVER).expect("a server");
    client.set_read_timeout(Some(PATIENCE)).expect("a socket");
    client.write_all(REQUEST).expect("open");
    client
}

/// Fetches the page and waits for the end of the connection.
fn fetch() -> Vec<u8> {
    let mut client = ask();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the server closes");
    answer
}

#[test]
fn many_short_connections_are_answered_and_closed_and_leave_little_behind() {
    if skipped() {
        return;
    }
    let (threads, each) = (8, 250);
    let served = Served::start(1000);
    let expected = page(1000);
    let right = || (0..each).all(|_| fetch() == expected);
    served.namespace.inside(|| {
        assert!(right());
        let before = served.resident();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(right)).collect();
            assert!(workers.into_iter().all(|worker| worker.join().expect("fetched")));
        });
        let grown = served.resident().saturating_sub(before);
        // Those in TIME-WAIT keep less than a KiB each.
        assert!(grown < threads * each * 1024, "{grown}");
    });
}

#[test]
fn clients_that_do_not_read_cost_the_server_no_copies_of_the_page() {
    if skipped() {
        return;
    }
    let (clients, bytes) = (100, 3_000_000);
    let served = Served::start(bytes);
    served.namespace.inside(|| {
        let before = served.resident();
        let waiting: Vec<TcpStream> = (0..clients).map(|_| ask()).collect();
        for client in &waiting {
            assert_eq!(client.peek(&mut [0]).expect("the answer has begun"), 1);
        }
        let grown = served.resident().saturating_sub(before);
        assert!(grown < clients * (64 << 10), "{grown}");
    });
}

#[test]
fn each_connection_that_ends_is_a_line_of_json() {
    if skipped() {
        return;
    }
    let mut served = Served::start_with(100_000, &["--ecn", "accurate", "--json"]);
    let stdout = served.server.stdout.take().expect("piped");
    served.namespace.inside(fetch);
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("text");
    let ended: serde_json::Value = serde_json::from_str(&line).expect("an object");
    assert_eq!(ended["kind"], "probe.connection");
    assert_eq!(ended["server"], "10.98.0.2:80");
    assert_eq!(ended["bytes_acknowledged"], page(100_000).len());
    assert!(ended["accecn"].is_null(), "this machine's kernel does not ask for it");
}

#[test]
fn the_ecn_of_the_server_is_the_one_that_the_option_names() {
    if skipped() {
        return;
    }
    let answer = |kind: &str| {
        let served = Served::start_with(200_000, &["--ecn", kind]);
        let words = ["probe", "--ecn", "http://10.98.0.2/", "--tests", "A", "--runs", "1"];
        let probe = || Command::new(WINDLASS).args(words).output().expect("starts");
        text(&served.namespace.inside(probe).stdout)
    };
    let expected = [
        ("off", "no ECN"),
        ("classic", "classic ECN (RFC 3168); its SYN-ACK: not-ect; it echoes marks"),
        ("accurate", "AccECN (RFC 9768); its SYN-ACK: not-ect; it counts 2 of 2 marked packets"),
    ];
    for (kind, says) in expected {
        let answer = answer(kind);
        assert!(answer.contains(says), "{kind}: {answer}");
    }
}
