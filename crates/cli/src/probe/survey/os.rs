//! Nmap's guess of an operating system, for those who ask.

use std::io;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use windlass_probe::survey::{HostRow, RunRow};

/// Hosts that nmap looks at at once.
const THREADS: usize = 8;

type Rows = (HostRow, Vec<RunRow>);

/// Threads that let nmap guess, a host each.
pub(super) struct Guesser {
    questions: Sender<Rows>,
    answers: Receiver<Rows>,
    taken: Arc<Mutex<Receiver<Rows>>>,
    open: usize,
}

/// Says if there is no nmap.
pub(super) fn check() -> Result<(), String> {
    let quiet = Command::new("nmap").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match quiet {
        Ok(status) if status.success() => Ok(()),
        _ => Err("--os: needs nmap, which does not run here (apt-get install nmap)".to_owned()),
    }
}

impl Guesser {
    pub(super) fn start() -> io::Result<Guesser> {
        let (questions, taken) = channel::<Rows>();
        let (give, answers) = channel();
        let taken = Arc::new(Mutex::new(taken));
        for _ in 0..THREADS {
            let (taken, give) = (Arc::clone(&taken), give.clone());
            let next = move || taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
            thread::Builder::new().name("nmap".to_owned()).spawn(move || {
                while let Ok((mut row, runs)) = next() {
                    row.os = guess(&row.address).unwrap_or_default();
                    if give.send((row, runs)).is_err() {
                        return;
                    }
                }
            })?;
        }
        Ok(Guesser { questions, answers, taken, open: 0 })
    }

    pub(super) fn ask(&mut self, row: HostRow, runs: Vec<RunRow>) {
        // The threads end after this value.
        if self.questions.send((row, runs)).is_ok() {
            self.open += 1;
        }
    }

    pub(super) fn poll(&mut self) -> Option<Rows> {
        let rows = self.answers.try_recv().ok()?;
        self.open -= 1;
        Some(rows)
    }

    /// All the rest, as long as `wait` says so; then those that nobody has looked at, without a guess.
    pub(super) fn finish(mut self, wait: impl Fn() -> bool) -> Vec<Rows> {
        let mut rows = Vec::new();
        let moment = std::time::Duration::from_millis(100);
        while self.open > 0 {
            if !wait()
                && let Some(unasked) = self.unasked()
            {
                self.open -= 1;
                rows.push(unasked);
                continue;
            }
            if let Ok(done) = self.answers.recv_timeout(moment) {
                self.open -= 1;
                rows.push(done);
            }
        }
        rows
    }

    /// What no thread has taken. A thread that waits holds the lock, but then there is nothing.
    fn unasked(&self) -> Option<Rows> {
        self.taken.try_lock().ok()?.try_recv().ok()
    }
}

fn guess(address: &str) -> Option<String> {
    let address: SocketAddr = address.parse().ok()?;
    let mut nmap = Command::new("nmap");
    nmap.args(["-n", "-Pn", "-O", "--max-os-tries", "1", "-oG", "-"]);
    // A closed port tells it more.
    nmap.args(["-p", &format!("{},1", address.port())]);
    if address.is_ipv6() {
        nmap.arg("-6");
    }
    let output = nmap.arg(address.ip().to_string()).stderr(Stdio::null()).output().ok()?;
    in_grepable(&String::from_utf8_lossy(&output.stdout))
}

/// The field of the operating system in nmap's grepable output.
fn in_grepable(output: &str) -> Option<String> {
    let mut fields = output.lines().flat_map(|line| line.split('\t'));
    let os = fields.find_map(|field| field.strip_prefix("OS: "))?;
    Some(os.chars().filter(|c| !c.is_control()).take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::in_grepable;

    #[test]
    fn the_guess_is_a_field_of_the_hosts_line() {
        let output = "# Nmap 7.93 scan initiated\nHost: 192.0.2.1 ()\tStatus: Up\n\
                      Host: 192.0.2.1 ()\tPorts: 80/open/tcp//http///\tOS: Linux 5.0 - 5.4\tSeq Index: 260\n";
        assert_eq!(in_grepable(output).as_deref(), Some("Linux 5.0 - 5.4"));
        assert_eq!(in_grepable("Host: 192.0.2.1 ()\tStatus: Up\n"), None);
    }
}
