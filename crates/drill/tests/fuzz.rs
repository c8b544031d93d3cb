//! The body of the fuzz target, with scripts that were cut, shuffled or made at random, and with the inputs in
//! `fuzz/regressions`. The target itself is in `fuzz/`.

#[path = "fuzz_bodies/drill.rs"]
mod drill;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::fs;
use std::path::Path;
use windlass_testbed::replay;

/// The scripts of this crate.
fn scripts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("scripts")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("a script")).collect()
}

/// An input of the target.
fn input(script: &str) -> Vec<u8> {
    [&[0], script.as_bytes()].concat()
}

/// Pieces of the language.
const PIECES: [&str; 44] = [
    "0",
    "+0",
    "+.1",
    "*",
    "+1~+2",
    "<",
    ">",
    ".",
    "S",
    "S.",
    "P.5",
    "SEWA",
    "F.",
    "-",
    "1:1(0)",
    "0:0(0)",
    "1:101(100)",
    "ack 1",
    "win 500",
    "urg 7",
    "<mss 1000,nop,wscale 7>",
    "<...>",
    "<nop,nop,sack 1:2>",
    "[ect0]",
    "[ce]",
    "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "connect(3, ..., ...) = 0",
    "... 0.5",
    "listen(3, 1) = 0",
    "accept(3, ..., ...) = 4",
    "write(4, ..., 5000) = 5000",
    "close(3) = 0",
    "read(4, ..., 10) = -1 EAGAIN (x)",
    "%{ assert tcpi_snd_cwnd == 10 }%",
    "%{ x = 1; print(x) }%",
    "`sysctl -q net.ipv4.tcp_ecn=3`",
    "--mss=1000",
    "icmp unreachable [1:1(0)]",
    "(",
    "{",
    "[",
    "\"",
    "\n",
    "TS val 1 ecr 0",
];

proptest! {
    #[test]
    fn a_script_may_be_cut(script in select(scripts()), from in any::<Index>(), until in any::<Index>()) {
        let (from, until) = (from.index(script.len() + 1), until.index(script.len() + 1));
        drill::run(&[&[0], &script.as_bytes()[from.min(until)..from.max(until)]].concat());
    }

    #[test]
    fn the_lines_of_a_script_may_be_shuffled(
        lines in select(scripts()).prop_map(|script| script.lines().map(str::to_owned).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        drill::run(&input(&lines.join("\n")));
    }

    #[test]
    fn events_may_be_left_out_doubled_and_mixed(
        script in select(scripts()),
        other in select(scripts()),
        changes in prop::collection::vec((any::<Index>(), any::<Index>()), 1..6),
    ) {
        let mut lines: Vec<&str> = script.lines().collect();
        let others: Vec<&str> = other.lines().collect();
        for (at, from) in changes {
            let line = at.index(lines.len());
            match from.index(3) {
                0 => lines.insert(line, lines[line]),
                1 => lines[line] = others[from.index(others.len())],
                _ => lines[line] = "",
            }
        }
        drill::run(&input(&lines.join("\n")));
    }

    #[test]
    fn characters_of_a_script_may_change(
        script in select(scripts()),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = input(&script);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        drill::run(&bytes);
    }

    #[test]
    fn a_script_may_be_made_at_random(pieces in prop::collection::vec(select(&PIECES[..]), 0..60)) {
        drill::run(&input(&format!("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n{}", pieces.join(" "))));
        drill::run(&input(&pieces.join(" ")));
    }

    #[test]
    fn a_script_may_be_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        drill::run(&bytes);
    }
}

#[test]
fn the_target_passes_its_regressions() {
    replay("drill", drill::run);
}
