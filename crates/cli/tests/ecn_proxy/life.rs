//! How the daemon begins, changes and ends.

use crate::bed::{Bed, LAN, PATIENCE, Proxy, WAN, WINDLASS, eventually, skipped, text};
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use windlass_testbed::{Need, skip, skip_unless, unique};

#[test]
fn a_second_daemon_at_the_same_socket_is_refused() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let _first = bed.run_plain();
    let mut second = bed.run(&["--client-side", WAN]);
    let line = second.wait_for("another ECN proxy runs at");
    assert!(line.starts_with("error: ") && line.contains("proxy.sock"), "{line}");
    assert_eq!(second.wait().code(), Some(1));
    assert_eq!(bed.json("status")["interfaces"][0]["name"], LAN, "the first runs on");
}

#[test]
fn sighup_reloads_without_losing_connections_and_a_bad_file_changes_nothing() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let file = bed.path("proxy.toml");
    let write = |text: &str| fs::write(&file, text).expect("writable");
    write("schema = 1\nclient_side = [\"lan\"]\n");
    let proxy = bed.run(&["--config", &file.display().to_string()]);
    proxy.wait_for("running");
    let mut old = bed.open();
    assert!(bed.server_has_ecn(&old));

    write(
        "schema = 1\nclient_side = [\"lan\"]\npolicy = \"drop\"\ndeny = [\"10.9.1.0/24\"]\nmark_bit = 3\n",
    );
    proxy.signal("HUP");
    assert!(proxy.wait_for("takes a restart").contains("mark_bit"));
    proxy.wait_for("configuration reloaded");
    assert_eq!(bed.json("status")["policy"], "drop");
    assert!(!bed.serves(), "the client is denied now");
    old.carries();
    assert!(bed.flows().iter().any(|flow| flow["host"] == old.host()), "still served");

    write("schema = 1\nclient_side = [\"lan\"]\npolicy = \"x\"\n");
    proxy.signal("HUP");
    let line = proxy.wait_for("configuration not reloaded");
    assert!(line.contains(&format!("{}:3:10: policy: expected", file.display())), "{line}");
    assert_eq!(bed.json("status")["policy"], "drop");
}

/// sd_notify(3): datagrams to the socket that the service manager names.
#[test]
fn the_service_manager_is_notified_when_it_is_ready_reloads_and_stops() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let path = bed.path("notify");
    let manager = UnixDatagram::bind(&path).expect("free");
    manager.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let wait_for = |word: &str| {
        let mut buffer = [0; 4096];
        loop {
            let count = match manager.recv(&mut buffer) {
                // A receive with a time limit ends with any signal (signal(7)).
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => result.unwrap_or_else(|error| panic!("{word}: {error}")),
            };
            let printed = text(&buffer[..count]);
            if printed.lines().any(|line| line == word) {
                return printed;
            }
        }
    };
    let mut command = bed.on_router(WINDLASS);
    command.args(["ecn-proxy", "run", "--client-side", LAN, "--socket"]);
    command.arg(bed.path("proxy.sock"));
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "30000000");
    let mut proxy = Proxy::start(command);
    wait_for("READY=1");
    assert!(bed.json("status")["state"] == "on", "ready means that it answers");
    proxy.signal("HUP");
    assert!(wait_for("RELOADING=1").contains("MONOTONIC_USEC="));
    wait_for("READY=1");
    wait_for("WATCHDOG=1");
    proxy.signal("TERM");
    wait_for("STOPPING=1");
    assert_eq!(proxy.wait().code(), Some(0));
}

/// As on many small routers, whose kernels are built without CONFIG_DEBUG_INFO_BTF.
#[test]
fn without_the_types_of_the_kernel_it_serves_and_warns() {
    if skipped(&["unshare", "mount"]) {
        return;
    }
    let bed = Bed::new();
    let hide = "mount -t tmpfs none /sys/kernel/btf && exec \"$@\"";
    let mut command = bed.on_router("unshare");
    command.args(["--mount", "sh", "-c", hide, "sh", WINDLASS]);
    command.args(["ecn-proxy", "run", "--client-side", LAN, "--socket"]);
    command.arg(bed.path("proxy.sock"));
    let proxy = Proxy::start(command);
    proxy.wait_for("running");
    assert!(bed.serves());
    let is_warned = || bed.json("status")["warnings"].to_string().contains("rx-gro-list off");
    assert!(eventually(is_warned), "{}", bed.json("status"));
}

#[test]
fn an_interface_may_come_later_go_and_come_again() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let proxy = bed.run(&["--client-side", LAN, "--client-side", "later"]);
    proxy.wait_for("it is served as soon as it appears");
    proxy.wait_for("running");
    let trouble = |index: usize| bed.json("status")["interfaces"][index]["trouble"].clone();
    assert!(trouble(1).as_str().expect("a reason").starts_with("no such interface"));
    assert!(bed.serves());

    bed.remove_lan();
    assert!(eventually(|| trouble(0) != Value::Null));
    bed.restore_lan();
    assert!(eventually(|| trouble(0) == Value::Null));
    assert!(bed.serves());
}

