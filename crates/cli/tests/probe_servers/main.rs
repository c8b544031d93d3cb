//! `windlass probe` against the servers that Debian packages, on this machine's kernel, across an emulated
//! link. The quick tests run with the others; `make verify-probe` runs each server with initial windows of 3,
//! 10 and 40 on several paths, and prints a table. What is not installed is skipped: see
//! scripts/setup-verify-probe.
#![cfg(target_os = "linux")]

mod bed;
mod programs;

use bed::{Bed, Line, Outcome};
use programs::Program;
use windlass_testbed::skip_unless;

const INITIAL_WINDOWS: [u32; 3] = [3, 10, 40];

fn measure(bed: &Bed, arguments: &[String], initial_window: u32, runs: u32) -> Outcome {
    bed.set_initial_window(initial_window);
    let runs = runs.to_string();
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    all.extend(["--tests", "A,C", "--runs", &runs, "--timeout", "300ms"]);
    bed.probe(&all)
}

/// Whether the window is exact and the reaction decided where the answer suffices; a sound bound elsewhere.
fn is_as_expected(program: &Program, outcome: &Outcome, initial_window: u32) -> bool {
    let (_, exact) = outcome.window();
    let decided = outcome.reaction() == "counts-bytes";
    let suffices = program.exact.contains(&initial_window);
    outcome.is_sound(u64::from(initial_window)) && (!suffices || exact && decided)
}

/// An initial window of 10, with which every program but those of few bytes shows it.
fn quickly(program: &Program) {
    if skip_unless(program.needs) {
        return;
    }
    let bed = Bed::new(Line { rtt_ms: 60, loss: 0.0 });
    let (_servers, arguments) = (program.start)(&bed);
    let outcome = measure(&bed, &arguments, 10, 3);
    assert!(is_as_expected(program, &outcome, 10), "{}: {outcome:?}", program.name);
}

macro_rules! quick {
    ($($name:ident: $program:ident,)*) => {
        $(#[test]
        fn $name() {
            quickly(&programs::$program);
        })*
    };
}

quick! {
    redis_shows_its_initial_window: REDIS,
    ssh_shows_its_initial_window_in_small_segments: SSH,
    rsync_shows_its_initial_window: RSYNC,
    ftp_shows_the_initial_window_of_the_data_connection: FTP,
    imap_shows_its_initial_window: IMAP,
    smtp_shows_the_window_after_its_greeting: SMTP,
}

#[test]
fn an_answer_that_is_too_short_is_named_with_its_length() {
    for program in [&programs::RSYNC_LIST, &programs::FIRST] {
        if skip_unless(program.needs) {
            continue;
        }
        let bed = Bed::new(Line { rtt_ms: 60, loss: 0.0 });
        let (_servers, arguments) = (program.start)(&bed);
        let outcome = measure(&bed, &arguments, 10, 1);
        let (why, dialogue) = (outcome.why(), &outcome.0["dialogue"]);
        let (name, bytes) = (dialogue["name"].as_str().expect("a name"), &dialogue["bytes"]);
        assert!(why.contains(&format!("the dialogue {name} brings {bytes} bytes")), "{outcome:?}");
        assert!(outcome.is_sound(10) && !outcome.window().1, "{outcome:?}");
    }
}

/// Each program on each path, with runs of each test and of each initial window.
fn thoroughly(program: &Program) {
    if skip_unless(program.needs) {
        return;
    }
    let paths = [
        (Line { rtt_ms: 60, loss: 0.0 }, 20_u32),
        (Line { rtt_ms: 5, loss: 0.0 }, 5),
        (Line { rtt_ms: 200, loss: 0.0 }, 5),
        (Line { rtt_ms: 60, loss: 0.01 }, 5),
    ];
    let mut wrong = Vec::new();
    for (path, runs) in paths {
        let bed = Bed::new(path);
        let (_servers, arguments) = (program.start)(&bed);
        let mut row = format!("| {} | {} ms | {} % ", program.name, path.rtt_ms, path.loss * 100.0);
        for initial_window in INITIAL_WINDOWS {
            let outcome =
                measure(&bed, &arguments, initial_window, runs.div_ceil(program.fewer_runs));
            let right = match path.loss == 0.0 {
                true => is_as_expected(program, &outcome, initial_window),
                false => outcome.is_sound(u64::from(initial_window)),
            };
            row += &format!("| {}{} ", outcome.cell(), if right { "" } else { " WRONG" });
            if !right {
                wrong.push(format!("{row}: {outcome:?}"));
            }
        }
        println!("{row}|");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

macro_rules! thorough {
    ($($name:ident: $program:ident,)*) => {
        mod verify {
            $(#[test]
            #[ignore = "takes minutes: make verify-probe"]
            fn $name() {
                super::thoroughly(&super::programs::$program);
            })*
        }
    };
}

thorough! {
    redis: REDIS,
    send: SEND,
    first: FIRST,
    ssh: SSH,
    rsync_list: RSYNC_LIST,
    rsync: RSYNC,
    ftp: FTP,
    imap: IMAP,
    imaps: IMAPS,
    imap_starttls: IMAP_STARTTLS,
    smtp: SMTP,
    smtps: SMTPS,
    smtp_starttls: SMTP_STARTTLS,
    bittorrent: BITTORRENT,
    nginx: NGINX,
    apache: APACHE,
    lighttpd: LIGHTTPD,
    haproxy: HAPROXY,
}
