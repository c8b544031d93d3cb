//! Schemas, completions and man pages, as the command prints them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for a test.
struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reference-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("writable");
        Bench { folder }
    }

    fn good(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        output(&command.args(arguments).current_dir(&self.folder).output().expect("starts"))
    }
}

/// Standard output of a command that succeeded.
fn output(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn schema_completions_and_man_pages_are_printed() {
    let bench = Bench::new("all");
    let schema =
        serde_json::from_str::<serde_json::Value>(&bench.good(&["sim", "schema"])).expect("JSON");
    assert!(schema["$defs"]["Flow"]["properties"]["controller"].is_object());
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.good(&["completions", shell]);
        assert!(script.contains("replicates"), "{shell}");
        assert!(!script.contains("WINDLASS_"), "{shell}: a placeholder is left");
    }
    assert!(bench.good(&["man", "sim", "run"]).contains("replicates"));
    assert!(bench.good(&["man"]).contains(".TH windlass"));
    bench.good(&["man", "--out", "pages"]);
    let pages = fs::read_dir(bench.folder.join("pages")).expect("a folder");
    let pages: Vec<_> = pages.map(|page| page.expect("readable").file_name()).collect();
    for page in ["windlass.1", "windlass-sim-run.1", "windlass-tou-perf-client.1"] {
        assert!(pages.iter().any(|name| name == page), "{page} in {pages:?}");
    }
}

/// As a user presses tab: bash runs the script and completes.
#[test]
fn bash_completes_controllers_interfaces_and_scenario_files() {
    let bench = Bench::new("completions");
    let script = bench.good(&["completions", "bash"]);
    fs::write(bench.folder.join("script"), &script).expect("writable");
    let complete = |words: &str| {
        let text = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _windlass windlass \"${{COMP_WORDS[COMP_CWORD]}}\" \
             \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let found = bash.args(["-c", &text]).current_dir(&bench.folder).output();
        output(&found.expect("bash starts"))
    };
    assert_eq!(complete("windlass tou connect --cc new"), "newreno new-ecn\n");
    assert_eq!(complete("windlass tou connect --profile rfc25"), "rfc2581\n");
    assert_eq!(complete("windlass ecn-proxy run --client-side l"), "lo\n");
    // With no word of the script's own, bash itself completes names of files: `-o default`.
    assert_eq!(complete("windlass sim run --out results sho"), "\n");
    assert!(script.contains("complete -F _windlass -o nosort -o bashdefault -o default windlass"));
}
