//! `windlass probe` as a user meets it. Tests that need CAP_NET_RAW skip without it.
#![cfg(target_os = "linux")]

use nix::sys::signal::{self, Signal};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio, id};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use windlass_testbed::{Need, skip, skip_unless, wait_until};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.arg("probe").args(arguments);
    command
}

fn probe(arguments: &[&str]) -> Output {
    command(arguments).output().expect("starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// True, after a line that says why, if a test cannot run.
fn skipped() -> bool {
    skip_unless(&[Need::RawSockets])
}

#[test]
fn bad_options_are_refused() {
    for (arguments, printed) in [
        (&[][..], "HOST|URL"),
        (&["gopher://a.example/"], "expected one of http, https, ftp"),
        (&["tcp://a.example/"], "write HOST:PORT"),
        (&["bittorrent://a.example:6881/x"], "INFOHASH"),
        (&["a.example", "--dialogue", "gopher"], "expected first or one of http"),
        (&["ssh://a.example", "--dialogue", "smtp"], "the URL has another dialogue"),
        (&["a.example", "--send", "x"], "for tcp://HOST:PORT"),
        (&["tcp://a.example:7", "--send", r"\q"], "expected \\r"),
        (&["tcp://a.example:7", "--send", "@/no/such/file"], "/no/such/file"),
        (&["tcp://a.example:7", "--until", "("], "--until"),
        (&["a.example", "--split", "0"], "--split"),
        (&["a.example", "--split", "1025"], "--split"),
        (&["a.example", "--split", "1,65"], "--force"),
        (&["a.example", "--tests", "A,F"], "expected letters of A to E and S"),
        (&["a.example", "--tests", "A", "--split", "1"], "cannot be used with"),
        (&["a.example", "-4", "-6"], "cannot be used with"),
        (&["a.example", "--burst", "--tests", "A"], "cannot be used with"),
        (&["a.example", "--cca", "--runs", "2"], "cannot be used with"),
        (&["a.example", "--burst", "--ecn"], "cannot be used with"),
        (&["judge", "/no/such/file"], "/no/such/file"),
        (&["a.example", "--burst=1"], "expected a whole number from 2 to 128"),
        (&["a.example", "--timeout", "soon"], "--timeout"),
        (&["a.example", "--acks", "0"], "--acks"),
        (&["serve", "--address", "10.98.0.2"], "--tun"),
        (&["serve", "--tun", "engine"], "--address"),
        (&["serve", "--tun", "engine", "--address", "10.98.0.2", "--stack", "bsd"], "freebsd-7"),
        (&["serve", "--tun", "engine", "--address", "10.98.0.2", "--loss", "2"], "from 0 to 1"),
        (&["serve", "--tun", "engine", "--population", "/dev/null"], "no servers in it"),
        (&["population", "9", "--controllers", "reno,cubix"], "did you mean \"cubic\"?"),
        (&["population", "0"], "expected a whole number from 1 to 60000"),
    ] {
        let output = probe(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(printed), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_population_is_the_same_as_table_and_as_list_of_hosts() {
    let table = text(&probe(&["population", "40", "--seed", "3"]).stdout);
    let hosts = text(&probe(&["population", "40", "--seed", "3", "--hosts"]).stdout);
    assert_eq!((table.lines().count(), hosts.lines().count()), (41, 40));
    for (row, host) in table.lines().skip(1).zip(hosts.lines()) {
        let address = row.split(',').next().expect("a column");
        assert_eq!(host.trim_matches(['h', 't', 'p', ':', '/', '[', ']']), address);
    }
    assert_ne!(table, text(&probe(&["population", "40"]).stdout), "another seed, another one");
}

#[test]
fn a_population_with_controllers_is_the_same_but_for_one_more_column() {
    let plain = text(&probe(&["population", "60", "--seed", "3"]).stdout);
    let arguments = ["population", "60", "--seed", "3", "--controllers", "cubic,vegas"];
    let controlled = text(&probe(&arguments).stdout);
    let mut drawn = BTreeMap::new();
    for (plain, row) in plain.lines().zip(controlled.lines()) {
        let (rest, controller) = row.rsplit_once(',').expect("columns");
        assert_eq!(rest, plain);
        *drawn.entry(controller).or_insert(0) += 1;
    }
    assert_eq!(drawn.remove("controller"), Some(1), "the header");
    assert!(drawn.len() == 2 && drawn.values().all(|count| *count > 15), "{drawn:?}");
}

#[test]
fn a_population_with_an_unknown_controller_is_refused_by_name() {
    let file = std::env::temp_dir().join(format!("windlass-population-{}.csv", std::process::id()));
    let rows = text(&probe(&["population", "2", "--controllers", "vegas"]).stdout);
    fs::write(&file, rows.replace("vegas", "vega")).expect("written");
    let output = probe(&["serve", "--tun", "engine", "--population", &file.to_string_lossy()]);
    let removed = fs::remove_file(&file);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("controller vega: expected one of"), "{stderr}");
    removed.expect("it was there");
}

#[test]
fn without_the_capability_one_line_says_which_and_how_to_give_it() {
    let mut command = command(&["127.0.0.1"]);
    if fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        command.uid(65534);
    }
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            skip("an ordinary user cannot reach the binary");
            return;
        }
        output => output.expect("starts"),
    };
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("CAP_NET_RAW") && stderr.contains("setcap"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn an_unmeasurable_server_is_reported_with_status_4() {
    if skipped() {
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port();
    drop(taken);
    let output = probe(&[&format!("http://127.0.0.1:{port}/")]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("not measured: refused"), "{}", text(&output.stdout));
    let output = probe(&["http://no-such-host.invalid/", "--json"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["failure"]["kind"], "no-such-host");
    assert_eq!(json["verdict"], Value::Null);
}

/// Answers every request with a page that is large.
fn serve(listener: TcpListener) {
    for client in listener.incoming().flatten() {
        thread::spawn(move || answer(client));
    }
}

fn answer(mut client: TcpStream) {
    let mut chunk = [0; 1024];
    if client.read(&mut chunk).is_ok() {
        let head = "HTTP/1.1 200 OK\r\nServer: test\r\n\r\n";
        let _ = client.write_all(head.as_bytes());
        let _ = client.write_all(&[b'x'; 200_000]);
    }
}

#[test]
fn a_server_on_this_machine_is_measured_as_table_and_as_json() {
    if skipped() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || serve(listener));
    let target = format!("http://127.0.0.1:{port}/large");
    let short = ["--tests", "A,C", "--runs", "2", "--timeout", "100ms"];
    let table = probe(&[&[target.as_str()], &short[..]].concat());
    let printed = text(&table.stdout);
    for part in ["data packets", "initial window: ", "reaction: ", ": test, MSS "] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let verdict = printed.find("reaction: ");
    assert!(verdict < printed.find("data packets"), "the verdict comes first: {printed}");
    let output = probe(&[&[target.as_str(), "--json"], &short[..]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["schema"], &json["url"]), (&1.into(), &target.into()));
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(4), "{json}");
    assert_eq!((&json["tests"][1]["test"], &json["tests"][1]["split"]), (&"C".into(), &4.into()));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{json}");
}

/// Answers each request with a page that is large; counts connections begun, and those that a reset has ended.
fn serve_and_count(listener: TcpListener) -> Arc<[AtomicUsize; 2]> {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let counted = Arc::clone(&counts);
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let counts = Arc::clone(&counted);
            counts[0].fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || {
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n";
                let _ = client.write_all(&[head.as_bytes(), &[b'x'; 200_000]].concat());
                while client.read(&mut [0; 1024]).is_ok_and(|len| len > 0) {}
                counts[1].fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    counts
}

#[test]
fn without_a_terminal_progress_is_a_line_and_ctrl_c_keeps_what_is_known() {
    if skipped() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = format!("http://{}/large", listener.local_addr().expect("bound"));
    let counts = serve_and_count(listener);
    let mut command = command(&[&target, "--tests", "A,C", "--timeout", "2s", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("text");
    assert!(line.starts_with("probe: ") && line.ends_with(" of at most 10 runs\n"), "{line}");
    signal::kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("it runs");
    let output = child.wait_with_output().expect("ends");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &json["interrupted"]), (Some(130), &true.into()), "{json}");
    let runs = json["runs"].as_array().map_or(0, Vec::len);
    assert!((1..10).contains(&runs), "{json}");
    assert!(json["verdict"]["initial_window"]["packets"].is_u64(), "{json}");
    wait_until("each connection is reset", || {
        counts[1].load(Ordering::SeqCst) == counts[0].load(Ordering::SeqCst)
    });
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).expect("text");
    assert!(rest.ends_with("error: interrupted\n"), "{rest}");
}

#[test]
fn bursts_of_a_server_on_this_machine_are_compared() {
    if skipped() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = format!("http://{}/large", listener.local_addr().expect("bound"));
    thread::spawn(move || serve(listener));
    let table = probe(&[&target, "--burst=2,8"]);
    let printed = text(&table.stdout);
    for part in ["first RTT", "5 of 5", "8 packets at once", "Mbit/s"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let result = printed.find("result: ");
    assert!(result < printed.find("first RTT"), "the result comes first: {printed}");
    assert_eq!(table.status.code(), Some(0), "{printed}");
    let few = probe(&[&target, "--burst=2,8", "--runs", "1", "--json"]);
    let json: Value = serde_json::from_slice(&few.stdout).expect("JSON");
    assert_eq!((&json["schema"], &json["kind"]), (&1.into(), &"probe.burst".into()));
    assert_eq!(json["sizes"][1]["packets"], 8, "{json}");
    // The server writes its head separately, which may be a short packet more.
    let arrived = json["runs"][1]["burst"]["arrived"].as_u64();
    assert!(matches!(arrived, Some(8 | 9)), "{json}");
    assert_eq!((&json["difference"], few.status.code()), (&Value::Null, Some(3)), "{json}");
}

/// A listener whose connections use this controller; `None` if the kernel has no such one.
fn listen_with(controller: &str) -> Option<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let name = std::ffi::OsString::from(controller);
    setsockopt(&listener, TcpCongestion, &name).ok().map(|()| listener)
}

/// Answers each request with 9 MB; returns the URL.
fn serve_large(listener: TcpListener) -> String {
    let target = format!("http://{}/large", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            thread::spawn(move || {
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n";
                let _ = client.read(&mut [0; 1024]);
                let _ = client.write_all(&[head.as_bytes(), &[b'x'; 9_000_000]].concat());
            });
        }
    });
    target
}

#[test]
fn the_ecn_of_a_server_is_reported_before_its_tests() {
    if skipped() {
        return;
    }
    let target = serve_large(TcpListener::bind("127.0.0.1:0").expect("a port"));
    let short = ["--tests", "A", "--runs", "1", "--timeout", "200ms"];
    let printed = text(&probe(&[&[&*target, "--ecn"], &short[..]].concat()).stdout);
    // Which one depends on net.ipv4.tcp_ecn of this machine.
    assert!(printed.contains("\nECN: "), "{printed}");
    let output = probe(&[&[&*target, "--ecn", "--json"], &short[..]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let first = &json["ecn"]["runs"][0]["ecn"];
    assert_eq!(
        (&first["ask"], &first["syn_ack"]),
        (&"accurate".into(), &"not-ect".into()),
        "{json}"
    );
    let output = probe(&[&[&*target, "--json"], &short[..]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json.get("ecn"), None, "only if asked: {json}");
}

#[test]
fn the_controller_of_a_server_is_identified_and_its_stored_trace_judged_again() {
    if skipped() {
        return;
    }
    let Some(listener) = listen_with("cubic") else {
        skip("this kernel has no CUBIC");
        return;
    };
    let target = serve_large(listener);
    let output = probe(&[&target, "--cca", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let controller = &json["controller"];
    assert_eq!(controller["controllers"], serde_json::json!(["cubic"]), "{controller}");
    assert_eq!((&json["verdict"], output.status.code()), (&Value::Null, Some(0)), "{json}");
    assert_eq!(controller["marks"]["answer"], "once", "{controller}");
    // A server that answers marks has ECN, and the controller's trial uses what was found before.
    let (mode, accurate) = (&json["ecn"]["mode"], &controller["marks"]["accurate"]);
    assert_ne!(mode, "none", "{json}");
    assert_eq!(accurate.as_bool(), Some(mode == "accurate"), "{json}");
    assert!(controller["bytes"].as_u64().is_some_and(|bytes| bytes < 9_000_000), "{controller}");

    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cubic-{}.json", id()));
    fs::write(&file, &output.stdout).expect("written");
    let again = probe(&["judge", file.to_str().expect("text"), "--json"]);
    let judged: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(judged["controller"]["nearest"], controller["nearest"]);
    fs::write(&file, "{}").expect("written");
    let bad = probe(&["judge", file.to_str().expect("text")]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(text(&bad.stderr).contains("cubic-"), "{}", text(&bad.stderr));
    fs::remove_file(&file).expect("it was written");
}

#[test]
fn help_and_man_page_show_examples_and_exit_codes() {
    let man = Command::new(env!("CARGO_BIN_EXE_windlass")).args(["man", "probe"]).output();
    for printed in [text(&probe(&["--help"]).stdout), text(&man.expect("starts").stdout)] {
        let printed = printed.replace("\\-", "-");
        for part in ["windlass probe www.example.org", "Exit status: 0", "CAP_NET_RAW"] {
            assert!(printed.contains(part), "{part}: {printed}");
        }
    }
}
