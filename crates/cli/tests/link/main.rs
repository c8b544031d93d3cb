//! `windlass link` with real devices and namespaces. Tests that need root skip without it; so do
//! those that need python3, which plays the programs behind the link.

#![cfg(target_os = "linux")]

mod block;
mod left_behind;
mod live;

use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use windlass_testbed::{Need, PATIENCE, skip, skip_unless, text};

const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");

/// True, after a line that says why, if a test cannot run.
fn skipped(programs: &[&str]) -> bool {
    let programs = programs.iter().map(|program| Need::Program(program));
    skip_unless(&[Need::Root, Need::Tun].into_iter().chain(programs).collect::<Vec<_>>())
}

fn link(args: &[&str]) -> Command {
    let mut command = Command::new(WINDLASS);
    command.arg("link").args(args);
    command
}

fn output(args: &[&str]) -> Output {
    link(args).output().expect("starts")
}

/// The JSON object on the last line of standard error, and its path `inside up`.
fn summary(output: &Output) -> (Value, Value) {
    let errors = text(&output.stderr);
    let last = errors.lines().last().unwrap_or_default();
    let summary: Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("{errors}"));
    let up = summary["paths"][0].clone();
    (summary, up)
}

/// A file name of the test's own, at which there is nothing.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

/// A server in the test's own namespace.
fn server() -> (UdpSocket, String) {
    let server = UdpSocket::bind("0.0.0.0:0").expect("a free port");
    server.set_read_timeout(Some(PATIENCE)).expect("a time above zero");
    let port = server.local_addr().expect("bound").port().to_string();
    (server, port)
}

/// Sends `count` datagrams of `bytes` (IP packets) to WINDLASS_OUTSIDE, the first byte counting,
/// then waits for an answer. TOS is an option.
const SENDER: &str = r#"
import os, socket, sys
port, count, size, tos = map(int, sys.argv[1:])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
s.settimeout(60)
for n in range(count):
    try:
        s.sendto(bytes([n % 256]) * (size - 28), (os.environ["WINDLASS_OUTSIDE"], port))
    except ConnectionRefusedError:
        pass
s.recv(100)
"#;

