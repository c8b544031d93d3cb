//! A Linux sender's answer to ECN echoes, ACK by ACK.

use super::script::Script;
use crate::{Config, Profile};
use alloc::format;
use alloc::vec::Vec;

/// The ACKs that a sender of Linux 6.18 got, and what it had sent after each: segments acknowledged, `E` for an echo
/// or `:` for none, segments sent. Reno with an initial window of three segments, over 60 ms; of the data packets
/// the first one was marked and later ones with a probability of 0.13. Recorded on 30 November 2026.
const KERNEL: &str = "1E4 2E4 3E5 4:6 5:8 6:9 7E10 8E10 9E11 10:12 11:14 12E15 13E15 14E16 15:17 16:19 17E20 \
    18E20 19E21 20:22 21:24 22:25 24:27 25:29 26E30 27E30 29E31 30:32 31:34 33:36 35:39 37:41 38:43 39:44 41:46 \
    43:49 45:51 46E52 47E52 48E53 49E53 51E54 52:55 53:56 55:59 57:61 58E62 59E62 61E63 62:64 63E65 64E66 65:67 \
    66:69 67E70 68E70 69E71 70:72 72:75 75:79 79E81 80:82 81:84 83E85 84E86 85E87 86E88 87:89 88:91 90:93";

fn linux(prr: bool) -> Config {
    let reno = Profile::Linux.controller("newreno").expect("a controller of the crate");
    Profile::Linux.config(1000, reno).with(|c| {
        c.window.initial = 3;
        c.growth.whole_segments = true;
        c.ecn.enabled = true;
        c.ecn.prr = prr;
        c.extensions.timestamps = false;
        c.recovery.tail_loss_probe = false;
    })
}

/// The numbers of those ACKs after which an engine with this configuration has not sent as much as Linux.
fn differences(config: Config) -> Vec<u64> {
    let mut s = Script::established(config);
    s.write(200_000);
    let mut sent = s.skip().len();
    let mut differ = Vec::new();
    for row in KERNEL.split_whitespace() {
        let (acked, total) = row.split_once(['E', ':']).expect("a separator");
        let acked: u64 = acked.parse().expect("a number");
        let flags = if row.contains('E') { "E." } else { "." };
        s.advance_ms(20);
        s.recv(&format!("{flags} 1 ack {}", acked * 1000 + 1));
        sent += s.skip().len();
        if sent != total.parse().expect("a number") {
            differ.push(acked);
        }
    }
    differ
}

#[test]
fn with_prr_after_echoes_the_sender_answers_each_ack_as_linux_does() {
    // ACK 24 leaves room for one segment in a window of four. Linux waits for the next ACK where there is room for
    // less than a third of the window (`tcp_tso_should_defer`).
    assert_eq!(differences(linux(true)), [24]);
}

#[test]
fn a_cut_at_once_holds_segments_back_that_linux_sends() {
    let differ = differences(linux(false));
    assert!(differ.len() > 10, "{differ:?}");
}
