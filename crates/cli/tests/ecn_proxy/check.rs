//! `windlass ecn-proxy check`, and the log that `--log` chooses.

use crate::bed::{Bed, LAN, WAN, WINDLASS, skipped, text};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// `check --json` on the router, with the socket of the bed.
fn check(bed: &Bed, options: &[&str]) -> (Option<i32>, Value) {
    let mut command = bed.on_router(WINDLASS);
    command.args(["ecn-proxy", "check", "--json", "--socket"]).arg(bed.path("proxy.sock"));
    let output = command.args(options).output().expect("starts");
    (output.status.code(), document(&output))
}

fn finding<'a>(document: &'a Value, place: &str) -> &'a Value {
    let mut findings = document["findings"].as_array().into_iter().flatten();
    let found = findings.find(|finding| finding["where"] == place);
    found.unwrap_or_else(|| panic!("nothing at {place}: {document}"))
}

#[test]
fn each_mistake_in_the_file_is_a_finding_with_its_place() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check.toml");
    fs::write(&file, "schema = 1\npolcy = \"drop\"\nmark_bit = 99\nlog = \"inof\"\n")
        .expect("writable");
    let mut command = std::process::Command::new(WINDLASS);
    command.args(["ecn-proxy", "check", "--json", "--config"]).arg(&file);
    let output = command.output().expect("starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let document = document(&output);
    assert_eq!((&document["kind"], &document["ready"]), (&"ecn-proxy.check".into(), &false.into()));
    let at = |place: &str| finding(&document, &format!("{}:{place}", file.display()));
    let polcy = at("2:1: polcy");
    assert_eq!(polcy["what"], "unknown key");
    assert!(polcy["expected"].as_str().expect("text").ends_with("did you mean \"policy\"?"));
    assert_eq!(at("3:12: mark_bit")["expected"], "a bit of the packet mark, 0 to 31");
    assert!(at("4:7: log")["what"].as_str().expect("text").ends_with("did you mean \"info\"?"));
    for finding in document["findings"].as_array().expect("a list") {
        assert_eq!(
            (&finding["severity"], &finding["subject"]),
            (&"error".into(), &"configuration".into())
        );
    }
}

#[test]
fn the_machine_is_checked_and_nothing_is_changed() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    assert_eq!(check(&bed, &["--client-side", LAN]).0, Some(0));
    let (status, found) = check(&bed, &["--client-side", "lann"]);
    assert_eq!((status, &found["ready"]), (Some(1), &false.into()), "{found}");
    assert_eq!(finding(&found, "lann")["severity"], "error");
    let expected = finding(&found, "lann")["expected"].as_str().expect("text").to_owned();
    assert!(expected.ends_with("did you mean \"lan\"?"), "{expected}");

    let (status, found) = check(&bed, &["--client-side", LAN, "--metrics", "203.0.113.1:9617"]);
    assert_eq!(status, Some(1), "{found}");
    assert_eq!(finding(&found, "metrics 203.0.113.1:9617")["severity"], "error");
    let leases = bed.path("leases").display().to_string();
    let (status, found) = check(&bed, &["--client-side", LAN, "--leases", &leases]);
    assert_eq!((status, &finding(&found, &leases)["severity"]), (Some(0), &"warning".into()));
    let folder = bed.path("pins").display().to_string();
    let (status, found) = check(&bed, &["--client-side", LAN, &format!("--pin={folder}")]);
    assert_eq!((status, &finding(&found, &folder)["severity"]), (Some(1), &"error".into()));
    let entries = fs::read_dir(bed.path("")).expect("the folder").count();
    assert_eq!(entries, 0, "no socket, no lock, no pins");

    let _proxy = bed.run_plain();
    let (status, found) = check(&bed, &["--client-side", LAN]);
    let socket = bed.path("proxy.sock").display().to_string();
    let what = finding(&found, &socket)["what"].as_str().expect("text").to_owned();
    assert!(status == Some(0) && what.starts_with("an ECN proxy runs there"), "{found}");
}

/// `check` on the router, with a tc(8) that prints `listing`: not every kernel has a queue that marks.
fn check_with_queues(bed: &Bed, listing: &str, options: &[&str]) -> Output {
    let bin = bed.path("bin");
    fs::create_dir_all(&bin).expect("writable");
    fs::write(bin.join("listing"), listing).expect("writable");
    let tc = bin.join("tc");
    if !tc.exists() {
        let script = format!("#!/bin/sh\ncat {}\n", bin.join("listing").display());
        fs::write(&tc, script).expect("writable");
        fs::set_permissions(&tc, Permissions::from_mode(0o755)).expect("our file");
    }
    let mut command = bed.on_router(WINDLASS);
    let path = std::env::var("PATH").expect("a path");
    command.env("PATH", format!("{}:{path}", bin.display()));
    command.args(["ecn-proxy", "check", "--socket"]).arg(bed.path("proxy.sock"));
    command.args(["--client-side", LAN]).args(options).output().expect("starts")
}

#[test]
fn check_says_whether_a_queue_of_the_router_marks_and_strict_makes_its_lack_an_error() {
    const PLAIN: &str = "qdisc pfifo 8001: dev lan root\nqdisc pfifo 8002: dev wan root\n";
    const BEHIND: &str = "qdisc fq_codel 8001: dev lan root limit 10240p ecn\n";
    const MARKS: &str = "qdisc fq_codel 8002: dev wan root limit 10240p ecn\n";
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    for (listing, options, status, severity, what) in [
        (PLAIN, &["--json"][..], 0, "warning", "no queue of this machine marks"),
        (PLAIN, &["--json", "--strict"], 1, "error", "no queue of this machine marks"),
        // The proxy has removed ECT before that queue.
        (BEHIND, &["--json"], 0, "warning", "the only queues that mark are behind the proxy"),
    ] {
        let output = check_with_queues(&bed, listing, options);
        let found = document(&output);
        let lack = finding(&found, "queues");
        assert_eq!((&lack["severity"], &lack["what"]), (&severity.into(), &what.into()));
        let ready = (output.status.code(), &found["ready"]);
        assert_eq!(ready, (Some(status), &(status == 0).into()), "{found}");
    }
    let found = document(&check_with_queues(&bed, &format!("{BEHIND}{MARKS}"), &["--json"]));
    let queues = serde_json::json!([{ "kind": "fq_codel", "interface": WAN }]);
    assert_eq!(found["marking_queues"], queues, "{found}");
    let printed = text(&check_with_queues(&bed, MARKS, &[]).stdout);
    assert!(printed.ends_with("marking  fq_codel at wan\n"), "{printed}");
}

#[test]
fn the_log_has_what_its_level_admits_and_names_a_near_interface() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let proxy = bed.run(&["--client-side", LAN, "--client-side", "lann", "--log", "warn"]);
    let first = proxy.wait_for("");
    assert!(
        first.contains("no such interface") && first.contains("did you mean \"lan\"?"),
        "{first}"
    );
    let mut proxy = {
        drop(proxy);
        bed.run(&["--client-side", LAN, "--log", "warn,windlass_ecn_proxy::daemon=info"])
    };
    proxy.wait_for("running");
    proxy.signal("TERM");
    assert_eq!(proxy.wait().code(), Some(0));
    let output = text(&bed.ask(&["status"]).stderr);
    assert!(output.starts_with("error: no ECN proxy answers"), "{output}");
}
