//! `windlass probe survey` as a user meets it. Tests that need CAP_NET_RAW skip without it.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use windlass_testbed::{Need, skip_unless, wait_until};

/// A directory of a test's own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("windlass-survey-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).expect("written");
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ends with the test that started it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["probe", "survey"]).args(arguments);
    command
}

fn survey(arguments: &[&str]) -> Output {
    command(arguments).output().expect("starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// True, after a line that says why, if a test cannot run.
fn skipped() -> bool {
    skip_unless(&[Need::RawSockets])
}

/// A web server at an address of this machine; gives its URL.
fn serve(ip: &str) -> String {
    let listener = TcpListener::bind((ip, 0)).expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || answer(client));
        }
    });
    url
}

fn answer(mut client: TcpStream) {
    let mut chunk = [0; 1024];
    if client.read(&mut chunk).is_ok() {
        let head = "HTTP/1.1 200 OK\r\nServer: a, \"b\"\r\n\r\n";
        let _ = client.write_all(head.as_bytes());
        let _ = client.write_all(&[b'x'; 200_000]);
    }
}

#[test]
fn a_bad_survey_is_refused_and_nothing_is_written() {
    let folder = Folder::new("refused");
    let hosts = folder.file("hosts.txt", "a.example\n");
    let wrong = folder.file("wrong.txt", "a.example\ngopher://b.example/\n");
    let list = folder.file("list.txt", "10.0.0.0/8\nb.example\n");
    let (new, old) = (folder.path("new"), folder.path("."));
    let cases: [(&[&str], &str); 9] = [
        (&[], "FILE"),
        (&[hosts.as_str()], "--out"),
        (&["/no/such/file", "--out", &new], "No such file"),
        (&[&wrong, "--out", &new], "wrong.txt: line 2"),
        (&[&hosts, "--out", &new, "--exclude", &list], "list.txt: line 2"),
        (&[&hosts, "--out", &new, "--rate", "0"], "--rate"),
        (&[&hosts, "--out", &new, "--split", "1,65"], "--force"),
        (&[&hosts, "--out", &new, "--resume"], "nothing to resume"),
        (&[hosts.as_str(), "--resume"], "--out"),
    ];
    for (arguments, printed) in cases {
        let output = survey(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(printed), "{arguments:?}: {stderr}");
    }
    assert!(!Path::new(&new).exists());
    if !skipped() {
        let output = survey(&[&hosts, "--out", &old]);
        assert!(text(&output.stderr).contains("exists already"), "{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn a_dry_run_says_what_would_be_done_without_any_privilege() {
    let folder = Folder::new("dry");
    let hosts = folder.file("hosts.txt", "a.example\nhttp://192.0.2.1/x\n192.0.2.2\n");
    let list = folder.file("list.txt", "192.0.2.2/32 asked us to stop\n");
    let contact = "who@example.org";
    let output = survey(&[&hosts, "--dry-run", "--exclude", &list, "--contact", contact]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for part in [
        "hosts: 3 (1 of them names",
        "excluded by address: 1",
        "tests A,C, 2 to 5 runs each",
        "some 22, at most 50 a second",
        "(who@example.org)",
        "nothing was sent",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let printed = text(&survey(&[&hosts, "--dry-run", "--find-object"]).stdout);
    for part in ["up to 4 requests more", "some 45, at most"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let printed = text(&survey(&[&hosts, "--dry-run", "--cca"]).stdout);
    for part in
        ["a trial of its congestion controller", "asks for AccECN", "some 9,", "30 hosts under way"]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn hosts_are_measured_kept_and_after_a_torn_end_resumed() {
    if skipped() {
        return;
    }
    let folder = Folder::new("resumed");
    // Each address of the loopback network is a host.
    let served: Vec<String> = ["127.0.9.1", "127.0.9.2"].map(serve).into();
    let list = [&served[0], &served[1], "http://127.0.9.3:9/", "http://127.0.9.4/"].join("\n");
    let hosts = folder.file("hosts.txt", &list);
    let exclude = folder.file("exclude.txt", "127.0.9.4\n");
    let out = folder.path("out");
    let arguments = |runs: &'static str| {
        let common =
            [hosts.as_str(), "--out", &out, "--exclude", &exclude, "--json", "--runs", runs];
        let fast = ["--timeout", "100ms", "--pause", "0s", "--patience", "60s"];
        [&common[..], &fast[..]].concat().into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    let run = |runs, more: &[&str]| {
        let arguments = arguments(runs);
        survey(&[&arguments.iter().map(String::as_str).collect::<Vec<&str>>()[..], more].concat())
    };
    let output = run("2", &[]);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&summary["schema"], &summary["done"]), (&1.into(), &4.into()), "{summary}");
    assert_eq!(
        (&summary["outcomes"]["refused"], &summary["outcomes"]["excluded"]),
        (&1.into(), &1.into())
    );
    let csv = folder.read("out/hosts.csv");
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(csv.starts_with("host,outcome,why,url,address,status,server,"), "{csv}");
    assert!(csv.contains("\"a, \"\"b\"\"\""), "what it calls itself: {csv}");
    let runs = folder.read("out/runs.csv");
    assert_eq!(runs.lines().count(), 1 + 2 * 4, "two hosts, two tests, two runs: {runs}");

    // As a kill leaves it.
    let cut = csv.len() - 10;
    fs::write(folder.path("out/hosts.csv"), &csv[..cut]).expect("written");
    fs::write(folder.path("out/runs.csv"), format!("{runs}http://127.0.9.9/,1,A,mea"))
        .expect("written");
    let output = run("3", &["--resume"]);
    assert_eq!(output.status.code(), Some(2));
    let printed = text(&output.stderr);
    assert!(printed.contains("runs was 2 and is 3") && printed.lines().count() == 1, "{printed}");
    let asked = folder.read("out/survey.json");
    let mut other: Value = serde_json::from_str(&asked).expect("JSON");
    other["arguments"]["measures"] = "controllers".into();
    fs::write(folder.path("out/survey.json"), other.to_string()).expect("written");
    let printed = text(&run("2", &["--resume"]).stderr);
    assert!(printed.contains("measures was \"controllers\" and is null"), "{printed}");
    fs::write(folder.path("out/survey.json"), asked).expect("written");
    let output = run("2", &["--resume"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let again = folder.read("out/hosts.csv");
    assert!(again.starts_with(&csv[..csv[..cut].rfind('\n').expect("rows")]), "{again}");
    assert_eq!(again.lines().count(), 5, "{again}");
    assert_eq!(folder.read("out/runs.csv").lines().count(), 9, "{}", folder.read("out/runs.csv"));
    let output = run("2", &["--resume"]);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["connections"], 0, "all is done: {summary}");
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    if skipped() {
        return;
    }
    let folder = Folder::new("interrupted");
    // The second one is not done for an hour.
    let hosts = format!("http://127.0.9.13:9/\n{}\n", serve("127.0.9.11"));
    let hosts = folder.file("hosts.txt", &hosts);
    let out = folder.path("out");
    let mut command = command(&[&hosts, "--out", &out, "--timeout", "3600s"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Running(command.spawn().expect("starts"));
    wait_until("the row of the first host", || folder.read("out/hosts.csv").lines().count() >= 2);
    let id = child.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("starts").success());
    let status = child.0.wait().expect("ends");
    let mut printed = String::new();
    child.0.stderr.take().expect("piped").read_to_string(&mut printed).expect("text");
    assert_eq!(status.code(), Some(130), "{printed}");
    assert!(printed.contains("1 of 2 hosts are done; --resume goes on"), "{printed}");
    assert!(folder.read("out/hosts.csv").contains("refused"));
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let printed = text(&survey(&["--help"]).stdout);
    for part in ["windlass probe survey hosts.txt --dry-run", "Exit status: 0", "CAP_NET_RAW"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}
