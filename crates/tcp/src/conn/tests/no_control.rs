//! Without congestion control: the receiver's window is the limit, and losses are repaired.

use super::script::{Script, with_controller};
use crate::{Config, Profile};
use alloc::format;

/// A window of 60 segments in flight, of 90,000 bytes written.
fn flight(config: Config) -> Script {
    let mut s = Script::established(config.with(|c| c.window.initial = 2));
    s.recv(". 1 ack 1 win 60000");
    s.window = 60_000;
    s.write(90_000);
    assert_eq!(s.skip().len(), 60, "all that the peer takes, whatever the initial window");
    s.advance_ms(100);
    s
}

fn modern() -> Config {
    let none = crate::cc::by_name("none").expect("a controller of the crate");
    let base = with_controller("none");
    Profile::Linux.config(1000, none).with(|c| {
        c.extensions.window_scaling = base.extensions.window_scaling;
        c.extensions.timestamps = base.extensions.timestamps;
        c.acks.policy = base.acks.policy;
    })
}

#[test]
fn losses_found_by_duplicates_are_repaired_at_the_full_window() {
    for config in [with_controller("none"), modern()] {
        let sack = config.extensions.sack;
        let mut s = flight(config);
        // The first and the eleventh of sixty are lost.
        for end in [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15] {
            let blocks = match end {
                ..=10 => format!(" sack 1001:{end}001"),
                _ => format!(" sack 11001:{end}001,1001:10001"),
            };
            s.recv(&format!(". 1 ack 1{}", if sack { &blocks } else { "" }));
        }
        let again = s.skip().iter().filter(|run| run.retransmission).count();
        assert_eq!(again, if sack { 2 } else { 1 });
        s.recv(&format!(". 1 ack 10001{}", if sack { " sack 11001:15001" } else { "" }));
        s.skip();
        s.recv(&format!(". 1 ack 10001{} win 65000", if sack { " sack 11001:15001" } else { "" }));
        assert_eq!(s.skip().len(), 5, "as far as the peer's window, in the midst of the repair");
        assert_eq!(s.connection.stats().fast_retransmits, 1);
    }
}

#[test]
fn a_timeout_sends_the_flight_again_at_once() {
    let mut s = flight(with_controller("none"));
    s.advance_ms(1000);
    let sent = s.skip();
    assert_eq!(sent.len(), 60);
    assert!(sent.iter().all(|run| run.retransmission));
}

#[test]
fn nothing_is_ect_where_ecn_was_agreed_on_and_an_echo_changes_nothing() {
    let mut s = flight(with_controller("none").with(|c| c.ecn.enabled = true));
    s.recv("E. 1 ack 1001");
    s.expect(&["W. 60001:61001 ack 1"]);
}
