//! `windlass sim` as a user meets it: output, exit status, files.

mod batch;
mod threads;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"schema = 1
name = "short"
duration = "2s"
steady_from = "1s"
flows = [
  { name = "near", from = "s1" },
  { name = "far", from = "s2", start = "100ms" },
]
[defaults]
profile = "ns2-reno"
controller = "new-ecn"
ecn = true
[dumbbell]
bottleneck = { rate = "5Mbit/s", delay = "1ms", queue = "red" }
access = [{ rate = "10Mbit/s", delay = "1ms" }, { rate = "10Mbit/s", delay = "20ms" }]
"#;

/// An empty folder of the test's own, with the scenario in it.
struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new(test: &str) -> Bench {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("left by an earlier run");
        }
        fs::create_dir_all(&folder).expect("writable");
        fs::write(folder.join("short.toml"), SCENARIO).expect("writable");
        Bench { folder }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(args).current_dir(&self.folder);
        command
    }

    fn windlass(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("starts")
    }

    fn file_names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join(folder)).expect("a folder");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("readable").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.folder.join(path)).expect(path)
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Standard output of a command that succeeds.
fn good(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    stdout(output)
}

/// Standard error of a command that refuses its input and prints nothing else.
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", stdout(output));
    assert_eq!(stdout(output), "");
    stderr(output)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn run_prints_the_flows_the_fairness_index_and_the_seed() {
    let text = good(&Bench::new("tables").windlass(&["sim", "run", "short.toml"]));
    for expected in [
        "near",
        "far",
        "new-ecn",
        "slope",
        "fairness index",
        "r1-d",
        "seed 1;",
        "profile ns2-reno",
        "Mbit/s",
        "utilisation",
        "p99.9",
        "near RTT",
        "far in queues",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
}

#[test]
fn the_tables_fit_a_terminal_of_80_columns_with_one_line_a_flow() {
    let bench = Bench::new("table-width");
    for args in [&[][..], &["--replicates", "3", "--jitter", "100ms"]] {
        let text = good(&bench.windlass(&[&["sim", "run", "short.toml"], args].concat()));
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{widest:?}\n{text}");
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.iter().position(|line| line.starts_with("near ")).expect("a flow");
        assert!(lines[first + 1].starts_with("far "), "{text}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let bench = Bench::new("closed-pipe");
    for args in [&["sim", "schema"][..], &["sim", "run", "short.toml"], &["completions", "bash"]] {
        let mut child = bench
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{args:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let bench = Bench::new("seeds");
    let run = |args: &[&str]| {
        good(&bench.windlass(&[&["sim", "run", "short.toml", "--json"], args].concat()))
    };
    assert_eq!(run(&[]), run(&["--seed", "1"]));
    assert_eq!(json(&run(&[]))["seed"], 1);
    assert_ne!(json(&run(&[]))["flows"], json(&run(&["--seed", "2"]))["flows"]);
    assert_ne!(json(&run(&[]))["flows"], json(&run(&["--jitter", "100ms"]))["flows"]);
    assert_ne!(json(&run(&[]))["flows"], json(&run(&["--set", "flows.1.start=0.2s"]))["flows"]);
}

#[test]
fn a_bad_scenario_is_refused_with_its_line_and_nothing_is_written() {
    let bench = Bench::new("bad-scenario");
    let bad = SCENARIO.replace("\"100ms\"", "100");
    fs::write(bench.folder.join("bad.toml"), bad).expect("writable");
    let output = bench.windlass(&["sim", "run", "bad.toml", "--out", "results"]);
    assert_eq!(
        refused(&output),
        "error: bad.toml:7:40: flows.1.start: expected a time such as \"94ms\" (ns, us, ms, s, min, h), \
         found the bare number 100 (no unit)\n"
    );
    assert_eq!(bench.file_names("."), ["bad.toml", "short.toml"]);
}

#[test]
fn wrong_arguments_are_refused() {
    let bench = Bench::new("arguments");
    for args in [
        &["sim", "run", "short.toml", "--pcap"][..],
        &["sim", "run", "short.toml", "--jitter", "5m"],
        &["sim", "run", "short.toml", "--jitter", "-5ms"],
        &["sim", "run", "short.toml", "--seed", "-1"],
        &["sim", "run", "short.toml", "--replicates", "0"],
        &["sim", "run", "short.toml", "--replicates", "2", "--jobs", "0"],
        &["sim", "run", "short.toml", "--set", "=1"],
        &["sim", "run", "short.toml", "--set", "duration"],
        &["sim", "run", "missing.toml"],
        &["sim", "simple-model", "--variant", "third"],
        &["sim", "batch", "missing.jsonl"],
        &["man", "nothing"],
    ] {
        assert!(!refused(&bench.windlass(args)).is_empty(), "{args:?}");
    }
}

#[test]
fn out_writes_summary_series_and_captures_alike_each_time() {
    let bench = Bench::new("out");
    let run = |folder: &str| {
        good(&bench.windlass(&["sim", "run", "short.toml", "--json", "--pcap", "--out", folder]))
    };
    let printed = run("new/one");
    assert_eq!(printed, run("two"));
    let names = bench.file_names("two");
    let expected = [
        "flow-far.csv",
        "flow-near.csv",
        "queue-r1-d-forward.csv",
        "r1-d.pcapng",
        "s1-r1.pcapng",
        "s2-r1.pcapng",
        "summary.json",
    ];
    assert_eq!(names, expected);
    for name in names {
        let [one, two] = ["new/one", "two"].map(|folder| bench.read(&format!("{folder}/{name}")));
        assert!(one.len() > 100, "{name} is nearly empty");
        assert!(one == two, "{name} differs");
    }
    assert_eq!(bench.read("two/summary.json"), printed.as_bytes());
    assert_eq!(bench.file_names("."), ["new", "short.toml", "two"]);
}

#[test]
fn flows_only_leaves_the_series_of_queues_out_and_the_others_as_they_are() {
    let bench = Bench::new("flows-only");
    good(&bench.windlass(&["sim", "run", "short.toml", "--out", "all"]));
    good(&bench.windlass(&["sim", "run", "short.toml", "--out", "flows", "--flows-only"]));
    let names = bench.file_names("flows");
    assert_eq!(names, ["flow-far.csv", "flow-near.csv", "summary.json"]);
    for name in names {
        let [all, flows] = ["all", "flows"].map(|folder| bench.read(&format!("{folder}/{name}")));
        assert!(all == flows, "{name} differs");
    }
}

#[test]
fn the_floor_of_the_bench_takes_as_many_events_as_asked_for() {
    let bench = Bench::new("floor");
    let text = good(&bench.windlass(&["sim", "floor", "--pending", "3", "--events", "1000"]));
    let floor = json(&text);
    assert_eq!(floor["events"], 1000);
    // Periods are 0.1 to 2.1 ms, so that 1000 events of three sources last from 33 to 700 ms.
    let last_s = floor["last_s"].as_f64().expect("a number");
    assert!((0.033..0.7).contains(&last_s), "{last_s}");
    refused(&bench.windlass(&["sim", "floor", "--pending", "0"]));
}

#[test]
fn an_existing_output_directory_is_refused_and_left_as_it_is() {
    let bench = Bench::new("out-exists");
    fs::create_dir(bench.folder.join("results")).expect("writable");
    fs::write(bench.folder.join("results/mine"), "mine").expect("writable");
    let message = refused(&bench.windlass(&["sim", "run", "short.toml", "--out", "results"]));
    assert!(message.contains("--out results: exists already"), "{message}");
    assert_eq!(bench.file_names("results"), ["mine"]);
    assert_eq!(bench.file_names("."), ["results", "short.toml"]);
}

#[test]
fn an_output_directory_that_cannot_be_written_is_refused_before_the_run() {
    let bench = Bench::new("out-unwritable");
    // A run of a century: the test would not end if it began.
    let century = ["sim", "run", "short.toml", "--set", "duration=876000h"];
    for folder in ["short.toml/results", "/proc/results"] {
        let output = bench.windlass(&[&century[..], &["--out", folder]].concat());
        let message = refused(&output);
        assert!(message.contains("cannot be written"), "{message}");
    }
}

#[test]
fn replicates_give_means_and_deviations_whatever_the_number_of_jobs() {
    let bench = Bench::new("replicates");
    let run = |args: &[&str]| {
        let fixed = ["sim", "run", "short.toml", "--json", "--replicates", "3"];
        good(&bench.windlass(&[&fixed, args].concat()))
    };
    let text = run(&["--jobs", "1", "--jitter", "100ms"]);
    assert_eq!(text, run(&["--jobs", "3", "--jitter", "100ms", "--out", "results"]));
    let summary = json(&text);
    assert_eq!(summary["seeds"], serde_json::json!([1, 2, 3]));
    assert!(summary["fairness_index"]["steady"]["mean"].is_number());
    assert!(summary["flows"][0]["packets_per_s"]["steady"]["sd"].is_number());

    assert_eq!(bench.file_names("results"), ["seed-1", "seed-2", "seed-3", "summary.json"]);
    let alone = ["sim", "run", "short.toml", "--json", "--seed", "2", "--jitter", "100ms"];
    let second = good(&bench.windlass(&alone));
    assert_eq!(bench.read("results/seed-2/summary.json"), second.as_bytes());
    let table = good(&bench.windlass(&["sim", "run", "short.toml", "--replicates", "2"]));
    assert!(table.contains("2 replicates (seeds 1 to 2)") && table.contains("±"), "{table}");
    assert_eq!((&summary["schema"], &summary["series_schema"]), (&1.into(), &1.into()));
    assert_eq!(summary["kind"], "sim.replicates");
}

#[test]
fn qlog_has_a_file_for_each_connection() {
    let bench = Bench::new("qlog");
    let repeated = r#"flows.0.app={ kind = "repeated", size = "20kB", pause = "50ms", count = 3 }"#;
    let arguments =
        ["sim", "run", "short.toml", "--out", "o", "--qlog", "--pcap", "--set", repeated];
    let summary = json(&good(&bench.windlass(&[&arguments[..], &["--json"]].concat())));
    let plain = ["sim", "run", "short.toml", "--json", "--set", repeated];
    assert_eq!(summary, json(&good(&bench.windlass(&plain))), "recorders change nothing");
    let name = summary["flows"][0]["name"].as_str().expect("a name");
    for connection in 1..=3 {
        let text = bench.read(&format!("o/flow-{name}.{connection}.sqlog"));
        let text = String::from_utf8(text).expect("UTF-8");
        let records: Vec<Value> = text.split('\u{1e}').skip(1).map(json).collect();
        let names: Vec<&str> =
            records[1..].iter().map(|record| record["name"].as_str().expect("a name")).collect();
        assert_eq!(names[0], "tcp:state_updated");
        assert!(names.contains(&"quic:recovery_metrics_updated"), "{names:?}");
        let acked =
            records.iter().filter_map(|record| record["data"]["acked_bytes"].as_u64()).max();
        assert_eq!(acked, Some(20_000));
    }
}

#[test]
fn check_tells_good_files_from_bad_ones() {
    let bench = Bench::new("check");
    fs::write(bench.folder.join("bad.toml"), SCENARIO.replace("\"red\"", "\"rad\""))
        .expect("writable");
    let output = bench.windlass(&["sim", "check", "short.toml", "bad.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "short.toml: ok\n");
    assert!(
        stderr(&output).starts_with("error: bad.toml:14:57: dumbbell.bottleneck.queue: expected")
    );
}

#[test]
fn check_tells_programs_about_each_file_as_json() {
    let bench = Bench::new("check-json");
    fs::write(bench.folder.join("bad.toml"), SCENARIO.replace("\"red\"", "\"rad\""))
        .expect("writable");
    let output = bench.windlass(&["sim", "check", "--json", "short.toml", "bad.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let document = json(&stdout(&output));
    assert_eq!((&document["kind"], &document["ok"]), (&"sim.check".into(), &false.into()));
    let [good, bad] = [0, 1].map(|index| &document["files"][index]);
    let expected = serde_json::json!({
        "file": "short.toml", "ok": true, "upgraded": false, "warnings": [], "problems": []
    });
    assert_eq!(good, &expected);
    let problem = bad["problems"][0].as_str().expect("one");
    assert!(problem.starts_with("bad.toml:14:57: dumbbell.bottleneck.queue: expected"), "{bad}");
}

#[test]
fn chaos_gives_its_sums_as_json() {
    let bench = Bench::new("chaos-json");
    let run = |more: &[&str]| {
        let text = good(&bench.windlass(&[&["sim", "chaos", "--json"], more].concat()));
        json(&text)
    };
    let document = run(&["--seeds", "3..5"]);
    assert_eq!(document["kind"], "sim.chaos");
    assert_eq!(document["seeds"], serde_json::json!({ "first": 3, "end": 5 }));
    assert_eq!(
        (&document["sums"]["seeds"], &document["failures"]),
        (&2.into(), &[(); 0][..].into())
    );
    assert!(document["sums"]["packets"].as_u64().is_some_and(|packets| packets > 0), "{document}");
    let sessions = run(&["--seeds", "0..1", "--traversal"]);
    assert!(sessions["sums"]["datagrams"].as_u64().is_some_and(|count| count > 0), "{sessions}");
}

#[test]
fn a_controller_without_its_signal_is_a_warning_in_text_and_json() {
    let bench = Bench::new("warning");
    let no_ecn = ["--set", "defaults.ecn=false"];
    let run = |args: &[&str]| good(&bench.windlass(&[args, &no_ecn].concat()));
    let sentence =
        "near, far: new-ecn waits for ECN marks, but its sender does not use ECN (key ecn)";
    let text = run(&["sim", "run", "short.toml"]);
    assert!(text.ends_with(&format!("warning: {sentence}\n")), "{text}");
    let summary = json(&run(&["sim", "run", "short.toml", "--json"]));
    assert_eq!(summary["warnings"], serde_json::json!([sentence]));
    let checked = run(&["sim", "check", "short.toml"]);
    assert_eq!(checked, format!("short.toml: ok\nshort.toml: warning: {sentence}\n"));
}

#[test]
fn an_upgraded_file_simulates_the_same_and_keeps_its_comments() {
    let bench = Bench::new("upgrade");
    let old = SCENARIO.replace("profile = \"ns2-reno\"\n", "# mine\n");
    fs::write(bench.folder.join("old.toml"), &old).expect("writable");
    let run = || good(&bench.windlass(&["sim", "run", "old.toml", "--json"]));
    let before = run();
    let upgrade = || good(&bench.windlass(&["sim", "check", "--upgrade", "old.toml"]));
    assert_eq!(upgrade(), "old.toml: ok, of version 2 now\n");
    let new = String::from_utf8(bench.read("old.toml")).expect("UTF-8");
    assert!(new.starts_with("schema = 2\n") && new.contains("# mine\n"), "{new}");
    assert!(new.contains("profile = \"rfc5681\"\n"), "{new}");
    assert_eq!(run(), before);
    assert_eq!(upgrade(), "old.toml: ok\n");
    fs::write(bench.folder.join("x.json"), "{}").expect("writable");
    assert!(!refused(&bench.windlass(&["sim", "check", "--upgrade", "x.json"])).is_empty());
}

#[test]
fn every_experiment_of_the_repository_passes_check() {
    let bench = Bench::new("check-experiments");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut command = bench.command(&["sim", "check"]);
    let mut count = 0;
    for folder in fs::read_dir(root).expect("experiments").map(|entry| entry.expect("readable")) {
        for file in fs::read_dir(folder.path()).into_iter().flatten() {
            let path = file.expect("readable").path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                command.arg(path);
                count += 1;
            }
        }
    }
    assert_eq!(good(&command.output().expect("starts")).lines().count(), count);
    assert!(count >= 27);
}

/// Appendix A of the New-ECN paper, measured again: fairness at least 0.98, windows within 10 %.
#[test]
fn the_simple_model_is_fair() {
    let bench = Bench::new("simple-model");
    let text = good(&bench.windlass(&["sim", "simple-model", "--json", "--series"]));
    let model = json(&text);
    assert!(model["fairness_index"]["mean"].as_f64().is_some_and(|index| index >= 0.98));
    for (flow, reference) in [(0, 17.9), (1, 10.6)] {
        let window = model["flows"][flow]["cwnd_packets"]["mean"].as_f64().expect("a number");
        assert!((window / reference - 1.0).abs() < 0.1, "{window} for {reference}");
    }
    assert_eq!(model["series"]["queue_packets"].as_array().map(Vec::len), Some(3000));
}

#[test]
fn the_simple_model_takes_its_parameters() {
    let bench = Bench::new("model-parameters");
    let run = |more: &[&str]| {
        json(&good(&bench.windlass(&[&["sim", "simple-model", "--json"], more].concat())))
    };
    let defaults = ["--link", "5M", "--access", "5M", "--rtt", "40ms,20ms", "--start", "1,1"];
    let of_new_ecn = ["--alpha-wnd", "0.9", "--alpha-slp", "0.7", "--beta", "16"];
    let of_red = ["--p-max", "0.25", "--thresholds", "10,20", "--weight", "0.002"];
    assert_eq!(run(&[]), run(&[&defaults[..], &of_new_ecn, &of_red].concat()));
    let unfair = run(&["--rtt", "200ms,10ms", "--beta", "1"]);
    assert_eq!(unfair["flows"][0]["rtt_min_ms"], 200.0);
    assert_eq!(unfair["parameters"]["beta"], 1.0);
    let index = |model: &Value| model["fairness_index"]["mean"].as_f64().expect("a number");
    assert!(index(&unfair) < index(&run(&[])) - 0.02, "{}", index(&unfair));
    for wrong in [["--rtt", "15ms,20ms"], ["--thresholds", "20,10"], ["--alpha-wnd", "0"]] {
        let output = bench.windlass(&[&["sim", "simple-model"], &wrong[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn the_cycle_model_has_flows_alone_and_behind_a_queue() {
    let bench = Bench::new("cycle-model");
    let run = |more: &[&str]| {
        bench.windlass(&[&["sim", "cycle-model", "--cycles", "2000"], more].concat())
    };
    let alone = json(&good(&run(&["--rtt", "10ms,100ms", "--probability", "0.01", "--json"])));
    assert_eq!(alone["kind"], "sim.cycle-model");
    assert_eq!(alone["flows"][1]["rtt_min_ms"], 100.0);
    let window = |flow: usize| alone["flows"][flow]["cwnd_packets"]["time_mean_steady"].as_f64();
    assert!(window(1) > window(0), "{alone}");
    let four = ["--rtt", "190ms,70ms,30ms,4ms", "--link"];
    let shared = json(&good(&run(&[&four[..], &["10M", "--json"]].concat())));
    let index = shared["fairness_index"]["steady"].as_f64().expect("a number");
    assert!(index > 0.95, "{index}");
    assert_eq!(shared["stable"], true);
    assert!(good(&run(&[&four[..], &["10M"]].concat())).contains("a disturbance falls to a half"));
    // RED would drop: the model has nothing to say.
    let none = run(&[&four[..], &["2M"]].concat());
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("the model has no losses"));
    for wrong in [&["--rtt", "10ms"][..], &["--link", "10M"], &["--rtt", "0ms", "--link", "1M"]] {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

/// Sends SIGINT once the run has begun to write.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    let bench = Bench::new("ctrl-c");
    let args = ["sim", "run", "short.toml", "--set", "duration=876000h", "--out", "results"];
    let mut child = bench.command(&args).stderr(Stdio::piped()).spawn().expect("starts");
    let begun = |bench: &Bench| bench.file_names(".").iter().any(|name| name.ends_with(".tmp"));
    while !begun(&bench) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(bench.file_names("."), ["short.toml"]);
}
