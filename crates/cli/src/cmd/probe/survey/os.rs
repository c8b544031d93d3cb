//! Guesses of operating systems by nmap, for `--os`.

use roxmltree::{Document, Node, ParsingOptions};
use std::io;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use windlass_probe::survey::{HostRow, RunRow};

/// Runs of nmap at once.
const THREADS: usize = 8;

type Rows = (HostRow, Vec<RunRow>);

/// Threads that run nmap, each for one host at a time.
pub(super) struct Guesser {
    questions: Sender<Rows>,
    answers: Receiver<Rows>,
    taken: Arc<Mutex<Receiver<Rows>>>,
    open: usize,
}

/// Fails if nmap does not run here.
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

    /// The remaining rows: with their guesses while `wait` is true, then without.
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

    /// A row that no thread has taken. `None` if there is none, or if a waiting thread holds the lock.
    fn unasked(&self) -> Option<Rows> {
        self.taken.try_lock().ok()?.try_recv().ok()
    }
}

fn guess(address: &str) -> Option<String> {
    let address: SocketAddr = address.parse().ok()?;
    let mut nmap = Command::new("nmap");
    // XML alone has what is not an exact match: the newest systems never are.
    nmap.args(["-n", "-Pn", "-O", "--osscan-guess", "--max-os-tries", "1", "-oX", "-"]);
    // A closed port tells it more.
    nmap.args(["-p", &format!("{},1", address.port())]);
    if address.is_ipv6() {
        nmap.arg("-6");
    }
    let output = nmap.arg(address.ip().to_string()).stderr(Stdio::null()).output().ok()?;
    best_guesses(&String::from_utf8_lossy(&output.stdout))
}

/// The systems that fit best, and how well, in nmap's XML: "Linux 3.2 | Linux 5.3 - 5.4 (95 %)".
fn best_guesses(xml: &str) -> Option<String> {
    // nmap names its document type.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(xml, options).ok()?;
    let matches = || document.descendants().filter(|node| node.has_tag_name("osmatch"));
    let accuracy = |node: &Node<'_, '_>| node.attribute("accuracy")?.parse::<u8>().ok();
    let best = matches().filter_map(|node| accuracy(&node)).max()?;
    let names = matches().filter(|node| accuracy(node) == Some(best));
    let names: Vec<_> = names.filter_map(|node| node.attribute("name")).collect();
    let guess = format!("{} ({best} %)", names.join(" | "));
    Some(guess.chars().filter(|c| !c.is_control()).take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::best_guesses;

    #[test]
    fn the_best_guesses_are_reported_with_their_accuracy() {
        let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE nmaprun>
            <nmaprun scanner="nmap"><host><os><portused state="open" proto="tcp" portid="80"/>
            <osmatch name="Linux 3.2" accuracy="95" line="1"><osclass accuracy="95"/></osmatch>
            <osmatch name="Linux 5.3 - 5.4" accuracy="95" line="2"/>
            <osmatch name="A &lt;printer&gt;" accuracy="88" line="3"/></os></host></nmaprun>"#;
        assert_eq!(best_guesses(xml).as_deref(), Some("Linux 3.2 | Linux 5.3 - 5.4 (95 %)"));
        let one = xml.replace("95", "80");
        assert_eq!(best_guesses(&one).as_deref(), Some("A <printer> (88 %)"));
        let none = r#"<nmaprun><host><os/></host></nmaprun>"#;
        for bad in [none, "", "nmap: not found", "<nmaprun><host>"] {
            assert_eq!(best_guesses(bad), None, "{bad}");
        }
    }
}
