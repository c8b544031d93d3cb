//! `windlass judge` as a user runs it, and the recipe for CI around it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use windlass_testbed::{Need, skip_unless};

/// A folder of its own for a test.
fn bench(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("judge-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("writable");
    folder
}

fn windlass(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.arg("judge").args(arguments).current_dir(folder).output().expect("starts")
}

/// Exit status, standard output, standard error.
fn parts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
}

#[test]
fn the_same_bytes_come_twice_and_for_any_number_of_jobs() {
    let folder = bench("bytes");
    let arguments = ["bbr3", "--suite", "bbr", "--case", "exiting-*", "--json", "--jobs"];
    let runs = ["1", "1", "3"].map(|jobs| windlass(&folder, &[&arguments[..], &[jobs]].concat()));
    let verdict = json(&runs[0]);
    assert_eq!((&verdict["kind"], &verdict["subject"]), (&"judge".into(), &"bbr3".into()));
    assert_eq!((&verdict["passed"], &verdict["failed"]), (&8.into(), &0.into()));
    assert_eq!(runs[0].status.code(), Some(0));
    assert!(runs.iter().all(|run| run.stdout == runs[0].stdout));
}

#[test]
fn a_failed_case_has_a_reason_files_and_a_command_that_replays_it() {
    let folder = bench("failed");
    let arguments = ["none", "--suite", "rfc5681"];
    let files = ["--junit", "junit.xml", "--page", "page.html", "--qlog", "qlog"];
    let run = windlass(&folder, &[&arguments[..], &files].concat());
    let (status, out, errors) = parts(&run);
    assert_eq!((status, errors.as_str()), (Some(1), ""));
    let replay = out.lines().find_map(|line| line.trim().strip_prefix("replay:")).expect("one");
    let words: Vec<&str> = replay.split_whitespace().collect();
    assert_eq!(words[..5], ["windlass", "judge", "none", "--suite", "rfc5681"]);
    let again = windlass(&folder, &words[2..]);
    assert_eq!(again.status.code(), Some(1));
    assert!(parts(&again).1.contains("1 case: 0 passed, 1 failed"), "{again:?}");

    let failed =
        json(&windlass(&folder, &["none", "--suite", "rfc5681", "--json"]))["failed"].clone();
    let junit = fs::read_to_string(folder.join("junit.xml")).expect("written");
    assert_eq!(junit.matches("<failure").count() as u64, failed.as_u64().expect("a number"));
    let traces = fs::read_dir(folder.join("qlog")).expect("written").count();
    assert_eq!(traces as u64, failed.as_u64().expect("a number"));
    let page = fs::read_to_string(folder.join("page.html")).expect("written");
    assert!(page.contains(words[6]) && page.contains("<svg"));
}

#[test]
fn a_mistake_is_refused_before_any_work() {
    let folder = bench("mistakes");
    fs::create_dir(folder.join("there")).expect("writable");
    for (arguments, expected) in [
        (&["cubik"][..], "did you mean \"cubic\"?"),
        (&[], "CONTROLLER: which one?"),
        (&["cubic:beat=1"], "unknown key"),
        (&["cubic", "--suite", "rfc5618"], "expected one of"),
        (&["bbr3", "--case", "nothing-*"], "--case nothing-*: no case has such a name"),
        (&["./nowhere"], "./nowhere: expected a folder with a Cargo.toml"),
        (&["bbr3", "--qlog", "there"], "--qlog there: exists already"),
        (
            &["bbr3", "--junit", "no/such/folder.xml"],
            "--junit no/such/folder.xml: cannot be written",
        ),
    ] {
        let (status, out, errors) = parts(&windlass(&folder, arguments));
        assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn cases_and_clauses_are_listed_without_a_judgement() {
    let folder = bench("lists");
    let list = json(&windlass(&folder, &["--list", "--json"]));
    assert_eq!(list["kind"], "judge.list");
    let suites = list["suites"].as_array().expect("suites").clone();
    let bbr = suites.iter().find(|suite| suite["suite"] == "bbr").expect("BBR");
    assert!(bbr["cases"].as_array().expect("cases").len() >= 22);
    let coverage = json(&windlass(&folder, &["--coverage", "--json", "--suite", "bbr"]));
    assert_eq!(coverage["kind"], "judge.coverage");
    let clause = &coverage["suites"][0]["clauses"][0];
    assert!(clause["demand"].is_string() && !clause["cases"].is_null(), "{clause}");
    let (status, text, _) = parts(&windlass(&folder, &["--coverage", "--suite", "bbr"]));
    assert_eq!(status, Some(0));
    assert!(text.contains("clauses have a case"), "{text}");
}

/// A crate whose command is `examples/own_kinds.rs`: windlass with the controllers `mine` and `deaf`.
fn crate_in(folder: &Path) -> &'static str {
    // Tests are in deps/, beside the folder of the examples.
    let test = std::env::current_exe().expect("this program");
    let profile = test.parent().and_then(Path::parent).expect("target/PROFILE/deps");
    let example = profile.join("examples/own_kinds");
    assert!(example.exists(), "cargo test builds it: {}", example.display());
    let main = format!(
        "fn main() {{\n    let mut own = std::process::Command::new({example:?});\n    \
         let status = own.args(std::env::args_os().skip(1)).status().expect(\"starts\");\n    \
         std::process::exit(status.code().unwrap_or(1));\n}}\n"
    );
    let manifest = "[package]\nname = \"own\"\nedition = \"2024\"\n[workspace]\n";
    fs::create_dir_all(folder.join("own/src")).expect("writable");
    fs::write(folder.join("own/Cargo.toml"), manifest).expect("writable");
    fs::write(folder.join("own/src/main.rs"), main).expect("writable");
    "./own"
}

#[test]
fn a_crate_is_built_and_its_command_judges() {
    let folder = bench("crate");
    let own = crate_in(&folder);
    let several = windlass(&folder, &[own]);
    let (status, _, errors) = parts(&several);
    assert_eq!(status, Some(2), "{errors}");
    assert!(errors.contains("which one? This command adds mine, deaf"), "{errors}");
    let mine = format!("{own}:mine");
    let good = windlass(&folder, &[&mine, "--profile", "rfc5681", "--suite", "rfc5681", "--json"]);
    assert_eq!((good.status.code(), &json(&good)["subject"]), (Some(0), &"mine".into()));
    let deaf = format!("{own}:deaf");
    let (status, out, _) = parts(&windlass(&folder, &[&deaf, "--suite", "rfc5681"]));
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("windlass judge ./own:deaf --suite rfc5681 --case "), "{out}");

    fs::write(folder.join("own/src/main.rs"), "fn main() { nothing }").expect("writable");
    let (status, _, errors) = parts(&windlass(&folder, &[own]));
    assert_eq!(status, Some(2));
    assert!(errors.contains("./own: cargo built no command that judges"), "{errors}");
}

