//! `windlass doctor` as a user meets it. The programs of the test's machine are unknown, so the
//! tests make folders of programs and look at the report on them.

use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use windlass_testbed::skip;

const TOOLS: [&str; 12] = [
    "simulator",
    "lab",
    "bench",
    "link",
    "cc",
    "ecn-proxy",
    "probe",
    "split-ack",
    "tou",
    "judge",
    "drill",
    "testbed",
];

/// An empty folder of the test's own.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctor").join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("left by an earlier run");
    }
    fs::create_dir_all(&folder).expect("writable");
    folder
}

/// Puts a program into a folder, which prints `says`. Another process writes it: a file that is open for
/// writing cannot be started, and a process that another test starts meanwhile would have it open too
/// (`open(2)`, ETXTBSY).
fn program(folder: &Path, name: &str, says: &str) {
    let text = folder.join(format!(".{name}"));
    fs::write(&text, format!("#!/bin/sh\necho '{says}'\n")).expect("writable");
    let mut install = Command::new("install");
    install.args(["-m", "755"]).args([&text, &folder.join(name)]);
    assert!(install.status().expect("starts").success(), "{name}: not installed");
}

/// The doctor, with this folder as its whole PATH.
fn command(path: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.arg("doctor").args(args).env("PATH", path).current_dir("/");
    command
}

fn doctor(path: &Path, args: &[&str]) -> Output {
    command(path, args).output().expect("starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The report on one need of the only tool asked for.
fn need<'a>(report: &'a Value, name: &str) -> &'a Value {
    let needs = report["tools"][0]["needs"].as_array().expect("a list");
    needs.iter().find(|need| need["need"] == name).unwrap_or_else(|| panic!("{name} in {report}"))
}

#[test]
fn without_programs_each_that_is_missing_is_named_with_how_to_get_it() {
    let empty = folder("empty");
    for (tool, name, required, get) in [
        ("lab", "Python 3.11", true, "apt-get install python3 python3-venv"),
        ("lab", "windlass-lab", true, "make setup"),
        ("lab", "chromium", false, "apt-get install chromium"),
        ("bench", "ns", false, "apt-get install ns2"),
        ("simulator", "tshark", false, "apt-get install tshark"),
        ("testbed", "iperf3", true, "apt-get install iperf3"),
        ("testbed", "iperf", false, "apt-get install iperf"),
        ("tou", "tshark", false, "apt-get install tshark"),
        ("testbed", "nginx", false, "apt-get install nginx"),
    ] {
        let report = json(&doctor(&empty, &[tool, "--json"]));
        let need = need(&report, name);
        assert_eq!((&need["present"], &need["required"]), (&false.into(), &required.into()));
        let advice = need["get"].as_str().expect("text");
        assert!(advice.starts_with(get), "{name}: {advice}");
        let message = text(&doctor(&empty, &[tool]).stdout);
        let word = if required { "MISSING " } else { "optional" };
        assert!(message.contains(&format!("  {word}  {name}: ")), "{message}");
        assert!(message.contains(&format!("get it: {get}")), "{message}");
    }
}

#[test]
fn only_what_is_required_makes_the_exit_status_1() {
    let empty = folder("status");
    let simulator = doctor(&empty, &["simulator"]);
    assert_eq!((simulator.status.code(), text(&simulator.stderr)), (Some(0), String::new()));
    let bench = doctor(&empty, &["simulator", "bench"]);
    let message = "error: something is missing for bench\n";
    assert_eq!((bench.status.code(), text(&bench.stderr)), (Some(1), message.to_owned()));
    assert!(text(&bench.stdout).contains("simulator: ready"), "{}", text(&bench.stdout));
    assert!(text(&bench.stdout).contains("bench: NOT READY"), "{}", text(&bench.stdout));
}

#[test]
fn the_simulator_answers_to_the_name_of_its_command() {
    let path = folder("alias");
    let [by_command, by_name] = ["sim", "simulator"].map(|tool| doctor(&path, &[tool, "--json"]));
    assert_eq!(by_command.status.code(), Some(0));
    assert_eq!(json(&by_command), json(&by_name));
}

