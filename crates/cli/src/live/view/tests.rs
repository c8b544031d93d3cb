use super::*;
use crate::live::{Chart, Output, Row, Table};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

fn megabits(value: f64) -> String {
    format!("{value:.1} Mbit/s")
}

fn chart_of(name: &str, values: Vec<f64>) -> Chart {
    let latest = values.last().copied().unwrap_or_default();
    Chart { name: name.to_owned(), latest, values, format: megabits, tone: Tone::Rate }
}

fn flows(count: usize) -> Table {
    let row = |at: usize| Row {
        cells: vec![format!("flow-{at}"), (at * 10).to_string(), "yes".to_owned()],
        trend: vec![1.0, at as f64],
    };
    Table {
        name: "connections".to_owned(),
        columns: vec!["flow", "cwnd", "ecn"],
        trend: Some("cwnd over time"),
        rows: (1..=count).map(row).collect(),
    }
}

fn screen(count: usize) -> Screen {
    Screen {
        title: "windlass test".to_owned(),
        facts: vec!["12 s".to_owned(), "20 connections".to_owned()],
        charts: vec![chart_of("rate", vec![2.0, 8.0, 4.0]), chart_of("queue", vec![1.0, 1.0])],
        tables: vec![flows(count)],
        ..Screen::default()
    }
}

/// The lines of a terminal of that size, and the page's rows.
fn drawn(screen: &Screen, keys: &mut Keys, size: (u16, u16)) -> (Vec<String>, usize) {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a buffer");
    let mut page = 0;
    let theme = Theme { color: true };
    terminal.draw(|frame| page = render(frame, screen, keys, theme)).expect("a buffer");
    let buffer = terminal.backend().buffer();
    let line = |y| (0..size.0).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    ((0..size.1).map(line).collect(), page)
}

fn has(lines: &[String], parts: &[&str]) -> bool {
    lines.iter().any(|line| parts.iter().all(|part| line.contains(part)))
}

#[test]
fn title_charts_table_and_keys_are_on_the_screen() {
    let (lines, page) = drawn(&screen(3), &mut Keys::default(), (100, 30));
    let text = lines.join("\n");
    assert!(lines[0].starts_with(" windlass test "), "{text}");
    assert!(lines[0].trim_end().ends_with("12 s  20 connections"), "{text}");
    assert!(has(&lines, &["rate 4.0 Mbit/s", "max 8.0 Mbit/s", "queue 1.0 Mbit/s"]), "{text}");
    assert!(has(&lines, &["flow", "cwnd", "ecn", "cwnd over time"]), "{text}");
    assert!(has(&lines, &["flow-3", "30", "yes", "▃█"]), "{text}");
    assert!(lines[29].contains("q quit") && lines[29].contains("? keys"), "{text}");
    assert!(page > 3, "all rows fit: {page}");
}

#[test]
fn the_newest_bar_stands_on_the_right_and_the_highest_fills_its_chart() {
    let (lines, _) = drawn(&screen(1), &mut Keys::default(), (100, 30));
    // Column 49 is the frame of the left chart, and its last bars are 2, 8 and 4.
    let column = |x: usize| -> String {
        lines[2..9].iter().filter_map(|line| line.chars().nth(x)).collect()
    };
    assert_eq!(column(47), "███████", "{}", lines.join("\n"));
    assert_eq!(column(48), "   ▄███", "{}", lines.join("\n"));
    assert!(column(46).ends_with('█') && column(45).trim().is_empty(), "{}", lines.join("\n"));
}

#[test]
fn rows_that_do_not_fit_are_scrolled_to_and_never_past_the_last() {
    let mut keys = Keys { first_row: usize::MAX, ..Keys::default() };
    let (lines, page) = drawn(&screen(40), &mut keys, (80, 24));
    let text = lines.join("\n");
    assert!((3..30).contains(&page), "{text}");
    assert_eq!(keys.first_row, 40 - page);
    assert!(has(&lines, &["flow-40 "]) && !has(&lines, &["flow-1 "]), "{text}");
    let shown = format!("connections, {} to 40 of 40", 41 - page);
    assert!(has(&lines, &[&shown]), "{shown}: {text}");
    let (lines, _) = drawn(&screen(40), &mut Keys::default(), (80, 24));
    assert!(has(&lines, &["flow-1 "]) && !has(&lines, &["flow-40 "]), "{}", lines.join("\n"));
}