#[test]
fn sigterm_ends_it_and_connections_go_on() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    for signal in ["TERM", "INT"] {
        let mut proxy = bed.run_plain();
        let mut connection = bed.open();
        assert!(bed.server_has_ecn(&connection));
        proxy.signal(signal);
        assert_eq!(proxy.wait().code(), Some(0));
        assert!(!bed.path("proxy.sock").exists() && !bed.path("proxy.pid").exists());
        connection.carries();
        assert!(!bed.serves());
    }
}

#[test]
fn killed_it_leaves_no_program_and_the_next_one_takes_its_place() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let mut proxy = bed.run_plain();
    let hook = bed.json("status")["interfaces"][0]["attached"]["hook"].clone();
    let mut connection = bed.open();
    proxy.signal("KILL");
    proxy.wait();
    connection.carries();
    if hook == "tcx" {
        assert!(!bed.serves(), "the programs went with the process");
        let printed = bed.on_router("bpftool").args(["net", "show"]).output();
        if let Ok(printed) = printed {
            assert!(!text(&printed.stdout).contains("ecn"), "{}", text(&printed.stdout));
        }
    }
    assert_eq!(bed.ask(&["status"]).status.code(), Some(1));
    let _next = bed.run_plain();
    assert!(bed.serves());
}

#[test]
fn stop_ends_it_at_once() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let mut proxy = bed.run_plain();
    let output = bed.ask(&["stop"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "stopped\n".to_owned()));
    assert_eq!(proxy.wait().code(), Some(0));
    assert!(!bed.serves());
}

#[test]
fn a_drain_serves_what_is_under_way_to_its_end() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let mut proxy = bed.run(&["--client-side", LAN, "--closing-timeout", "1s"]);
    proxy.wait_for("running");
    let mut old = bed.open();
    let socket = bed.path("proxy.sock").display().to_string();
    let drain = || {
        let mut stop = Command::new(WINDLASS);
        stop.args(["ecn-proxy", "stop", "--drain", "10m", "--socket", &socket]);
        Proxy::start(stop)
    };
    // Ended by `on`, it goes on.
    let mut first = drain();
    assert!(eventually(|| bed.json("status")["state"] == "draining"));
    assert!(bed.ask(&["on"]).status.success());
    first.wait_for("the drain was ended");
    assert_eq!(first.wait().code(), Some(1));
    assert!(bed.serves());

    let mut second = drain();
    assert!(eventually(|| bed.json("status")["state"] == "draining"));
    assert!(!bed.serves(), "nothing new is taken on");
    old.carries();
    assert!(bed.flows().iter().any(|flow| flow["host"] == old.host()), "still served");
    drop(old);
    assert_eq!(second.wait().code(), Some(0));
    assert_eq!(proxy.wait().code(), Some(0));
}

#[test]
fn pinned_it_leaves_no_gap_until_it_is_stopped() {
    if skipped(&[]) {
        return;
    }
    let mounts = fs::read_to_string("/proc/mounts").expect("readable");
    if !mounts.contains(" /sys/fs/bpf bpf ") {
        skip("needs a BPF file system at /sys/fs/bpf");
        return;
    }
    let folder = Pins::new();
    let bed = Bed::new();
    let pin = format!("--pin={}", folder.0.display());
    let options = ["--client-side", LAN, &pin];
    let mut first = bed.run(&options);
    first.wait_for("running");
    let mut old = bed.open();
    first.signal("TERM");
    assert_eq!(first.wait().code(), Some(0));
    assert!(bed.serves(), "the daemon has ended, its programs have not");
    let mut second = bed.run(&options);
    second.wait_for("running");
    let status = bed.json("status");
    assert_eq!(status["features"]["reused"], true, "{status}");
    assert!(bed.flows().iter().any(|flow| flow["host"] == old.host()), "the table as it was");
    old.carries();
    assert!(bed.ask(&["stop"]).status.success());
    assert_eq!(second.wait().code(), Some(0));
    assert!(!folder.0.exists(), "stop takes the pins away");
    assert!(!bed.serves());
}

#[test]
fn data_under_way_survives_reloads_and_a_kill() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let file = bed.path("proxy.toml");
    fs::write(&file, "schema = 1\nclient_side = [\"lan\"]\n").expect("writable");
    let config = file.display().to_string();
    let mut proxy = bed.run(&["--config", &config]);
    proxy.wait_for("running");
    bed.slow_down();
    let mut connection = bed.open();
    assert!(bed.server_has_ecn(&connection));
    let host = connection.host();
    connection.while_carrying(|| {
        for _ in 0..5 {
            proxy.signal("HUP");
            proxy.wait_for("configuration reloaded");
        }
        assert!(bed.flows().iter().any(|flow| flow["host"] == host.as_str()), "served on");
        proxy.signal("KILL");
        proxy.wait();
        proxy = bed.run_plain();
    });
    connection.carries();
    assert!(bed.serves());
}

