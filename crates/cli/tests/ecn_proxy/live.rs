//! `windlass ecn-proxy stats --live`.

use crate::bed::{Bed, LAN, WINDLASS, skipped};
use windlass_testbed::Tmux;

#[test]
fn interfaces_hosts_and_rates_are_shown_while_the_proxy_serves() {
    if skipped(&["tmux", "ps"]) {
        return;
    }
    let bed = Bed::new();
    bed.slow_down();
    let proxy = bed.run_plain();
    let terminal = Tmux::new(120, 36);
    let socket = bed.path("proxy.sock").display().to_string();
    terminal.type_command(&format!("{WINDLASS} ecn-proxy stats --live --socket {socket}"));
    terminal.wait_until("the proxy, its interface and what it counts", |screen| {
        let parts = ["windlass ecn-proxy", "on  virtual-loss  0 devices", "served", "connections"];
        parts.iter().chain(&["marks", "reductions"]).all(|part| screen.contains(part))
            && screen.lines().any(|line| line.starts_with(LAN) && line.contains("client"))
    });

    let mut connection = bed.open();
    connection.while_carrying(|| {
        terminal.wait_until("the host, served, with a rate", |screen| {
            let host = connection_row(screen);
            host.is_some_and(|row| row.contains("served") && row.contains("Mbit/s"))
        });
    });

    // Without the proxy the view says so, and with another one it goes on.
    drop(proxy);
    terminal.wait_for(&["no ECN proxy answers"]);
    let _proxy = bed.run_plain();
    terminal.wait_until("the new proxy", |screen| !screen.contains("no ECN proxy answers"));
    terminal.press("q");
    terminal.wait_for_end(0);
}

/// The row of the only host.
fn connection_row(screen: &str) -> Option<&str> {
    screen.lines().skip_while(|line| !line.starts_with(" devices ")).nth(2)
}

#[test]
fn without_a_proxy_nothing_is_shown() {
    if skipped(&["tmux", "ps"]) {
        return;
    }
    let terminal = Tmux::new(120, 36);
    terminal.type_command(&format!("{WINDLASS} ecn-proxy stats --live --socket /nonexistent"));
    let printed = terminal.wait_for_end(1);
    assert!(printed.contains("error: no ECN proxy answers at /nonexistent"), "{printed}");
}
