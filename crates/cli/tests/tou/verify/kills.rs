//! kill -9 of any part: the programs at both ends notice, and nothing is left of it.

use super::programs::{Stage, lacks_programs, stage};
use super::servers::{HTTP, INTRANET};
use super::{finish, sha256};
use crate::bed::bytes;
use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use windlass_testbed::{is_gone, wait_until};

/// Bytes of a transfer that a kill interrupts: at 40 ms with loss it takes half a minute.
const LONG: usize = 8_000_000;
/// A peer that is silent for two and a quarter minutes is gone (docs/reference/tou-commands.md).
const SILENCE_MAX: Duration = Duration::from_secs(180);

/// The inode of a process's network namespace; `None` if the process has ended.
fn network_of(pid: &str) -> Option<String> {
    let link = fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
    Some(link.to_str()?.to_owned())
}

/// All processes, as their numbers.
fn processes() -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("mounted").filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && !is_gone(name)).collect()
}

fn processes_in(network: &str) -> HashSet<String> {
    let mut all = processes();
    all.retain(|pid| network_of(pid).as_deref() == Some(network));
    all.into_iter().collect()
}

/// The children, grandchildren and so on of a process.
fn descendants(pid: &str) -> Vec<String> {
    let parent = |child: &str| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().to_owned();
        fields.split_whitespace().nth(1).unwrap_or_default().to_owned()
    };
    let children = processes().into_iter().filter(|child| parent(child) == pid);
    children.flat_map(|child| [vec![child.clone()], descendants(&child)].concat()).collect()
}

/// The processes of both hosts.
fn population(stage: &Stage) -> [HashSet<String>; 2] {
    let hosts = &stage.cell.crossing.hosts;
    [0, 1].map(|host| processes_in(&format!("net:[{}]", hosts[host].inode())))
}

/// Waits until the hosts run only the processes that they ran `before`. A part was killed at `start`.
fn wait_for_population(
    stage: &Stage,
    before: &[HashSet<String>; 2],
    (killed, start): (&str, Instant),
) {
    let left = || -> Vec<String> {
        let now = population(stage);
        now.iter().zip(before).flat_map(|(now, before)| now - before).collect()
    };
    while !left().is_empty() {
        let lines = left().iter().map(|pid| command_line(pid)).collect::<Vec<_>>();
        assert!(start.elapsed() < SILENCE_MAX, "left after {killed} was killed: {lines:?}");
        thread::sleep(Duration::from_millis(500));
    }
    println!("| {killed} | {:.0} |", start.elapsed().as_secs_f64());
}

/// The command and its arguments.
fn command_line(pid: &str) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).split('\0').map(str::to_owned).collect()
}

fn kill(pid: &str) {
    finish({
        let mut command = Command::new("kill");
        command.args(["-9", pid]);
        command
    });
}

/// Starts a command that transfers the long file, and waits until bytes come.
fn begin(mut command: Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut some = [0; 10_000];
    child.stdout.as_mut().expect("piped").read_exact(&mut some).expect("bytes of the file");
    child
}

/// The bytes that a child still prints, and whether it succeeds.
fn drain(mut child: Child) -> (usize, bool) {
    let mut rest = vec![];
    child.stdout.take().expect("piped").read_to_end(&mut rest).expect("a pipe");
    (rest.len(), child.wait().expect("a child").success())
}

fn only(found: Vec<String>, what: &str) -> String {
    assert_eq!(found.len(), 1, "{what}: {found:?}");
    found[0].clone()
}

fn named(pids: &[String], words: &[&str]) -> Vec<String> {
    let matches = |pid: &&String| {
        let line = command_line(pid);
        words.iter().all(|word| line.iter().any(|argument| argument == word))
    };
    pids.iter().filter(matches).cloned().collect()
}

#[test]
#[ignore = "takes six minutes: make verify-tou"]
fn nothing_is_left_of_a_part_that_was_killed() {
    if lacks_programs() {
        return;
    }
    let mut stage = stage_with_long_file();
    let idle = population(&stage);
    println!("| killed | seconds until the other host has nothing left of it |\n|---|---:|");
    let start = Instant::now();
    kill_pipe(&stage);
    kill_run(&stage);
    kill_forward(&stage);
    wait_for_population(&stage, &idle, ("`pipe`, `run`, `forward`", start));
    kill_expose(&mut stage, &idle);
}

