//! Virtual losses without one of their parts. (Duplicates that are not made, virtual losses too
//! early and window updates as duplicates are refused by the machine, see its own tests.)

use crate::marks::counters;
use crate::skip;
use crate::steady::steady;
use crate::testbed::{ProxyMachine, Testbed};
use windlass_ecn_proxy::datapath::Settings;

/// enum ecn_part of the machine.
const HOLD: u32 = 0x01;
const BLOCKS: u32 = 0x02;
const CONFIRM: u32 = 0x04;
const STRIP: u32 = 0x08;
const FLOOR: u32 = 0x10;
/// Without it the far host gets the retransmission, and answers it.
const REPLY: u32 = 0x20;

/// The options that a sender goes without.
const TIMESTAMPS: &str = "tcp_timestamps";
const SACK: &str = "tcp_sack";

const MARKS: u64 = 3;

/// A sender's reactions to its marks.
#[derive(Debug)]
struct Outcome {
    virtual_losses: u64,
    retransmits: u64,
    undone: u64,
}

/// [`MARKS`] marks for an upload, outcome without these parts.
fn outcome(parts_left_out: u32, options_off: &[&str]) -> Outcome {
    let settings = Settings { parts_left_out, without_sack: true, ..Settings::default() };
    let bed = Testbed::new(ProxyMachine::Router, false, &settings);
    for option in options_off {
        bed.set_on_host(option, "0");
    }
    let connection = bed.connect(false, true, "cubic");
    connection.while_sending(true, || {
        connection.wait_for_bytes(true, 2_000_000);
        for _ in 0..MARKS {
            bed.upward.mark(1);
            connection.wait_for_bytes(true, 1_500_000);
        }
    });
    let undos = ["TCPDSACKUndo", "TCPFullUndo", "TCPPartialUndo", "TCPLossUndo"];
    Outcome {
        virtual_losses: counters(&bed).virtual_losses,
        retransmits: bed.host_counter("RetransSegs"),
        undone: undos.iter().map(|name| bed.host_counter(name)).sum(),
    }
}

#[test]
fn three_rewritten_acks_do_nothing_to_a_sender_with_sack() {
    if skip() {
        return;
    }
    steady(|| {
        let outcome = outcome(HOLD | BLOCKS, &[]);
        assert!(outcome.virtual_losses >= MARKS && outcome.retransmits == 0, "{outcome:?}");
    });
}

#[test]
fn three_rewritten_acks_make_a_sender_without_options_repeat_itself_for_nothing() {
    if skip() {
        return;
    }
    steady(|| {
        let outcome = outcome(HOLD, &[SACK, TIMESTAMPS]);
        assert!(outcome.retransmits > 4 * MARKS, "{outcome:?}");
    });
}

#[test]
fn a_dsack_that_is_shown_undoes_every_reduction() {
    if skip() {
        return;
    }
    steady(|| {
        let outcome = outcome(REPLY | STRIP, &[TIMESTAMPS]);
        assert_eq!((outcome.virtual_losses, outcome.undone), (MARKS, MARKS), "{outcome:?}");
    });
}

#[test]
fn an_older_time_that_is_echoed_undoes_reductions() {
    if skip() {
        return;
    }
    steady(|| {
        let outcome = outcome(REPLY | FLOOR, &[]);
        // Times are in milliseconds: what was sent in that of the retransmission is not older.
        assert!(outcome.virtual_losses == MARKS && outcome.undone > 0, "{outcome:?}");
    });
}

#[test]
fn a_release_before_the_confirmation_makes_a_sender_repeat_itself_for_nothing() {
    if skip() {
        return;
    }
    steady(|| {
        let outcome = outcome(CONFIRM, &[SACK, TIMESTAMPS]);
        assert!(outcome.retransmits > 4 * outcome.virtual_losses, "{outcome:?}");
    });
}
