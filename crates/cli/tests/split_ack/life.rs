//! How it begins and ends, and what is left then.

use crate::bed::{Bed, WINDLASS, Waiting, eventually, file, is_gone, skipped, text};
use crate::{COUNTING, segments_sent};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use windlass_testbed::skip;

/// The folder of the cgroup in which a process is, if the hierarchy is mounted here.
fn cgroup_of(pid: &str) -> Option<PathBuf> {
    let cgroups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let point = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    Some(Path::new(point.split(' ').nth(1)?).join(own))
}

fn kill(signal: &str, pid: i32) {
    let status = Command::new("sh").args(["-c", &format!("kill -{signal} {pid}")]).status();
    assert!(status.expect("a shell").success());
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    fs::write(bed.path("plain"), "no program").expect("writable");
    for (command, status, message) in [
        (&["sh", "-c", "exit 7"][..], 7, ""),
        (&["sh", "-c", "kill -TERM $$"], 143, ""),
        (&["no-such-command-anywhere"], 127, "no such command"),
        (&["./plain"], 126, "ermission denied"),
    ] {
        let output = bed.split_ack(&[], command).output().expect("starts");
        assert_eq!(output.status.code(), Some(status), "{command:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(message), "{command:?}: {}", text(&output.stderr));
    }
    let output = bed.split_ack(&["--interface", "nowhere"], &["true"]).output().expect("starts");
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("no interface nowhere"), "{}", text(&output.stderr));
}

#[test]
fn bad_options_are_refused() {
    for arguments in [&["--split", "0"][..], &["--split", "1025", "--force"], &["--acks", "0"], &[]]
    {
        let mut windlass = Command::new(WINDLASS);
        windlass.arg("split-ack").args(arguments);
        if !arguments.is_empty() {
            windlass.args(["--", "true"]);
        }
        let output = windlass.output().expect("starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn without_the_capabilities_one_line_says_which_and_how_to_give_them() {
    if skipped(&[]) {
        return;
    }
    // Root, so that cgroups are no obstacle, but for these capabilities.
    let mut limited = Command::new("setpriv");
    limited.args(["--bounding-set", "-bpf,-net_admin,-sys_admin", "--inh-caps", "-all"]);
    limited.args(["--", WINDLASS, "split-ack", "--", "true"]);
    let output = match limited.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skip("needs setpriv");
            return;
        }
        output => output.expect("starts"),
    };
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{message}");
    assert!(
        message.contains("CAP_BPF and CAP_NET_ADMIN") && message.contains("setcap"),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn an_ordinary_user_gets_an_error_of_one_line_too() {
    if skipped(&[]) {
        return;
    }
    let mut command = Command::new(WINDLASS);
    let output = match command.uid(65534).args(["split-ack", "--", "true"]).output() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            skip("an ordinary user cannot reach the binary");
            return;
        }
        output => output.expect("starts"),
    };
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{message}");
    assert!(message.contains("CAP_BPF") && message.lines().count() == 1, "{message}");
}

/// A command that waits, its process id and its cgroup.
fn waiting(bed: &Bed, script: &str) -> (Waiting, String, Option<PathBuf>) {
    let script = format!("echo $$ > pid; touch ready; read go; {script}");
    let windlass = bed.split_ack(&[], &["sh", "-c", &script]);
    let waiting = Waiting::start(windlass, &bed.path("ready"));
    let pid = fs::read_to_string(bed.path("pid")).expect("written").trim().to_owned();
    let cgroup = cgroup_of(&pid);
    (waiting, pid, cgroup)
}

#[test]
fn a_signal_goes_to_the_command_and_the_cgroup_goes_with_it() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let _ = fs::remove_file(bed.path("ready"));
        let (waiting, pid, cgroup) = waiting(&bed, "true");
        assert!(cgroup.as_ref().is_none_or(|folder| folder.exists()), "{cgroup:?}");
        kill(signal, waiting.pid());
        // It must not end by itself before the signal is there.
        assert!(eventually(|| is_gone(&pid)), "{signal} does not reach {pid}");
        assert_eq!(waiting.go_on().status.code(), Some(status));
        assert!(cgroup.as_ref().is_none_or(|folder| !folder.exists()), "{cgroup:?}");
    }
}

#[test]
fn killed_it_takes_the_command_along() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let (waiting, pid, cgroup) = waiting(&bed, "true");
    kill("KILL", waiting.pid());
    assert!(eventually(|| is_gone(&pid)), "{pid} is still there");
    drop(waiting.go_on());
    // Empty folders of killed runs are removed when the next one starts.
    assert!(bed.split_ack(&[], &["true"]).status().expect("starts").success());
    assert!(eventually(|| cgroup.as_ref().is_none_or(|folder| !folder.exists())), "{cgroup:?}");
}

#[test]
fn killed_it_leaves_no_program_for_a_command_that_goes_on() {
    if skipped(&["python3"]) {
        return;
    }
    let bed = Bed::new();
    let mut capture = bed.capture(false);
    let script = "trap '' TERM; touch ready; read go; python3 -c \"$0\" \"$1\" > late; touch done";
    let command = ["sh", "-c", script, COUNTING, &bed.url(false)];
    let windlass = bed.split_ack(&[], &command);
    let mut waiting = Waiting::start(windlass, &bed.path("ready"));
    waiting.kill();
    drop(waiting.go_on());
    assert!(eventually(|| bed.path("done").exists()), "the command ended too");
    assert!(fs::read(bed.path("late")).expect("fetched") == file());
    assert_eq!(capture.connections()[0].segments, segments_sent(&bed));
}

#[test]
fn processes_that_go_on_keep_their_cgroup_until_the_next_run_after_them() {
    if skipped(&[]) {
        return;
    }
    let bed = Bed::new();
    let script = "setsid sleep 1000 < /dev/null > /dev/null 2>&1 & echo $! > pid";
    assert!(bed.split_ack(&[], &["sh", "-c", script]).status().expect("starts").success());
    let pid = fs::read_to_string(bed.path("pid")).expect("written").trim().to_owned();
    let cgroup = cgroup_of(&pid);
    assert!(!is_gone(&pid) && cgroup.as_ref().is_none_or(|folder| folder.exists()));
    kill("KILL", pid.parse().expect("a number"));
    assert!(eventually(|| is_gone(&pid)));
    // The cgroup is not empty until the new parent has collected the process.
    let removed = || {
        let run = bed.split_ack(&[], &["true"]).status();
        run.is_ok_and(|status| status.success())
            && cgroup.as_ref().is_none_or(|folder| !folder.exists())
    };
    assert!(eventually(removed), "{cgroup:?}");
}
