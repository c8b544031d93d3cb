//! The command's life: exit status, signals, and what is left when something is killed.

use super::bed::{Bed, skipped};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use windlass_testbed::{eventually, is_gone, run, text, unique};

#[test]
fn the_exit_status_is_that_of_the_command() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    assert_eq!(bed.shell("exit 7").status.code(), Some(7));
    assert_eq!(bed.shell("kill -KILL $$").status.code(), Some(137));
    let missing = bed.capture().arg("no-such-program").output().expect("starts");
    assert_eq!(missing.status.code(), Some(127));
    let errors = text(&missing.stderr);
    assert_eq!(errors, "error: capture: no-such-program: No such file or directory\n");
    assert_eq!(bed.capture().arg("/etc").output().expect("starts").status.code(), Some(126));
}

#[test]
fn the_command_has_names_processes_and_devices_of_its_own() {
    if skipped(&["ip"]) {
        return;
    }
    let bed = Bed::new();
    let output = bed.shell(
        "cat /etc/resolv.conf; ip -o -4 addr show; cat /proc/self/comm; ls /proc | grep -c '^[0-9]'",
    );
    let printed = text(&output.stdout);
    assert!(printed.starts_with("nameserver 198.18.0.2\n"), "{printed}");
    assert!(printed.contains("127.0.0.1/8") && printed.contains("198.18.0.1/30"), "{printed}");
    // The guard, the shell and two ends of a pipe.
    let processes: u32 = printed.lines().last().and_then(|n| n.parse().ok()).expect("a number");
    assert!(processes <= 4, "{printed}");
    // Outside nothing has changed.
    assert!(!fs::read_to_string("/etc/resolv.conf").unwrap_or_default().contains("198.18.0.2"));
}

#[test]
fn a_signal_reaches_the_command() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    for (signal, code) in [("TERM", 41), ("INT", 42), ("HUP", 43), ("QUIT", 44)] {
        let script =
            format!("trap 'exit {code}' {signal}; echo ready; while :; do sleep 0.05; done");
        let mut command = bed.capture();
        command.args(["sh", "-c", &script]).stdout(Stdio::piped());
        let mut capture = command.spawn().expect("starts");
        first_line(&mut capture);
        run("kill", &format!("-{signal} {}", capture.id()));
        assert_eq!(capture.wait().expect("ends").code(), Some(code), "{signal}");
    }
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    line.trim().to_owned()
}

/// The processes with this word among their arguments.
fn processes(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("there").flatten();
    let argument = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    let found = entries.map(|entry| entry.path()).filter(|path| argument(path));
    found.map(|path| path.display().to_string()).collect()
}

/// Whether a process is in the network namespace that `readlink /proc/self/ns/net` calls so.
fn lives(namespace: &str) -> bool {
    let entries = fs::read_dir("/proc").expect("there").flatten();
    let mut links = entries.filter_map(|entry| fs::read_link(entry.path().join("ns/net")).ok());
    links.any(|link| link.to_string_lossy() == namespace)
}

/// The PID of the child of a process.
fn child_of(pid: &str) -> String {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    children.expect("a process").split_whitespace().next().expect("a child").to_owned()
}

#[test]
fn whatever_is_killed_nothing_is_left() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    // The capture itself, the process inside the namespace, the guard, the command.
    for generation in 0..4 {
        let word = unique("73190").replace('x', "");
        // A child in a session of its own, which no signal to the group reaches.
        let script = format!(
            "readlink /proc/self/ns/net; setsid sleep {word} & \
             while ! pidof -q no-such-program; do sleep {word}; done"
        );
        let mut command = bed.capture();
        command.args(["sh", "-c", &script]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut capture = command.spawn().expect("starts");
        let namespace = first_line(&mut capture);
        assert!(lives(&namespace), "{namespace}");
        assert!(eventually(|| !processes(&word).is_empty()));
        let mut victim = capture.id().to_string();
        for _ in 0..generation {
            victim = child_of(&victim);
        }
        run("kill", &format!("-KILL {victim}"));
        let status = capture.wait().expect("ends");
        assert!(!status.success());
        assert!(eventually(|| is_gone(&victim)));
        assert!(eventually(|| processes(&word).is_empty()), "{:?}", processes(&word));
        assert!(eventually(|| !lives(&namespace)), "{generation}: {namespace} is still there");
    }
}