#[test]
fn data_under_way_is_served_on_after_a_kill_with_pins() {
    if skipped(&[]) || skip_unless(&[Need::BpfFileSystem]) {
        return;
    }
    let folder = Pins::new();
    let bed = Bed::new();
    let pin = format!("--pin={}", folder.0.display());
    let options = ["--client-side", LAN, &pin];
    let mut proxy = bed.run(&options);
    proxy.wait_for("running");
    bed.slow_down();
    let mut connection = bed.open();
    let host = connection.host();
    connection.while_carrying(|| {
        for _ in 0..2 {
            proxy.signal("KILL");
            proxy.wait();
            proxy = bed.run(&options);
            proxy.wait_for("running");
            assert_eq!(bed.json("status")["features"]["reused"], true);
            let packets = || {
                let flows = bed.flows();
                let own = flows.iter().find(|flow| flow["host"] == host.as_str());
                own.and_then(|flow| flow["packets_from_host"].as_u64()).expect("in the table")
            };
            let before = packets();
            assert!(eventually(|| packets() > before), "served on");
        }
    });
    assert!(bed.ask(&["stop"]).status.success());
    assert_eq!(proxy.wait().code(), Some(0));
    connection.carries();
    assert!(!folder.0.exists() && !bed.serves(), "nothing is left behind");
}

/// Else both sets of programs would edit each packet.
#[test]
fn the_programs_of_a_killed_daemon_with_pins_are_not_joined_by_others() {
    if skipped(&[]) || skip_unless(&[Need::BpfFileSystem]) {
        return;
    }
    let folder = Pins::new();
    let bed = Bed::new();
    let pin = format!("--pin={}", folder.0.display());
    let mut first = bed.run(&["--client-side", LAN, &pin]);
    first.wait_for("running");
    let hook = bed.json("status")["interfaces"][0]["attached"]["hook"].clone();
    first.signal("KILL");
    first.wait();
    if hook == "tcx" {
        let mut without = bed.run(&["--client-side", LAN]);
        let line = without.wait_for("error: interface lan: another ECN proxy serves lan");
        assert!(line.contains("--pin"), "{line}");
        assert_eq!(without.wait().code(), Some(1));
        assert!(bed.serves(), "the programs of the first are untouched");
    }
    let mut next = bed.run(&["--client-side", LAN, &pin]);
    next.wait_for("running");
    assert_eq!(bed.json("status")["features"]["reused"], true);
    assert!(bed.ask(&["stop"]).status.success());
    assert_eq!(next.wait().code(), Some(0));
    bed.run_plain();
}

#[test]
fn a_second_daemon_at_the_same_interface_is_refused() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let _first = bed.run_plain();
    if bed.json("status")["interfaces"][0]["attached"]["hook"] != "tcx" {
        skip("needs TCX");
        return;
    }
    let mut command = bed.on_router(WINDLASS);
    command.args(["ecn-proxy", "run", "--client-side", LAN, "--socket"]);
    command.arg(bed.path("second.sock"));
    let mut second = Proxy::start(command);
    second.wait_for("another ECN proxy serves lan");
    assert_eq!(second.wait().code(), Some(1));
    assert!(bed.serves());
}

/// A folder in the BPF file system, gone with the value.
struct Pins(PathBuf);

impl Pins {
    fn new() -> Pins {
        let at = Path::new("/sys/fs/bpf");
        Pins(at.join(unique("windlass-test-")))
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The capabilities that the page and the unit name are enough, and what is missing is named.
#[test]
fn the_capabilities_that_the_page_names_are_enough() {
    if skipped(&["setpriv"]) {
        return;
    }
    let bed = Bed::new();
    let run = |capabilities: &str| {
        let folder = bed.path("user");
        fs::create_dir_all(&folder).expect("writable");
        std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).expect("root");
        let mut command = bed.on_router("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]);
        command.arg(format!("--inh-caps={capabilities}"));
        command.arg(format!("--ambient-caps={capabilities}"));
        command.arg(format!("--bounding-set={capabilities}")).arg(WINDLASS);
        command.args(["ecn-proxy", "run", "--client-side", LAN, "--socket"]);
        Proxy::start({
            command.arg(folder.join("proxy.sock"));
            command
        })
    };
    let readable = |path: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--clear-groups", "test", "-x"]).arg(path);
        command.status().is_ok_and(|status| status.success())
    };
    if !readable(Path::new(WINDLASS)) {
        skip("an ordinary user cannot reach the binary");
        return;
    }
    let proxy = run("-all,+bpf,+net_admin,+perfmon");
    proxy.wait_for("running");
    assert!(bed.serves());
    drop(proxy);
    for (held, lacking) in [
        ("-all,+net_admin,+perfmon", "CAP_BPF"),
        ("-all,+bpf,+perfmon", "CAP_NET_ADMIN"),
        ("-all,+bpf,+net_admin", "CAP_PERFMON"),
    ] {
        let mut proxy = run(held);
        let line = proxy.wait_for("not permitted: run as root, or with ");
        assert!(line.ends_with(&format!("{lacking} as well")), "{line}");
        assert_eq!(proxy.wait().code(), Some(1), "{lacking}");
    }
}
