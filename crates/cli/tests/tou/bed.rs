//! Windlass in the background, killed when a test is over.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread;

pub(crate) fn windlass(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.arg("tou").args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    windlass(arguments).stdin(Stdio::null()).output().expect("starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Bytes in which each place is known by what stands there.
pub(crate) fn bytes(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

pub(crate) struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Where it listens.
    pub(crate) port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Running {
        let mut child = windlass(arguments).spawn().expect("starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        Running { child, stderr, port: 0 }
    }

    /// The same, until its first line says where it listens, as text or as JSON.
    pub(crate) fn listener(arguments: &[&str]) -> Running {
        let mut running = Running::start(arguments);
        let line = running.stderr_line();
        running.port = match serde_json::from_str::<serde_json::Value>(&line) {
            Ok(document) => {
                assert_eq!(
                    (&document["schema"], &document["kind"]),
                    (&1.into(), &"tou.listening".into())
                );
                document["port"].as_u64().and_then(|port| port.try_into().ok()).expect("a port")
            }
            Err(_) => {
                assert!(line.starts_with("listening on "), "{line}");
                line.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
            }
        };
        running
    }

    pub(crate) fn stderr_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("UTF-8");
        line.trim_end().to_owned()
    }

    pub(crate) fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("piped, and not taken")
    }

    /// Gives it all of its input, in a thread, and ends it.
    pub(crate) fn feed(mut self, input: Vec<u8>) -> Running {
        let mut stdin = self.child.stdin.take().expect("piped, and not taken");
        // It may end before it has taken all of it.
        thread::spawn(move || stdin.write_all(&input));
        self
    }

    pub(crate) fn terminate(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).expect("it runs");
    }

    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().expect("it was started here")
    }

    /// The output that the test has not read yet. Waits for the process to end.
    pub(crate) fn output(mut self) -> Output {
        let stdout = self.child.stdout.take();
        let reading = thread::spawn(move || {
            let mut all = Vec::new();
            stdout.map(|mut stdout| stdout.read_to_end(&mut all));
            all
        });
        let mut stderr = Vec::new();
        self.stderr.read_to_end(&mut stderr).expect("a pipe");
        let stdout = reading.join().expect("no panic");
        let status = self.child.wait().expect("it was started here");
        Output { status, stdout, stderr }
    }
}
