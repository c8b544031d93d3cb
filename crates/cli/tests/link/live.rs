//! `windlass link --live`.

use super::{WINDLASS, skipped};
use std::net::UdpSocket;
use windlass_testbed::{Namespace, Tmux};

/// Fills the link for as long as it runs.
const FLOOD: &str = "import os, socket
print('flooding', os.environ['WINDLASS_OUTSIDE'], flush=True)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try:
        s.sendto(bytes(1372), (os.environ['WINDLASS_OUTSIDE'], 9))
    except OSError:
        pass";

/// A file with the program, since a terminal takes one line at a time.
fn flood() -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-flood.py");
    std::fs::write(&path, FLOOD).expect("writable");
    path.display().to_string()
}

#[test]
fn rate_queue_drops_and_the_commands_output_are_shown() {
    if skipped(&["python3", "tmux", "ps"]) {
        return;
    }
    let terminal = Tmux::new(120, 40);
    let path = "--rate up:4M --rate down:1M --delay 5ms --aqm droptail:limit=50";
    let flood = flood();
    terminal.type_command(&format!("{WINDLASS} link {path} --live -- python3 {flood}"));
    terminal.wait_until("a full link, both charts and the output", |screen| {
        let row = screen.lines().find(|line| line.starts_with("inside up"));
        let cells: Vec<&str> = row.into_iter().flat_map(str::split_whitespace).collect();
        // path path rate unit queue unit ms marks drops lost ...
        let number = |at: usize| cells.get(at).and_then(|text| text.parse::<f64>().ok());
        let (rate, queue) = (number(2), number(4));
        let (ms, drops) = (number(6), number(8));
        rate.is_some_and(|rate| (3.9..4.1).contains(&rate))
            && cells[3] == "Mbit/s"
            && queue.is_some_and(|packets| (40.0..=50.0).contains(&packets))
            && ms.is_some_and(|ms| (110.0..=142.0).contains(&ms))
            && drops.is_some_and(|drops| drops > 0.0)
            && ["rate inside up", "queue inside down", "output of python3", " flooding 100.64."]
                .iter()
                .all(|part| screen.contains(part))
    });
    terminal.press("q");
    // 128 + SIGTERM.
    let printed = terminal.wait_for_end(143);
    assert!(printed.lines().any(|line| line.starts_with("flooding 100.64.")), "{printed}");
}

#[test]
fn the_view_ends_with_the_command_and_its_whole_output_follows() {
    if skipped(&["tmux", "ps"]) {
        return;
    }
    let terminal = Tmux::new(100, 30);
    let command = "sh -c 'echo begin; cat; sleep 0.6; echo over >&2; exit 5'";
    terminal.type_command(&format!("{WINDLASS} link --rate 1M --live -- {command}"));
    terminal.wait_for(&["windlass link: sh -c", " begin"]);
    let printed = terminal.wait_for_end(5);
    assert!(printed.contains("\nbegin\nover\n"), "{printed}");
}

#[test]
fn a_link_of_ports_is_shown_until_it_is_ended() {
    if skipped(&["ip", "tmux", "ps"]) {
        return;
    }
    let (left, right) = (Namespace::new("wlv"), Namespace::new("wlv"));
    let ports =
        format!("--port a@{}=10.8.0.1/24 --port b@{}=10.8.0.2/24", left.name(), right.name());
    for key in ["q", "C-c"] {
        let terminal = Tmux::new(100, 30);
        terminal.type_command(&format!("{WINDLASS} link --rate 10M {ports} --live"));
        terminal.wait_for(&["windlass link: a, b", "rate a up", "a down"]);
        left.inside(|| {
            let socket = UdpSocket::bind("10.8.0.1:0").expect("its address");
            for _ in 0..3 {
                socket.send_to(&[0; 56], "10.8.0.2:9").expect("a route");
            }
        });
        // Three packets of 84 bytes.
        terminal.wait_for(&["252 B"]);
        terminal.press(key);
        terminal.wait_for_end(0);
    }
}