fn stage_with_long_file() -> Stage {
    let stage = stage("20ms", 0.01);
    fs::write(stage.folder.path("long"), bytes(12, LONG)).expect("room on disk");
    stage
}

fn long_by_ssh(stage: &Stage) -> Command {
    stage.ssh(&format!("cat {}", stage.folder.path("long")))
}

/// ssh fails at once.
fn kill_pipe(stage: &Stage) {
    let ssh = begin(long_by_ssh(stage));
    let pipe = only(named(&descendants(&ssh.id().to_string()), &["tou", "pipe"]), "a pipe");
    kill(&pipe);
    let (len, success) = drain(ssh);
    assert!(len < LONG && !success, "ssh went on: {len} bytes");
}

/// The command in the namespace ends, and the namespace with it.
fn kill_run(stage: &Stage) {
    let url = format!("http://{INTRANET}:{HTTP}/long");
    let run = begin(stage.run(&["sh", "-c", &format!("curl -sS {url}; sleep 1000")]));
    let below = descendants(&run.id().to_string());
    let curl = only(named(&below, &["curl", "-sS"]), "curl");
    let network = network_of(&curl).expect("it runs");
    assert_ne!(Some(&network), network_of("self").as_ref());
    kill(&run.id().to_string());
    drain(run);
    wait_until("the namespace of run ends", || processes_in(&network).is_empty());
    wait_until("the command ends", || below.iter().all(|pid| is_gone(pid)));
}

/// Programs get the end of their connections, and a new `forward` works.
fn kill_forward(stage: &Stage) {
    let forward = stage.forward();
    let fetch = |name: &str| {
        let mut command = stage.command("curl");
        command.args(["-sS", &format!("http://127.0.0.1:7080/{name}")]);
        command
    };
    let curl = begin(fetch("long"));
    drop(forward);
    let (len, success) = drain(curl);
    assert!(len < LONG && !success, "curl went on: {len} bytes");
    let again = stage.forward();
    let (bytes, _) = finish(fetch("payload"));
    assert_eq!(sha256(&bytes), sha256(&stage.folder.read("payload")));
    drop(again);
}

/// ssh fails when its peer has been silent for too long; after a restart it works.
fn kill_expose(stage: &mut Stage, idle: &[HashSet<String>; 2]) {
    let ssh = begin(long_by_ssh(stage));
    let start = Instant::now();
    stage.cell.expose = None;
    let (len, success) = drain(ssh);
    assert!(len < LONG && !success, "ssh went on: {len} bytes");
    wait_for_population(stage, idle, ("`expose`", start));
    stage.expose();
    let (bytes, _) = finish(stage.ssh(&format!("cat {}", stage.folder.path("payload"))));
    assert_eq!(sha256(&bytes), sha256(&stage.folder.read("payload")));
}

#[test]
#[ignore = "takes half a minute: make verify-tou"]
fn a_direct_session_outlives_its_rendezvous() {
    if lacks_programs() {
        return;
    }
    let mut stage = stage_with_long_file();
    let ssh = begin(long_by_ssh(&stage));
    let pipe = only(named(&descendants(&ssh.id().to_string()), &["tou", "pipe"]), "a pipe");
    let pipe = pipe.parse().expect("a number");
    wait_until("the path is direct", || stage.cell.path_of(pipe).as_deref() == Some("direct"));
    stage.cell.rendezvous.signal("KILL");
    let (len, success) = drain(ssh);
    assert!(success && len > LONG - 100_000, "the session needed the rendezvous: {len} bytes");
    stage.cell.restart_rendezvous();
    // The exposing host registers again with its next keep-alive.
    let read = || stage.ssh(&format!("cat {}", stage.folder.path("payload"))).output();
    let mut again = read().expect("starts");
    wait_until("the host is registered again", || {
        again = read().expect("starts");
        again.status.success()
    });
    assert_eq!(sha256(&again.stdout), sha256(&stage.folder.read("payload")));
}
