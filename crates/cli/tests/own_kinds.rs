//! The command with kinds of another crate (`examples/own_kinds.rs`): `link` has the queue, and `tou` the
//! controller.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use windlass_testbed::{Need, skip_unless};

fn windlass(arguments: &[&str]) -> Command {
    // Tests are in deps/, beside the folder of the examples.
    let test = std::env::current_exe().expect("this program");
    let profile = test.parent().and_then(Path::parent).expect("target/PROFILE/deps");
    let example = profile.join("examples/own_kinds");
    assert!(example.exists(), "cargo test builds it: {}", example.display());
    let mut command = Command::new(example);
    command.args(arguments).stdin(Stdio::null());
    command
}

fn json_on_last_line(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

/// A child that is ended with its test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn tou_sends_with_a_controller_of_ones_own() {
    let arguments =
        ["tou", "perf", "server", "--port", "0", "--bind", "127.0.0.1", "--one-off", "--json"];
    let mut server = Server(
        windlass(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts"),
    );
    let mut lines = BufReader::new(server.0.stderr.take().expect("piped"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    let listening: Value = serde_json::from_str(&line).expect("an object");
    let port = listening["port"].as_u64().unwrap_or_else(|| panic!("{line}"));
    let address = format!("127.0.0.1:{port}");
    let arguments =
        ["tou", "perf", "client", &address, "--bytes", "200k", "--cc", "mine", "--json"];
    let output: Output = windlass(&arguments).output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(report["test"]["controller"], "mine");
    assert_eq!(report["receiver"]["streams"][0]["bytes"], 200_000);

    let unknown = windlass(&["tou", "connect", "127.0.0.1:1", "--cc", "mien"]).output();
    let unknown = String::from_utf8_lossy(&unknown.expect("starts").stderr).into_owned();
    assert!(unknown.contains("did you mean \"mine\"?"), "{unknown}");
}

/// Twenty packets at once over 100 kbit/s: the link takes one, the queue three.
#[test]
fn link_has_a_queue_of_ones_own() {
    if skip_unless(&[Need::Root, Need::Tun, Need::Program("python3")]) {
        return;
    }
    let send = "import os, socket\n\
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                for _ in range(20): s.sendto(bytes(1000), (os.environ['WINDLASS_OUTSIDE'], 9))";
    let arguments = ["link", "--rate", "up:100k", "--aqm", "up:short:packets=3", "--json", "--"];
    let output = windlass(&arguments).args(["python3", "-c", send]).output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = json_on_last_line(&output.stderr);
    let up = &summary["paths"][0];
    assert_eq!(up["arrived"], 20, "{summary}");
    assert_eq!(up["dropped"]["full"], 16, "{summary}");
}