/// Runs the sender behind a link; `receive` gets the server and answers when it has enough.
fn send_through(args: &[&str], sender: [&str; 3], receive: impl FnOnce(&UdpSocket)) -> Output {
    let (server, port) = server();
    let mut command = link(args);
    command.args(["--json", "--", "python3", "-c", SENDER, &port]).args(sender);
    let child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    receive(&server);
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

/// Takes so many datagrams, then answers; their first bytes.
fn take(server: &UdpSocket, count: usize) -> Vec<u8> {
    let mut buffer = [0; 2000];
    let mut from = None;
    let first = |_| {
        let (len, sender) = server.recv_from(&mut buffer).expect("a datagram");
        assert!(len > 0);
        from = Some(sender);
        buffer[0]
    };
    let firsts = (0..count).map(first).collect();
    server.send_to(b"enough", from.expect("a sender")).expect("sent");
    firsts
}

#[test]
fn the_exit_status_is_the_commands() {
    if skipped(&[]) {
        return;
    }
    let ends = |command: &[&str]| output(&[&["--"], command].concat()).status.code();
    assert_eq!(ends(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(ends(&["sh", "-c", "kill -TERM $$"]), Some(128 + 15));
    assert_eq!(ends(&["no-such-program-here"]), Some(127));
}

#[test]
fn the_command_has_a_network_and_processes_of_its_own() {
    if skipped(&["ip"]) {
        return;
    }
    let script = "ip -o link | wc -l; echo $$; ls -d /proc/[0-9]* | wc -l; echo $WINDLASS_OUTSIDE";
    let output = output(&["--", "sh", "-c", script]);
    let printed = text(&output.stdout);
    let lines: Vec<&str> = printed.lines().map(str::trim).collect();
    assert_eq!(&lines[..2], ["2", "2"], "lo and the link; the second process: {printed}");
    assert!(lines[2].parse::<u32>().expect("a count") <= 5, "{printed}");
    assert!(lines[3].starts_with("100."), "{printed}");
}

#[test]
fn packets_leave_at_the_rate() {
    if skipped(&["python3"]) {
        return;
    }
    let log = fresh("rate.csv");
    // No receiver is needed: the log of the link has the figures.
    let sender = SENDER.replace("s.recv(100)", "import time; time.sleep(1.5)");
    let mut command = link(&["--rate", "up:20M", "--aqm", "droptail:limit=4000"]);
    command.args(["--log", &log.to_string_lossy(), "--", "python3", "-c", &sender]);
    let status = command.args(["9", "2000", "1500", "0"]).status().expect("starts");
    assert!(status.success());

    // Between two lines with a queue the link never rested: what it delivered tells its rate, by
    // the emulator's own clock, whatever else the machine did.
    let log = fs::read_to_string(log).expect("a log");
    let busy: Vec<(f64, f64)> = log
        .lines()
        .filter(|line| line.contains(",inside,up,"))
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|fields| fields[3] != "0")
        .map(|fields| (fields[0].parse().expect("a time"), fields[13].parse().expect("a count")))
        .collect();
    let ((start, before), (end, after)) = (busy[0], busy[busy.len() - 1]);
    assert!(end - start > 0.4, "1.2 s of packets gave {} s", end - start);
    let rate = (after - before) * 8.0 / (end - start);
    assert!((rate / 20e6 - 1.0).abs() < 0.01, "{rate} bit/s");
}

#[test]
fn no_packet_arrives_before_its_delay() {
    if skipped(&["python3"]) {
        return;
    }
    let (server, port) = server();
    let script = format!("{SENDER}\nprint(time.monotonic() - start)")
        .replacen("import", "import time,", 1)
        .replacen("for n", "start = time.monotonic()\nfor n", 1);
    let mut command = link(&["--delay", "up:40ms", "--delay", "down:60ms", "--"]);
    command.args(["python3", "-c", &script, &port, "1", "100", "0"]).stdout(Stdio::piped());
    let child = command.spawn().expect("starts");
    take(&server, 1);
    let output = child.wait_with_output().expect("ends");
    let round_trip: f64 = text(&output.stdout).trim().parse().expect("a time");
    assert!((0.1..1.0).contains(&round_trip), "{round_trip} s");
}

#[test]
fn listed_packets_are_lost_and_no_others() {
    if skipped(&["python3"]) {
        return;
    }
    let mut arrived = Vec::new();
    let output = send_through(&["--loss", "up:listed:first=1/3"], ["5", "100", "0"], |server| {
        arrived = take(server, 3)
    });
    assert_eq!(arrived, [1, 3, 4]);
    assert_eq!(summary(&output).1["lost"], 2);
}

/// Receives datagrams until the port is quiet, and prints the ECN field of each.
const ECN_RECEIVER: &str = r#"
import socket, sys
family, port = int(sys.argv[1]), int(sys.argv[2])
v4 = family == 4
s = socket.socket(socket.AF_INET if v4 else socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE: none is lost here
s.bind(("", port))
if v4:
    s.setsockopt(socket.IPPROTO_IP, 13, 1)  # IP_RECVTOS
else:
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
print("bound", flush=True)
s.settimeout(60)
while True:
    data, ancillary, _, sender = s.recvmsg(2000, 256)
    print(ancillary[0][2][0] & 3, flush=True)
    s.settimeout(2)
"#;

/// RED that marks from the second waiting packet on.
const EAGER: &str = "red:min=0.5,max=1,weight=1,gentle=false,limit=500,above_max=mark-ect";

fn count_ce(child: Child) -> usize {
    let output = child.wait_with_output().expect("ends");
    text(&output.stdout).lines().filter(|line| *line == "3").count()
}

#[test]
fn ect_packets_are_marked_and_arrive_with_a_right_checksum() {
    if skipped(&["python3"]) {
        return;
    }
    let (unused, port) = server();
    drop(unused);
    let mut receiver = Command::new("python3");
    receiver.args(["-c", ECN_RECEIVER, "4", &port]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut receiver = receiver.spawn().expect("starts");
    wait_for_line(&mut receiver, "bound");
    let once = SENDER.replace("s.recv(100)", "import time; time.sleep(1.5)");
    let mut command = link(&["--rate", "up:2M", "--aqm", EAGER, "--json", "--"]);
    // ECT(0): 200 packets of 600 bytes are half a second.
    let output = command.args(["python3", "-c", &once, &port, "200", "600", "2"]).output();
    let (_, up) = summary(&output.expect("starts"));
    // A header with a wrong checksum would not have got past the kernel.
    let marked = count_ce(receiver) as u64;
    assert!(marked > 150, "{up}");
    assert_eq!((up["marked"].as_u64(), up["delivered"].as_u64()), (Some(marked), Some(200)));
}

/// Waits for a line of a child's output. Nothing behind it is lost.
fn wait_for_line(child: &mut Child, expected: &str) {
    use std::io::Read;
    let out = child.stdout.as_mut().expect("a pipe");
    let mut line = Vec::new();
    let mut byte = [0];
    while out.read(&mut byte).expect("readable") > 0 {
        if byte[0] == b'\n' {
            if text(&line).contains(expected) {
                return;
            }
            line.clear();
        } else {
            line.push(byte[0]);
        }
    }
    panic!("ended without {expected:?}: {}", text(&line));
}

/// A process in a network namespace of its own, which lives as long as this.
struct Elsewhere(Child);

impl Elsewhere {
    fn new() -> Elsewhere {
        let mut command = Command::new("unshare");
        command.args(["-n", "--kill-child", "--fork", "sh", "-c", "echo there; sleep 300"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        wait_for_line(&mut child, "there");
        Elsewhere(child)
    }

    fn namespace(&self) -> String {
        let pid = self.0.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        format!("pid:{}", children.expect("a child").trim())
    }

    fn command(&self, program: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-n", "-t", self.namespace().trim_start_matches("pid:")]).args(program);
        command
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const IPV6_SENDER: &str = r#"
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 2)
for n in range(100):
    s.sendto(bytes(500), ("fd00::2", 5000))
"#;

#[test]
fn a_file_joins_namespaces_and_ipv6_is_marked_too() {
    if skipped(&["python3", "unshare", "nsenter"]) {
        return;
    }
    let (left, right) = (Elsewhere::new(), Elsewhere::new());
    let file = fresh("two.toml");
    let ports = format!(
        r#"
schema = 1
[[ports]]
name = "a"
namespace = "{}"
addresses = ["10.0.0.1/24", "fd00::1/64"]
up = {{ rate = "2Mbit/s", queue = "eager" }}
[[ports]]
name = "b"
namespace = "{}"
addresses = ["10.0.0.2/24", "fd00::2/64"]
[queues.eager]
kind = "red"
min = "0.5 packets"
max = "1 packet"
weight = 1.0
gentle = false
limit = "500 packets"
above_max = "mark-ect"
"#,
        left.namespace(),
        right.namespace()
    );
    fs::write(&file, ports).expect("writable");
    let mut command = link(&["run", &file.to_string_lossy(), "--json"]);
    let mut windlass = command.stdout(Stdio::piped()).spawn().expect("starts");
    wait_for_line(&mut windlass, "\"kind\":\"link.live\"");

    let mut receiver = right.command(&["python3", "-c", ECN_RECEIVER, "6", "5000"]);
    let mut receiver =
        receiver.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    wait_for_line(&mut receiver, "bound");
    let sent = left.command(&["python3", "-c", IPV6_SENDER]).status().expect("starts");
    assert!(sent.success());
    let marked = count_ce(receiver) as u64;

    terminate(&windlass, "INT");
    let output = windlass.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0), "Ctrl-C is how it ends");
    let last = text(&output.stdout);
    let summary: Value = serde_json::from_str(last.lines().last().expect("a line")).expect("JSON");
    assert_eq!(summary["kind"], "link.summary");
    let up = &summary["paths"][0];
    assert!(marked > 80, "{up}");
    assert_eq!((up["port"].as_str(), up["marked"].as_u64()), (Some("a"), Some(marked)));
}

fn terminate(child: &Child, signal: &str) {
    let status =
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(status.expect("starts").success());
}

#[test]
fn a_signal_is_passed_on_to_the_command() {
    if skipped(&[]) {
        return;
    }
    let script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.1; done";
    let mut command = link(&["--", "sh", "-c", script]);
    let mut windlass = command.stdout(Stdio::piped()).spawn().expect("starts");
    wait_for_line(&mut windlass, "ready");
    terminate(&windlass, "TERM");
    let output = windlass.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), text(&output.stdout).trim()), (Some(5), "caught"));
}

#[test]
fn links_in_each_other_add_up() {
    if skipped(&["python3"]) {
        return;
    }
    let (server, port) = server();
    let sender = SENDER.replace("WINDLASS_OUTSIDE", "WINDLASS_BASE");
    let mut command =
        link(&["--delay", "30ms", "--", WINDLASS, "link", "--loss", "up:listed:first=2"]);
    command.args(["--", "python3", "-c", &sender, &port, "3", "100", "0"]);
    let mut child = command.spawn().expect("starts");
    assert_eq!(take(&server, 2), [0, 2]);
    assert!(child.wait().expect("ends").success());
}

/// Becomes a user without rights, with a /dev/net/tun that everybody may open, as is usual.
const WITHOUT_RIGHTS: &str = r#"
set -e
mount -t tmpfs none /mnt
mknod -m 666 /mnt/tun c 10 200
cp "$0" /mnt/windlass
chmod 755 /mnt /mnt/windlass
mount --bind /mnt/tun /dev/net/tun
exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all /mnt/windlass link "$@"
"#;

const ECHO: &str = r#"python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
while True: s.sendto(*s.recvfrom(2000))'"#;

#[test]
fn without_root_the_outside_is_a_namespace_too() {
    if skipped(&["python3", "unshare", "setpriv", "mknod"]) {
        return;
    }
    if fs::read_to_string("/proc/sys/user/max_user_namespaces").is_ok_and(|max| max.trim() == "0") {
        skip("user.max_user_namespaces is 0");
        return;
    }
    // The server may need a while to start.
    let client = r#"
import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.5)
for n in range(100):
    start = time.monotonic()
    s.sendto(b"hello", (os.environ["WINDLASS_OUTSIDE"], 5000))
    try:
        print(s.recv(100), time.monotonic() - start >= 0.04)
        break
    except OSError:
        time.sleep(0.1)
"#;
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", WITHOUT_RIGHTS, WINDLASS, "--delay", "20ms"]);
    command.args(["--outside", ECHO, "--", "python3", "-c", client]);
    let output = command.output().expect("starts");
    assert_eq!(text(&output.stdout).trim(), "b'hello' True", "{}", text(&output.stderr));
}

#[test]
fn impossible_links_are_refused_before_anything_is_made() {
    let printed = |args: &[&str]| {
        let output = output(args);
        (output.status.code(), text(&output.stderr))
    };
    let (code, errors) = printed(&["--aqm", "rde:min=1", "--", "true"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("did you mean \"red\"?"), "{errors}");
    let (code, errors) = printed(&["--delay", "5ms", "--jitter", "10ms", "--", "true"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("jitter: expected no more than the delay"), "{errors}");
    assert_eq!(printed(&["--rate", "10M"]).0, Some(2), "neither a command nor ports");
    assert_eq!(printed(&["--port", "a", "--rate", "1M"]).0, Some(2), "one port");
    assert_eq!(printed(&["run", "/nonexistent.toml"]).0, Some(2));
}
