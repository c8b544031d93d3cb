//! Messages for wrong input: input, message, exit status.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The arguments and the standard input of a case.
struct Input {
    arguments: &'static str,
    standard_input: &'static str,
}

const fn arguments(arguments: &'static str) -> Input {
    Input { arguments, standard_input: "" }
}

const fn piped(arguments: &'static str, standard_input: &'static str) -> Input {
    Input { arguments, standard_input }
}

const SCENARIO: &str = "schema = 1\nname = \"x\"\nduration = \"1s\"\n\
    flows = [{ from = \"s1\" }]\n\
    [dumbbell]\nbottleneck = { rate = \"1Mbit/s\", delay = \"5ms\" }\naccess = [{ delay = \"1ms\" }]\n";
const FLOWS_AFTER_TABLE: &str = "schema = 1\nname = \"x\"\nduration = \"1s\"\n\
    [dumbbell]\nbottleneck = { rate = \"1Mbit/s\", delay = \"5ms\" }\naccess = [{ delay = \"1ms\" }]\n\
    flows = [{ from = \"s1\" }]\n";

/// Input, a part of standard error, exit status.
const CASES: &[(Input, &str, i32)] = &[
    (piped("sim run -", FLOWS_AFTER_TABLE), "error: standard input:7:1: dumbbell.flows:", 2),
    (piped("sim check -", "name = \"x\"\n"), "schema", 2),
    (
        arguments("sim run /nonexistent.toml"),
        "error: /nonexistent.toml: cannot read: No such file or directory",
        2,
    ),
    (arguments("sim rnu x"), "a similar subcommand exists: 'run'", 2),
    (arguments("sim run x --seed one"), "expected a whole number from 0 to", 2),
    (arguments("sim simple-model --variant printd"), "did you mean \"printed\"?", 2),
    (piped("sim batch", "not JSON\n"), "error: one line was bad", 2),
    (arguments("probe --split 0 host"), "'--split <N>': expected a whole number from 1 to 1024", 2),
    (
        arguments("split-ack --split 0 -- true"),
        "'--split <N>': expected a whole number from 1 to 1024",
        2,
    ),
    (arguments("probe population abc"), "'<COUNT>': expected a whole number from 1 to 60000", 2),
    (arguments("probe host --timeout soon"), "a bare number is seconds", 2),
    (
        arguments("tou perf server 7100"),
        "the server takes address and port as options: --port 7100",
        2,
    ),
    (arguments("tou perf server --port 70000"), "expected a whole number from 0 to 65535", 2),
    (arguments("tou connect host:70000"), "port 70000: expected a port from 1 to 65535", 2),
    (arguments("tou listen 70000"), "port 70000: expected a port from 0 to 65535", 2),
    (arguments("tou connect host:7000 --cc cubik"), "did you mean \"cubic\"?", 2),
    (arguments("tou nat"), "--via <HOST[:PORT]>", 2),
    (arguments("tou nat --via host:0"), "port 0: expected a port from 1 to 65535", 2),
    (arguments("tou nat --via nosuch.invalid"), "error: nosuch.invalid: ", 1),
    (arguments("tou expose ssh"), "expected NAME=HOST:PORT, such as ssh=127.0.0.1:22", 2),
    (arguments("tou expose ssh=22 --exit intranet"), "expected a network such as", 2),
    (arguments("tou expose ssh=22 --config /nonexistent.toml"), "error: /nonexistent.toml: No", 2),
    (arguments("tou forward 2222"), "such as 2222=ssh@laptop", 2),
    (arguments("tou forward x=ssh@laptop"), "expected PORT or ADDRESS:PORT", 2),
    (arguments("tou forward 1=ssh@laptop --via host:0"), "0: not a port", 2),
    (arguments("tou pipe ssh"), "expected SERVICE@PEER, such as ssh@laptop", 2),
    (arguments("tou socks 1080"), "--to <KEY|NAME>", 2),
    (arguments("tou run -- true"), "--to <KEY|NAME>", 2),
    (arguments("tou run --to laptop --via host"), "<COMMAND>", 2),
    (arguments("tou key --file /proc/none/key"), "error: ", 1),
    (arguments("tou connect nosuch.invalid:7000"), "error: nosuch.invalid: ", 1),
    (arguments("link --rate 10Mbps -- true"), "did you mean \"10Mbit/s\"?", 2),
    (arguments("link --aqm rde -- true"), "did you mean \"red\"?", 2),
    (arguments("doctor simulater"), "a similar value exists: 'simulator'", 2),
    (arguments("cc load new-enc"), "a similar value exists: 'new-ecn'", 2),
    (arguments("cc load new-ecn --beta -1"), "error: beta must be from 0 to 4000", 2),
    (
        arguments("ecn-proxy run --client-side x --policy dorp"),
        "error: --policy: expected virtual-loss, drop or no-ect, found \"dorp\"; did you mean \"drop\"?",
        2,
    ),
];

