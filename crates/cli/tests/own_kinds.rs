//! The command with kinds of another crate: `link` has the queue and `tou` the controller. This program
//! is both the test and that command, which it starts from itself.

use serde::Deserialize;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use windlass_aqm::{ConfigError, CustomQueue, DropTail, DropTailConfig, Limit, QueueFactory};
use windlass_base::BitRate;
use windlass_cli::Registry;
use windlass_tcp::cc::{Controller, ControllerFactory, Params, Reno};
use windlass_testbed::{Need, skip_unless};

/// Set in the environment of the command.
const IS_COMMAND: &str = "WINDLASS_TEST_OWN_KINDS";

/// Reno under another name.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Mine {}

impl ControllerFactory for Mine {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Reno.build(params)
    }
}

/// A DropTail queue with a number of packets of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Short {
    packets: u32,
}

impl QueueFactory for Short {
    fn build(&self, _: Option<BitRate>) -> Result<CustomQueue, ConfigError> {
        let limit = Limit::Packets(self.packets);
        Ok(CustomQueue::new(DropTail::new(DropTailConfig { limit })?))
    }
}

fn main() -> ExitCode {
    if std::env::var_os(IS_COMMAND).is_some() {
        let registry = Registry::default().controller::<Mine>("mine").queue::<Short>("short");
        return windlass_cli::main_with(registry);
    }
    tou_sends_with_a_controller_of_ones_own();
    if !skip_unless(&[Need::Root, Need::Tun, Need::Program("python3")]) {
        link_has_a_queue_of_ones_own();
    }
    println!("own kinds: ok");
    ExitCode::SUCCESS
}

fn windlass(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(IS_COMMAND, "1").args(arguments).stdin(Stdio::null());
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
fn link_has_a_queue_of_ones_own() {
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
