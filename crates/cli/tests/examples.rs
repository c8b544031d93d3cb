//! `windlass sim examples`: the scenarios that the command carries are listed, printed and written, and
//! each can be run.

use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The scenarios' folders in the repository.
const EXPERIMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");

/// An empty folder of the test's own.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("examples-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("writable");
    folder
}

fn windlass(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(words.split(' ')).current_dir(folder).output().expect("starts")
}

fn good(folder: &Path, words: &str) -> String {
    let output = windlass(folder, words);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words}: {error}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The error of a command that refuses its input.
fn refused(folder: &Path, words: &str) -> String {
    let output = windlass(folder, words);
    assert_eq!(output.status.code(), Some(2), "{words}: {output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

fn list(folder: &Path, words: &str) -> Vec<Value> {
    let text = good(folder, words);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!([&document["schema"], &document["kind"]], [&json!(1), &json!("sim.examples")]);
    document["scenarios"].as_array().expect("a list").clone()
}

fn names(list: &[Value]) -> Vec<&str> {
    list.iter().map(|one| one["name"].as_str().expect("a name")).collect()
}

/// Every scenario file of the sets' folders is in the list, with a sentence.
#[test]
fn all_scenarios_are_listed() {
    let folder = folder("list");
    let all = list(&folder, "sim examples --json");
    for set in ["ready", "examples", "tcpeval", "c4"] {
        for file in fs::read_dir(Path::new(EXPERIMENTS).join(set)).expect("a folder") {
            let file = file.expect("readable").file_name().into_string().expect("UTF-8");
            let found = all.iter().find(|one| one["file"] == format!("{set}/{file}"));
            let found = found.unwrap_or_else(|| panic!("{set}/{file} is not listed"));
            assert_eq!(found["set"], set);
            assert_ne!(found["description"], "", "{file}");
        }
    }
    let text = good(&folder, "sim examples");
    assert!(names(&all).iter().all(|name| text.contains(name)), "{text}");
    assert_eq!(names(&list(&folder, "sim examples c4 --json")).len(), 31, "tests of the draft");
    assert!(!good(&folder, "sim examples ready").contains("tcpeval"), "another set");
}

#[test]
fn a_scenario_is_printed_as_it_stands_in_its_file() {
    let folder = folder("print");
    let text = good(&folder, "sim examples ready/incast");
    let file = fs::read_to_string(Path::new(EXPERIMENTS).join("ready/incast.toml"));
    assert_eq!(text, file.expect("readable"));
    let error = refused(&folder, "sim examples ready/incats");
    assert!(error.contains("did you mean \"ready/incast\"?"), "{error}");
}

/// The one over a trace finds it beside its folder.
#[test]
fn scenarios_are_written_with_the_files_that_they_read() {
    let folder = folder("write");
    assert_eq!(good(&folder, "sim examples ready/lte --write here"), "here/ready/lte.toml\n");
    good(&folder, "sim check here/ready/lte.toml");
    assert!(!folder.join("here/c4").exists(), "was not asked for");
    good(&folder, "sim examples --write here");
    let count = list(&folder, "sim examples --json").len();
    let written = ["ready", "examples", "tcpeval", "c4"]
        .map(|set| fs::read_dir(folder.join("here").join(set)).expect("a folder").count());
    assert_eq!(written.iter().sum::<usize>(), count);
}

#[test]
fn a_file_that_the_user_has_changed_stays_without_force() {
    let folder = folder("force");
    let mine = folder.join("here/ready/incast.toml");
    good(&folder, "sim examples ready/incast --write here");
    fs::write(&mine, "mine").expect("writable");
    let error = refused(&folder, "sim examples ready --write here");
    assert!(error.contains("here/ready/incast.toml: exists already"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert_eq!(fs::read(&mine).expect("there"), b"mine");
    assert!(!folder.join("here/ready/lte.toml").exists(), "nothing is written");
    good(&folder, "sim examples ready --write here --force");
    assert!(fs::read_to_string(&mine).expect("there").starts_with("# A storage cluster"));
    good(&folder, "sim examples ready --write here");
}

/// Keys that make a scenario short, and the starts of flows that begin late.
fn short(name: &str) -> Value {
    let mut set = json!({ "duration": "1s", "steady_from": "0s" });
    let more = match name {
        "tcpeval/ramp-up" | "tcpeval/inter-rtt" => {
            json!({ "flows.1.start": "100ms", "jitter": "0s" })
        }
        "tcpeval/intra-protocol" => json!({ "jitter": "0s" }),
        "tcpeval/transient-decrease" => json!({ "udp.0.stop": "100ms" }),
        "tcpeval/transient-increase" | "tcpeval/transient-steps" => {
            json!({ "udp.0.start": "100ms" })
        }
        "tcpeval/data-center" | "tcpeval/trans-oceanic" => json!({ "duration": "200ms" }),
        "ready/incast"
        | "examples/dctcp_step"
        | "examples/dctcp_gigabit"
        | "examples/cubic_gigabit" => {
            json!({ "duration": "20ms" })
        }
        "ready/home-droptail" | "ready/home-fq-codel" | "ready/lte" | "ready/dsl-web" => {
            json!({ "flows.1.start": "500ms" })
        }
        "examples/parking_lot" | "examples/ecn_proxy_red" => json!({ "duration": "4s" }),
        "examples/cross_traffic" => json!({ "udp.0.start": "500ms" }),
        _ if name.starts_with("c4/") => json!({ "duration": "1.5s" }),
        _ if name.starts_with("examples/") => json!({ "duration": "2.5s" }),
        _ => json!({}),
    };
    let more = more.as_object().expect("keys").clone();
    set.as_object_mut().expect("keys").extend(more);
    set
}

/// Runs them all for a short time, in one process.
#[test]
fn each_scenario_is_in_order_and_runs() {
    let folder = folder("run");
    good(&folder, "sim examples --write .");
    let all = list(&folder, "sim examples --json");
    let files: Vec<&str> = all.iter().map(|one| one["file"].as_str().expect("a path")).collect();
    good(&folder, &format!("sim check {}", files.join(" ")));
    let request = |one: &Value| {
        let set = short(one["name"].as_str().expect("a name"));
        json!({ "file": one["file"], "set": set, "id": one["name"] }).to_string() + "\n"
    };
    let requests: String = all.iter().map(request).collect();
    let mut batch = Command::new(env!("CARGO_BIN_EXE_windlass"));
    batch.args(["sim", "batch"]).current_dir(&folder);
    let mut batch = batch.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let mut input = batch.stdin.take().expect("a pipe");
    input.write_all(requests.as_bytes()).expect("written");
    drop(input);
    let output = batch.wait_with_output().expect("ends");
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let result: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(result["error"], Value::Null, "{line}");
        assert!(result["bottleneck_packets"].as_u64() > Some(0), "{} sends nothing", result["id"]);
    }
    assert_eq!(output.status.code(), Some(0));
}