/// Whatever else the machine lacks, a lab in no folder of PATH is no error of `windlass doctor`.
#[test]
fn the_lab_alone_is_no_error_unless_it_is_asked_for() {
    let bin = folder("no-lab");
    program(&bin, "python3", "3 13");
    program(&bin, "iperf3", "");
    let all = doctor(&bin, &[]);
    let report = json(&doctor(&bin, &["--json"]));
    let lacks = |tool: &Value| -> Vec<String> {
        let needs = tool["needs"].as_array().expect("a list").iter();
        let missing = needs.filter(|need| need["required"] == true && need["present"] == false);
        missing.map(|need| need["need"].as_str().expect("text").to_owned()).collect()
    };
    let unready: Vec<&Value> = report["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|tool| !lacks(tool).is_empty() && lacks(tool) != ["windlass-lab"])
        .collect();
    assert!(unready.iter().all(|tool| tool["tool"] != "lab"), "{report}");
    assert_eq!(report["ready"], unready.is_empty());
    assert_eq!(all.status.code(), Some(i32::from(!unready.is_empty())));
    assert_eq!(text(&all.stderr).contains("error:"), !unready.is_empty());
    assert!(!text(&all.stderr).contains("for lab"), "{}", text(&all.stderr));
    let asked = doctor(&bin, &["lab"]);
    assert_eq!(text(&asked.stderr), "error: something is missing for lab\n");
}

#[test]
fn the_proxy_hears_of_queues_that_mark_and_of_flowtables_in_the_hardware() {
    let bin = folder("packet-path");
    let report = json(&doctor(&bin, &["ecn-proxy", "--json"]));
    assert_eq!(need(&report, "marking queue")["found"], "no tc in PATH");
    assert_eq!(need(&report, "offload of flowtables")["found"], "no nft in PATH");
    program(&bin, "tc", "qdisc codel 1: dev wan root refcnt 2 limit 1000p ecn");
    program(&bin, "nft", "flowtable fast {\n flags offload;");
    let report = json(&doctor(&bin, &["ecn-proxy", "--json"]));
    assert_eq!(need(&report, "marking queue")["found"], "codel at wan");
    let tables = need(&report, "offload of flowtables");
    assert_eq!((&tables["present"], &tables["required"]), (&false.into(), &false.into()));
    assert_eq!(tables["found"], "flowtable fast is in the hardware");
    program(&bin, "tc", "qdisc codel 1: dev wan root refcnt 2 limit 1000p");
    let report = json(&doctor(&bin, &["ecn-proxy", "--json"]));
    assert_eq!(need(&report, "marking queue")["found"], "no queue of this machine marks");
}

#[test]
fn a_program_in_path_is_found_where_it_is() {
    let bin = folder("found");
    program(&bin, "iperf3", "");
    program(&bin, "python3", "3 13");
    program(&bin, "windlass-lab", "");
    fs::write(bin.join("nginx"), "no program").expect("writable");
    let report = json(&doctor(&bin, &["testbed", "--json"]));
    let place = bin.join("iperf3");
    assert_eq!(need(&report, "iperf3")["found"], place.to_str().expect("UTF-8"));
    assert_eq!(need(&report, "nginx")["present"], false, "it may not be executed");
    assert_eq!(doctor(&bin, &["lab", "bench"]).status.code(), Some(0));
}

#[test]
fn a_python_that_is_too_old_is_reported_with_its_version() {
    let bin = folder("old-python");
    program(&bin, "python3", "3 9");
    let report = json(&doctor(&bin, &["bench", "--json"]));
    let python = need(&report, "Python 3.11");
    assert_eq!(python["present"], false);
    assert!(python["found"].as_str().expect("text").ends_with("python3 is 3.9"), "{python}");
    // A newer one under its own name will do.
    program(&bin, "python3.12", "3 12");
    assert_eq!(doctor(&bin, &["bench"]).status.code(), Some(0));
}

#[test]
fn every_tool_is_examined_and_the_exit_status_says_what_the_json_says() {
    let path = PathBuf::from(std::env::var_os("PATH").expect("a PATH"));
    let all = json(&doctor(&path, &["--json"]));
    assert_eq!(all["schema"], 1);
    let names: Vec<&str> =
        all["tools"].as_array().expect("a list").iter().flat_map(|t| t["tool"].as_str()).collect();
    assert_eq!(names, TOOLS);
    for (tool, of_all) in TOOLS.iter().zip(all["tools"].as_array().expect("a list")) {
        let alone = doctor(&path, &[tool, "--json"]);
        let report = json(&alone);
        assert_eq!(&report["tools"][0], of_all, "the same, alone or among others");
        let needs = report["tools"][0]["needs"].as_array().expect("a list");
        let lacks = needs.iter().any(|need| need["required"] == true && need["present"] == false);
        assert_eq!(report["ready"], !lacks, "{tool}");
        assert_eq!(alone.status.code(), Some(i32::from(lacks)), "{tool}");
    }
}

/// An ordinary user holds no capability; the report names those that kernel programs need.
#[test]
fn an_ordinary_user_gets_the_list_of_missing_capabilities() {
    let empty = folder("user");
    let mut command = command(&empty, &["cc", "--json"]);
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
    let report = json(&output);
    for capability in ["CAP_BPF", "CAP_PERFMON"] {
        let need = need(&report, capability);
        assert_eq!(need["present"], false, "{need}");
        assert!(need["get"].as_str().expect("text").contains("root"), "{need}");
    }
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_tool_that_does_not_exist_is_refused_with_those_that_do() {
    let output = doctor(&folder("unknown"), &["toaster"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
    let message = text(&output.stderr);
    assert!(TOOLS.iter().all(|tool| message.contains(tool)), "{message}");
}

#[test]
fn help_man_page_and_completions_know_the_tools() {
    let windlass = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_windlass")).args(args).output();
        text(&output.expect("starts").stdout)
    };
    for args in [
        &["doctor", "--help"][..],
        &["man", "doctor"],
        &["completions", "bash"],
        &["completions", "zsh"],
    ] {
        // In a man page a dash is escaped.
        let message = windlass(args).replace("\\-", "-");
        assert!(TOOLS.iter().all(|tool| message.contains(tool)), "{args:?}: {message}");
    }
    // clap_complete gives fish no values of arguments without a flag.
    assert!(windlass(&["completions", "fish"]).contains("subcommand doctor"));
    for args in [["doctor", "--help"], ["man", "doctor"]] {
        assert!(windlass(&args).contains("Exit status: 0 all"), "{args:?}");
    }
}