fn run(windlass: &Path, input: &Input) -> Output {
    let mut child = Command::new(windlass)
        .args(input.arguments.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut standard_input = child.stdin.take().expect("a pipe");
    // A command that refuses its arguments does not read its input.
    let _ = standard_input.write_all(input.standard_input.as_bytes());
    drop(standard_input);
    child.wait_with_output().expect("ends")
}

fn windlass(input: &Input) -> Output {
    run(Path::new(env!("CARGO_BIN_EXE_windlass")), input)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every error begins with the prefix and names no number of the system's.
fn check(input: &Input, output: &Output, expected: &str, status: i32) {
    let stderr = text(&output.stderr);
    let arguments = input.arguments;
    assert_eq!(output.status.code(), Some(status), "{arguments}: {stderr}");
    assert!(stderr.starts_with("error: "), "{arguments}: {stderr}");
    assert!(stderr.contains(expected), "{arguments}: expected {expected:?} in {stderr}");
    assert!(!stderr.contains("(os error"), "{arguments}: {stderr}");
}

#[test]
fn each_mistake_has_its_message_and_exit_status() {
    for (input, expected, status) in CASES {
        check(input, &windlass(input), expected, *status);
    }
}

#[test]
fn a_scenario_comes_from_standard_input_too() {
    let output = windlass(&piped("sim run - --json", SCENARIO));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("{\n  \"schema\": 1,\n  \"kind\": \"sim.run\","));
}

#[test]
fn a_line_that_is_not_json_is_called_so() {
    let output = windlass(&piped("sim batch", "{\"file\":\n"));
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&line["kind"], &line["line"]), (&"sim.batch-error".into(), &1.into()));
    let error = line["error"].as_str().expect("a text");
    assert!(error.starts_with("not JSON: column "), "{error}");
}

#[test]
fn a_host_that_is_not_found_is_named_once() {
    let output = windlass(&arguments("tou connect nosuch.invalid:7000"));
    assert_eq!(text(&output.stderr).matches("nosuch.invalid").count(), 1, "{output:?}");
}

#[test]
fn a_bare_number_is_seconds_bits_per_second_or_bytes() {
    // Refused for another reason, after the quantities were read.
    let input = arguments("link --rate 10 --delay 3 --jitter 40ms");
    check(&input, &windlass(&input), "expected -- COMMAND", 2);
    let input = arguments("tou perf client nosuch.invalid --time 3 --bytes 10");
    check(&input, &windlass(&input), "cannot be used with", 2);
}

#[test]
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
fn a_misspelt_key_of_the_proxys_file_is_answered_with_the_right_one() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("polcy.toml");
    fs::write(&file, "schema = 1\nclient_side = [\"x\"]\npolcy = \"drop\"\n").expect("writable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    let output = command.args(["ecn-proxy", "run", "--config"]).arg(&file).output();
    let output = output.expect("starts");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let place = format!("error: {}:3:1: polcy: unknown key; ", file.display());
    assert!(stderr.starts_with(&place), "{stderr}");
    assert!(stderr.trim_end().ends_with("; did you mean \"policy\"?"), "{stderr}");
}

/// A copy that users without rights can run, and that goes with the test.
#[cfg(target_os = "linux")]
struct PublicCopy(PathBuf);

#[cfg(target_os = "linux")]
impl PublicCopy {
    /// Another process writes it: a file that is open for writing cannot be started, and a process
    /// that another test starts meanwhile would have it open too (`open(2)`, ETXTBSY).
    fn new(test: &str) -> PublicCopy {
        let path = std::env::temp_dir().join(format!("windlass-{test}-{}", std::process::id()));
        let copy = PublicCopy(path);
        let mut install = Command::new("install");
        install.args(["-m", "755", env!("CARGO_BIN_EXE_windlass")]).arg(&copy.0);
        assert!(install.status().expect("starts").success(), "no room for a copy");
        copy
    }
}

#[cfg(target_os = "linux")]
impl Drop for PublicCopy {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// As root the test starts windlass under another user; it needs a machine where that user cannot open
/// /dev/net/tun.
#[test]
#[cfg(target_os = "linux")]
fn a_tun_device_that_is_not_permitted_is_named_with_what_to_do() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    const OTHER_USER: u32 = 65_534;
    let closed =
        fs::metadata("/dev/net/tun").is_ok_and(|device| device.permissions().mode() & 0o006 == 0);
    let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !closed || !root {
        eprintln!(
            "skipped: a_tun_device_that_is_not_permitted_is_named_with_what_to_do needs root and a \
             /dev/net/tun that is closed to others"
        );
        return;
    }
    let copy = PublicCopy::new("tun");
    for arguments in ["link -- true", "probe serve --tun try --address 10.9.0.1"] {
        let mut command = Command::new(&copy.0);
        let output = command
            .args(arguments.split(' '))
            .uid(OTHER_USER)
            .gid(OTHER_USER)
            .current_dir("/")
            .output();
        let input = Input { arguments: "", standard_input: "" };
        let output = output.expect("starts");
        check(&input, &output, "/dev/net/tun", 1);
        check(&input, &output, "run as root, or see windlass doctor link", 1);
    }
}

/// Unloads the controller, however the test ends.
#[cfg(all(feature = "kernel-cc", target_os = "linux"))]
struct Unload(String);

#[cfg(all(feature = "kernel-cc", target_os = "linux"))]
impl Drop for Unload {
    fn drop(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let _ = command.args(["cc", "unload", "new-ecn", "--name", &self.0]).output();
    }
}

/// Zero is a value of beta. Where the kernel or the user's rights are in the way, the message says so
/// in one line.
#[test]
#[cfg(all(feature = "kernel-cc", target_os = "linux"))]
fn a_beta_of_zero_is_loaded_or_the_message_names_the_true_reason() {
    let name = Unload(format!("wm{}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["cc", "load", "new-ecn", "--beta", "0", "--name", &name.0]);
    let output = command.output().expect("starts");
    let stderr = text(&output.stderr);
    if output.status.success() {
        assert!(text(&output.stdout).contains("beta 0"), "{output:?}");
        return;
    }
    let reasons = ["not permitted: run as root", "the kernel refuses tracing programs", "vmlinux"];
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("error: ") && !stderr.contains("(os error"), "{stderr}");
    assert!(reasons.iter().any(|reason| stderr.contains(reason)), "{stderr}");
    assert!(!stderr.contains("beta"), "{stderr}");
}
