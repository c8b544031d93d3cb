//! `windlass sim batch`: requests and answers, line by line.

use super::{Bench, good, json, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

fn batch(bench: &Bench, lines: &str, args: &[&str]) -> Output {
    let mut child = bench
        .command(&[&["sim", "batch"], args].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    child.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("read");
    child.wait_with_output().expect("ends")
}

#[test]
fn batch_answers_line_by_line_in_order() {
    let bench = Bench::new("batch");
    let request = |seed: u64| {
        format!(
            "{{\"file\": \"short.toml\", \"seed\": {seed}, \"set\": {{\"duration\": \"1.5s\"}}}}"
        )
    };
    let lines: Vec<String> = (1..=6).map(request).collect();
    let text = good(&batch(&bench, &lines.join("\n"), &["--jobs", "3"]));
    let seeds: Vec<Value> = text.lines().map(|line| json(line)["seed"].clone()).collect();
    assert_eq!(seeds, [1, 2, 3, 4, 5, 6]);
    let alone = ["sim", "run", "short.toml", "--json", "--seed", "4", "--set", "duration=1.5s"];
    let mut fourth = json(text.lines().nth(3).expect("six"));
    assert!(fourth.as_object_mut().is_some_and(|result| result.remove("set").is_some()));
    assert_eq!(fourth, json(&good(&bench.windlass(&alone))));
}

#[test]
fn batch_takes_whole_scenarios_and_tables_in_set() {
    let bench = Bench::new("batch-forms");
    let lines = r#"{"schema": 1, "name": "inline", "duration": "1s", "flows": [{"from": "s1"}], "dumbbell": {"bottleneck": {"rate": "1Mbit/s", "delay": "5ms"}, "access": [{"delay": "1ms"}]}}
{"file": "short.toml", "set": {"flows": [{"name": "only", "from": "s1", "receiver": {"ack": "immediate"}}]}}
"#;
    let text = good(&batch(&bench, lines, &[]));
    let results: Vec<Value> = text.lines().map(json).collect();
    assert_eq!(results[0]["name"], "inline");
    assert_eq!(results[1]["flows"][0]["name"], "only");
    assert_eq!(results[1]["flows"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_batch_echoes_id_and_set_of_each_request() {
    let bench = Bench::new("batch-echo");
    let lines = "{\"file\": \"short.toml\", \"set\": {\"duration\": \"1.5s\"}, \"id\": [1, \"a\"]}\n\
                 {\"file\": \"short.toml\", \"set\": {\"duration\": 1}, \"id\": \"bad\"}\n\
                 {\"file\": \"short.toml\", \"set\": {\"duration\": \"1.5s\"}}\n";
    let output = batch(&bench, lines, &[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let results: Vec<Value> = text.lines().map(json).collect();
    assert_eq!(results[0]["id"], serde_json::json!([1, "a"]));
    assert_eq!(results[0]["set"], serde_json::json!({ "duration": "1.5s" }));
    assert_eq!((&results[1]["id"], &results[1]["line"]), (&"bad".into(), &2.into()));
    assert!(results[1]["error"].as_str().is_some_and(|error| error.contains("duration")));
    assert!(results[2].get("id").is_none() && results[2].get("set").is_some());
}

#[test]
fn bad_lines_of_a_batch_are_answered_by_number_and_the_others_run() {
    let bench = Bench::new("batch-bad");
    let lines = "{\"file\": \"short.toml\"}\n\n[1\n{\"schema\": 1, \"name\": \"x\", \"duration\": 3}\n\
                 {\"file\": \"short.toml\", \"sets\": {}}\n{\"file\": \"short.toml\"}\n";
    let output = batch(&bench, lines, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "error: 3 lines were bad; their results say why\n");
    let results: Vec<Value> = stdout(&output).lines().map(json).collect();
    assert_eq!(results.len(), 5);
    assert_eq!((&results[0]["name"], &results[4]["name"]), (&"short".into(), &"short".into()));
    let errors: Vec<(u64, &str)> = results[1..4]
        .iter()
        .map(|result| {
            (result["line"].as_u64().expect("a number"), result["error"].as_str().expect("a text"))
        })
        .collect();
    let expected = [
        (3, "not JSON: column 2: EOF while parsing a list"),
        (
            4,
            "line 4: duration: expected a time such as \"94ms\" (ns, us, ms, s, min, h), found the \
             bare number 3 (no unit)",
        ),
        (5, "sets: unknown key; a request has file, set, seed, jitter, id"),
    ];
    assert_eq!(errors, expected);
}

#[test]
fn a_line_of_a_batch_that_is_no_text_does_not_stop_the_others() {
    let bench = Bench::new("batch-binary");
    let lines =
        b"{\"file\": \"short.toml\"}\r\n\xff\xfe\r\n\r\n{\"file\": \"short.toml\", \"seed\": 3}";
    fs::write(bench.folder.join("lines"), lines).expect("writable");
    let output = bench.windlass(&["sim", "batch", "lines"]);
    assert_eq!(output.status.code(), Some(2));
    let results: Vec<Value> = stdout(&output).lines().map(json).collect();
    let expected = serde_json::json!({
        "schema": 1, "kind": "sim.batch-error", "line": 2, "error": "not a text in UTF-8"
    });
    assert_eq!(results[1], expected);
    assert_eq!((&results[0]["seed"], &results[2]["seed"]), (&1.into(), &3.into()));
}
