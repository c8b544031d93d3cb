//! `windlass tou perf client --live`.

use crate::bed::Running;
use windlass_testbed::{Need, Tmux, skip_unless};

/// A terminal in which a client of the server runs with `--live` and more options; `None`, after a line
/// that says why, where there is none.
fn client(server: &Running, options: &str) -> Option<Tmux> {
    if skip_unless(&[Need::Program("tmux"), Need::Program("ps")]) {
        return None;
    }
    let terminal = Tmux::new(120, 36);
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let address = format!("127.0.0.1:{}", server.port);
    terminal.type_command(&format!("{windlass} tou perf client {address} --live {options}"));
    Some(terminal)
}

fn server() -> Running {
    Running::listener(&["perf", "server", "--bind", "127.0.0.1", "--port", "0"])
}

#[test]
fn the_view_of_a_test_ends_with_it_and_the_figures_follow() {
    let server = server();
    let Some(terminal) = client(&server, "--time 3 --parallel 3 --cc newreno") else { return };
    terminal.wait_until("rates and windows of three connections", |screen| {
        let rows = screen.lines().filter(|line| {
            let mut words = line.split_whitespace();
            let index = words.next().is_some_and(|word| ["0", "1", "2"].contains(&word));
            let rate = words.next().and_then(|word| word.parse::<f64>().ok());
            index && rate.is_some_and(|rate| rate > 0.0) && line.contains("bit/s")
        });
        let parts =
            ["windlass tou perf: to 127.0.0.1:", "newreno", "cwnd over time", "RTT", " % ━"];
        rows.count() == 3 && parts.iter().all(|part| screen.contains(part))
    });
    let printed = terminal.wait_for_end(0);
    assert!(printed.contains("\nsender ") && printed.contains("\nreceiver "), "{printed}");
}

#[test]
fn a_receiver_shows_rates_and_an_interrupt_resets_the_connections() {
    let server = server();
    for key in ["q", "C-c"] {
        let Some(terminal) = client(&server, "--time 10min --reverse") else { return };
        let shown =
            terminal.wait_for(&["windlass tou perf: from 127.0.0.1:", "rate over time", "q quit"]);
        assert!(!shown.contains("cwnd"), "the sender's alone: {shown}");
        terminal.press(key);
        let printed = terminal.wait_for_end(130);
        assert!(printed.contains("error: interrupted"), "{printed}");
    }
}
