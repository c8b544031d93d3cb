//! Runs the examples.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use windlass_testbed::skip;

/// The path of an example that `cargo test` has built. Prints a line and returns `None` if it was not
/// built, as when only this test was selected.
fn example(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().expect("a path");
    let path = own.ancestors().nth(2)?.join("examples").join(name);
    if !path.exists() {
        skip(&format!("{name} is not built (cargo build --examples)"));
        return None;
    }
    Some(path)
}

/// A running server and its address. It is killed when dropped.
struct Server(Child, String);

impl Server {
    fn start(program: &Path, arguments: &[&str]) -> Server {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
        let port = line.trim().strip_prefix("port ").unwrap_or_else(|| panic!("{line:?}"));
        let address = format!("127.0.0.1:{port}");
        Server(child, address)
    }

    fn finish(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("waits").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

#[test]
fn file_transfer_transfers_a_file() {
    let Some(program) = example("file_transfer") else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [from, to] =
        ["from", "to"].map(|name| folder.join(format!("{name}-{}", std::process::id())));
    let data = pattern(5_000_001);
    fs::write(&from, &data).expect("written");
    let receiver = Server::start(&program, &["receive", "0", to.to_str().expect("text")]);
    let sent = Command::new(&program).args(["send", &receiver.1]).arg(&from).status();
    assert!(sent.expect("runs").success());
    receiver.finish();
    let arrived = fs::read(&to);
    for path in [from, to] {
        let _ = fs::remove_file(path);
    }
    assert!(arrived.expect("there") == data);
}

#[test]
fn echo_echoes() {
    let Some(program) = example("echo") else { return };
    let server = Server::start(&program, &["server", "0"]);
    let mut command = Command::new(&program);
    command.args(["client", &server.1]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = command.spawn().expect("starts");
    let mut input = client.stdin.take().expect("piped");
    let data = pattern(2_000_000);
    let sent = data.clone();
    let writer = thread::spawn(move || input.write_all(&sent));
    let mut echo = Vec::new();
    client.stdout.take().expect("piped").read_to_end(&mut echo).expect("readable");
    writer.join().expect("no panic").expect("written");
    assert!(client.wait().expect("waits").success());
    assert!(echo == data);
    server.finish();
}