/// The script of each step of the action, as a runner passes it to bash.
fn steps() -> Vec<String> {
    let action = include_str!("../../../packaging/action/action.yml");
    let blocks = action.split("      run: |\n").skip(1);
    let lines = |block: &str| {
        let inside = block.lines().take_while(|line| line.starts_with("        "));
        inside.map(|line| format!("{}\n", line.trim_start())).collect::<String>()
    };
    blocks.map(lines).collect()
}

#[test]
fn the_action_annotates_failed_clauses() {
    if skip_unless(&[Need::Program("jq"), Need::Program("bash")]) {
        return;
    }
    let folder = bench("action");
    let own = crate_in(&folder);
    let steps = steps();
    assert_eq!(steps.len(), 1);
    let step = |arguments: &str| {
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &steps[0]]);
        bash.env("CRATE", own).env("OUT", "out").env("JUDGE_FILE", "");
        bash.env("ACTION", concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/action"));
        bash.env("ARGUMENTS", arguments).current_dir(&folder).output().expect("starts")
    };
    let (status, out, errors) = parts(&step("deaf --suite rfc5681"));
    assert_eq!(status, Some(1), "{errors}");
    let annotation = out.lines().find(|line| line.starts_with("::error ")).expect("one");
    let begin = "::error file=./own/src/lib.rs,title=RFC ";
    assert!(annotation.starts_with(begin) && annotation.contains("::"), "{annotation}");
    for file in ["junit.xml", "judge.json", "judge.html", "qlog"] {
        assert!(folder.join("out").join(file).exists(), "{file}");
    }
    // A folder of the controller's name is no crate to the command of a crate.
    fs::create_dir_all(folder.join("mine")).expect("writable");
    fs::write(folder.join("mine/Cargo.toml"), "").expect("writable");
    let (status, out, errors) = parts(&step("mine --suite rfc5681 --profile rfc5681"));
    assert_eq!(status, Some(0), "{errors}");
    assert!(out.starts_with("mine: ") && !out.contains("::error"), "{out}");
    let (status, _, errors) = parts(&step("mine --suite no-such"));
    assert_eq!(status, Some(2), "{errors}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_kernel_that_runs_is_judged_and_leaves_the_packets_of_a_failure() {
    if skip_unless(&[Need::Root, Need::Tun]) {
        return;
    }
    let folder = bench("kernel");
    // Linux has a minimum RTO of 200 ms.
    let case = ["--suite", "rfc5681", "--case", "rto-is-a-second-at-least", "--pcap", "traces"];
    let run = windlass(&folder, &[&["--kernel", "reno", "--json"], &case[..]].concat());
    let verdict = json(&run);
    assert!(verdict["subject"].as_str().is_some_and(|name| name.starts_with("Linux ")));
    assert_eq!((run.status.code(), &verdict["failed"]), (Some(1), &1.into()));
    let replay = "windlass judge --kernel reno --suite rfc5681 --case rto-is-a-second-at-least";
    assert_eq!(verdict["suites"][0]["cases"][0]["replay"], replay);
    let file = folder.join("traces/rfc5681-rto-is-a-second-at-least.pcapng");
    assert_eq!(fs::read(file).expect("written")[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_controller_that_the_kernel_lacks_is_refused() {
    if skip_unless(&[Need::Root, Need::Tun]) {
        return;
    }
    let (status, _, errors) = parts(&windlass(&bench("lacks"), &["--kernel", "no-such"]));
    assert_eq!(status, Some(2));
    assert!(errors.contains("--kernel no-such") && errors.contains("no controller"), "{errors}");
}
