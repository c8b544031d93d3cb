//! Live views in a terminal, by what its screen shows. The views of tools that need root are tested
//! beside those tools.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use windlass_testbed::{Need, Tmux, skip_unless, text};

const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");

/// Two flows that share a narrow link for a minute.
const SCENARIO: &str = r#"
schema = 1
name = "shared"
duration = "60s"
flows = [{ name = "first", from = "s1" }, { name = "second", from = "s2", start = "2s" }]

[defaults]
profile = "rfc5681"
controller = "newreno"

[dumbbell]
bottleneck = { rate = "2Mbit/s", delay = "20ms" }
access = [{ rate = "100Mbit/s", delay = "1ms" }, { rate = "100Mbit/s", delay = "5ms" }]
"#;

/// True, after a line that says why, where there is no terminal to test in.
fn skipped() -> bool {
    skip_unless(&[Need::Program("tmux"), Need::Program("ps")])
}

/// A file with the scenario.
fn scenario(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{name}.toml"));
    fs::write(&path, SCENARIO).expect("writable");
    path
}

/// A terminal in which `sim run --live` runs with more options.
fn run_live(name: &str, size: (u16, u16), options: &str) -> Tmux {
    let terminal = Tmux::new(size.0, size.1);
    let path = scenario(name);
    terminal.type_command(&format!("{WINDLASS} sim run {} --live {options}", path.display()));
    terminal
}

#[test]
fn a_run_stays_on_the_screen_until_q_and_then_prints_its_figures() {
    if skipped() {
        return;
    }
    let terminal = run_live("whole", (110, 30), "");
    terminal.wait_for(&[
        "the run is over: q prints its figures",
        "windlass sim run: shared",
        "60.0 of 60.0 s",
        "100 %",
        "throughput 1.9",
        "queue r1-d ",
        "loss cuts",
        "first   newreno",
        "second  newreno",
    ]);
    terminal.press("?");
    terminal.wait_for(&["Ctrl-C", "scroll by a page"]);
    terminal.press("?");
    terminal.wait_until("the keys are gone", |screen| !screen.contains("scroll by a page"));
    terminal.press("q");
    let printed = terminal.wait_for_end(0);
    for part in ["fairness index", "seed 1; 60s simulated", "first   newreno"] {
        assert!(printed.contains(part), "{part} in\n{printed}");
    }
}

#[test]
fn a_new_size_is_drawn_at_once_down_to_the_smallest() {
    if skipped() {
        return;
    }
    let terminal = run_live("resize", (120, 40), "");
    terminal.wait_for(&["the run is over", "╭ throughput", "╭ cuts"]);
    terminal.resize(40, 10);
    // The last line too: tmux may show a screen that is drawn by half.
    terminal.wait_until("one chart without a frame, flows and keys", |screen| {
        let parts = [" throughput ", "first", "q quit"];
        parts.iter().all(|part| screen.contains(part))
            && !screen.contains('╭')
            && !screen.contains("cuts/s")
    });
    terminal.resize(30, 8);
    terminal.wait_for(&["too small: 40x10"]);
    terminal.resize(120, 40);
    terminal.wait_for(&["╭ throughput", "╭ cuts"]);
    terminal.press("C-c");
    let printed = terminal.wait_for_end(130);
    assert!(printed.contains("error: interrupted") && !printed.contains("fairness"), "{printed}");
}

#[test]
fn a_slowed_run_shows_its_progress_and_pauses() {
    if skipped() {
        return;
    }
    // At this speed the minute lasts for ten: the test ends long before.
    let terminal = run_live("slow", (110, 30), "--speed 0.1");
    terminal.wait_for(&["0.1 of 60.0 s"]);
    terminal.press("p");
    let paused = terminal.wait_for(&["PAUSED", " of 60.0 s"]);
    terminal.press("p");
    terminal.wait_until("the time goes on", |screen| {
        let time = |screen: &str| {
            let (before, _) = screen.split_once(" of 60.0 s")?;
            before.rsplit(' ').next()?.parse::<f64>().ok()
        };
        !screen.contains("PAUSED") && time(screen) > time(&paused)
    });
    terminal.press("q");
    terminal.wait_for_end(130);
}

#[test]
fn a_killed_view_gives_the_terminal_back() {
    if skipped() {
        return;
    }
    for signal in ["TERM", "HUP", "INT"] {
        let terminal = run_live("killed", (80, 24), "--speed 0.1");
        terminal.wait_for(&["of 60.0 s", "q quit"]);
        terminal.signal(signal);
        terminal.wait_for_end(130);
    }
}

#[test]
fn a_run_ends_when_its_terminal_is_closed() {
    if skipped() {
        return;
    }
    for options in ["--speed 0.1", ""] {
        let terminal = run_live("closed", (80, 24), options);
        terminal.wait_for(&["of 60.0 s"]);
        terminal.close();
    }
}

/// Whether a text has a colour: parameters 30 to 38 and 90 to 97 of SGR (ECMA-48 section 8.3.117).
fn is_colored(screen: &str) -> bool {
    let sequences = screen.split("\x1b[").skip(1).filter_map(|rest| rest.split('m').next());
    let mut parameters = sequences.flat_map(|sequence| sequence.split(';'));
    parameters.any(|number| matches!(number.parse(), Ok(30..=38 | 90..=97)))
}

#[test]
fn colors_follow_no_color() {
    if skipped() {
        return;
    }
    let path = scenario("colors");
    for (variable, colored) in [("NO_COLOR=1", false), ("NO_COLOR=", true)] {
        let terminal = Tmux::new(90, 24);
        let command = format!("{variable} {WINDLASS} sim run {} --live", path.display());
        terminal.type_command(&command);
        terminal.wait_for(&["the run is over", "q quit"]);
        let screen = terminal.colored_screen();
        assert_eq!(is_colored(&screen), colored, "{variable}: {screen}");
    }
}

#[test]
fn without_a_terminal_the_error_names_the_alternative() {
    let path = scenario("none");
    let mut command = Command::new(WINDLASS);
    let output = command.args(["sim", "run"]).arg(path).arg("--live").output().expect("starts");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
    let error = text(&output.stderr);
    assert_eq!(error, "error: --live needs a terminal; without it, see --json and --help\n");
    for other in [
        &["cc", "flows", "--live"][..],
        &["ecn-proxy", "stats", "--live"],
        &["tou", "perf", "client", "127.0.0.1:9", "--live"],
        &["link", "--live", "--", "true"],
    ] {
        let output = Command::new(WINDLASS).args(other).output().expect("starts");
        let error = text(&output.stderr);
        // A build without the tool says so instead.
        let refused = error.contains("needs a terminal") || error.contains("built without");
        assert!(refused && output.status.code() != Some(0), "{other:?}: {error}");
    }
}
