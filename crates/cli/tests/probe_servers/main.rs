//! `windlass probe` against the servers that Debian packages, on this machine's kernel, across an emulated
//! link. The quick tests run with the others; `make verify-probe` runs each server with initial windows of 3,
//! 10 and 40 on several paths, and prints a table. Servers that are not installed are skipped: see
//! scripts/setup-verify-probe.
#![cfg(target_os = "linux")]

mod bed;
mod pasta;
mod programs;
mod unpacked;

use bed::{Bed, Line, Outcome};
use programs::Program;
use std::thread::{self, ScopedJoinHandle};
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
    ($($name:ident: $program:path,)*) => {
        $(#[test]
        fn $name() {
            quickly(&$program);
        })*
    };
}

quick! {
    redis_shows_its_initial_window: programs::REDIS,
    ssh_shows_its_initial_window_in_small_segments: programs::SSH,
    rsync_shows_its_initial_window: programs::RSYNC,
    ftp_shows_the_initial_window_of_the_data_connection: programs::FTP,
    imap_shows_its_initial_window: programs::IMAP,
    smtp_shows_the_window_after_its_greeting: programs::SMTP,
    exim_shows_the_window_after_its_greeting: unpacked::EXIM_SMTP,
    nntp_shows_its_initial_window: unpacked::NNTP,
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
        (Line { rtt_ms: 60, loss: 0.0 }, 20),
        (Line { rtt_ms: 5, loss: 0.0 }, 5),
        (Line { rtt_ms: 200, loss: 0.0 }, 5),
        (Line { rtt_ms: 60, loss: 0.01 }, 5),
    ];
    let mut wrong = Vec::new();
    for (path, cells) in all_cells(program, &paths) {
        let name = format!("{} | {} ms | {} %", program.name, path.rtt_ms, path.loss * 100.0);
        println!("| {name} | {} |", cells.join(" | "));
        if cells.iter().any(|cell| cell.contains(WRONG)) {
            wrong.push(format!("{name}: {cells:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A path, and a cell for each initial window.
type Row = (Line, Vec<String>);

fn all_cells(program: &Program, paths: &[(Line, u32)]) -> Vec<Row> {
    if !program.waits {
        let row =
            |&(path, runs): &(Line, u32)| (path, cells(program, path, runs, &INITIAL_WINDOWS));
        return paths.iter().map(row).collect();
    }
    thread::scope(|scope| {
        let begin = |path, runs, window| scope.spawn(move || cells(program, path, runs, &[window]));
        let begin_row = |&(path, runs): &(Line, u32)| {
            (path, INITIAL_WINDOWS.map(|window| begin(path, runs, window)))
        };
        let rows: Vec<_> = paths.iter().map(begin_row).collect();
        let end =
            |cell: ScopedJoinHandle<'_, Vec<String>>| cell.join().expect("measured").remove(0);
        rows.into_iter().map(|(path, row)| (path, row.map(end).to_vec())).collect()
    })
}

const WRONG: &str = "WRONG";

/// The cells of these initial windows, all of one server.
fn cells(program: &Program, path: Line, runs: u32, windows: &[u32]) -> Vec<String> {
    let bed = Bed::new(path);
    let (_servers, arguments) = (program.start)(&bed);
    let cell = |&window: &u32| {
        let outcome = measure(&bed, &arguments, window, runs);
        let right = match path.loss == 0.0 {
            true => is_as_expected(program, &outcome, window),
            false => outcome.is_sound(u64::from(window)),
        };
        match right {
            true => outcome.cell(),
            false => format!("{} {WRONG}: {outcome:?}", outcome.cell()),
        }
    };
    windows.iter().map(cell).collect()
}

macro_rules! thorough {
    ($($name:ident: $program:path,)*) => {
        mod verify {
            use super::{programs, thoroughly, unpacked};

            $(#[test]
            #[ignore = "takes minutes: make verify-probe"]
            fn $name() {
                thoroughly(&$program);
            })*
        }
    };
}

thorough! {
    redis: programs::REDIS,
    send: programs::SEND,
    first: programs::FIRST,
    ssh: programs::SSH,
    rsync_list: programs::RSYNC_LIST,
    rsync: programs::RSYNC,
    ftp: programs::FTP,
    imap: programs::IMAP,
    imaps: programs::IMAPS,
    imap_starttls: programs::IMAP_STARTTLS,
    smtp: programs::SMTP,
    smtps: programs::SMTPS,
    smtp_starttls: programs::SMTP_STARTTLS,
    exim: unpacked::EXIM_SMTP,
    exim_starttls: unpacked::EXIM_STARTTLS,
    nntp: unpacked::NNTP,
    nntp_article: unpacked::NNTP_ARTICLE,
    nntps: unpacked::NNTPS,
    nntp_starttls: unpacked::NNTP_STARTTLS,
    bittorrent: programs::BITTORRENT,
    nginx: programs::NGINX,
    apache: programs::APACHE,
    lighttpd: programs::LIGHTTPD,
    haproxy: programs::HAPROXY,
}