#[test]
fn a_small_terminal_has_one_chart_and_a_row() {
    let (lines, page) = drawn(&screen(3), &mut Keys::default(), (40, 10));
    let text = lines.join("\n");
    for part in ["windlass test", "rate 4.0", "flow-1", "q quit"] {
        assert!(has(&lines, &[part]), "{part}: {text}");
    }
    assert!(page >= 1 && !text.contains("queue"), "{text}");
}

#[test]
fn every_size_is_drawn_without_a_panic() {
    let full = Screen {
        progress: Some(0.5),
        tables: vec![flows(2), flows(30)],
        charts: (0..7).map(|_| chart_of("rate", vec![1.0; 500])).collect(),
        output: Some(Output { name: "iperf3".to_owned(), lines: vec!["line".to_owned(); 99] }),
        note: Some("no answer".to_owned()),
        ..screen(0)
    };
    let screens = [full, screen(0), screen(9), Screen::default()];
    for width in [1, 20, 39, 40, 41, 55, 59, 60, 83, 84, 111, 112, 113, 300] {
        for height in [1, 2, 9, 10, 11, 12, 13, 14, 17, 18, 23, 24, 40, 80] {
            let mut keys = Keys { help: true, first_row: 99, ..Keys::default() };
            for screen in &screens {
                drawn(screen, &mut keys, (width, height));
            }
        }
    }
}

#[test]
fn a_tiny_terminal_says_what_it_wants() {
    let (lines, _) = drawn(&screen(3), &mut Keys::default(), (39, 10));
    assert!(lines[0].starts_with("too small: 40x10"), "{}", lines[0]);
}

#[test]
fn output_shows_its_last_lines() {
    let lines = (1..=50).map(|at| format!("line {at}.")).collect();
    let output = Some(Output { name: "output of sh".to_owned(), lines });
    let (lines, _) = drawn(&Screen { output, ..screen(2) }, &mut Keys::default(), (80, 30));
    let text = lines.join("\n");
    assert!(text.contains("output of sh") && text.contains("line 50."), "{text}");
    assert!(!text.contains("line 1."), "{text}");
    assert!(has(&lines, &["flow-2"]), "{text}");
}

#[test]
fn pause_help_note_and_progress_are_shown() {
    let mut keys = Keys { paused: true, help: true, ..Keys::default() };
    let note = Some("no proxy answers".to_owned());
    let with = Screen { note, progress: Some(0.25), ..screen(2) };
    let (lines, _) = drawn(&with, &mut keys, (80, 24));
    let text = lines.join("\n");
    assert!(lines[0].contains("PAUSED"), "{text}");
    assert!(lines[1].starts_with("  25 %") && lines[1].contains('━'), "{text}");
    assert!(has(&lines, &["p, Space", "pause"]) && has(&lines, &["PageUp", "by a page"]), "{text}");
    assert!(lines[23].contains("q quit") && lines[23].contains("no proxy answers"), "{text}");
}

#[test]
fn without_color_nothing_is_colored() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a buffer");
    let colored = |terminal: &Terminal<TestBackend>| {
        let cells = terminal.backend().buffer().content().iter();
        cells.filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    for (color, expected) in [(false, false), (true, true)] {
        let theme = Theme { color };
        let mut keys = Keys { help: true, ..Keys::default() };
        let draw = |frame: &mut Frame<'_>| _ = render(frame, &screen(9), &mut keys, theme);
        terminal.draw(draw).expect("a buffer");
        assert_eq!(colored(&terminal) > 0, expected);
    }
}
