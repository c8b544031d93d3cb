//! The tables of `windlass judge --bcp`.

use crate::stdout;
use windlass_evaluation::{CellReport, Counts, FigureReport, Report, TrafficReport, Verdict};

/// For each subject its verdicts by path and criterion, then its figures that do not keep their thresholds, then the
/// numbers.
pub(super) fn text(report: &Report) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (number, subject) in report.subjects.iter().enumerate() {
        parts.push(format!("{}\n{}", subject.name, matrix(report, number)));
        parts.extend(failures(report, number));
    }
    let sums = report.subjects.iter().zip(&report.counts);
    let sums = sums.map(|(subject, counts)| sum(&subject.name, counts, report.quick));
    parts.push(sums.collect::<Vec<String>>().join("\n"));
    parts.join("\n\n")
}

/// The criteria that have cells on paths.
fn tested(report: &Report) -> Vec<&'static str> {
    let on_paths = |name: &str| {
        let mut cells = report.cells.iter().filter(|cell| cell.criterion == name);
        cells.any(|cell| !cell.setting.is_empty())
    };
    report.criteria.iter().map(|criterion| criterion.name).filter(|name| on_paths(name)).collect()
}

fn matrix(report: &Report, subject: usize) -> String {
    let criteria = tested(report);
    let header: Vec<&str> = ["section", "path"].into_iter().chain(criteria).collect();
    let rows = report.settings.iter().flat_map(|setting| {
        setting.paths.iter().map(move |path| {
            let here = |cell: &&CellReport| cell.setting == setting.name && cell.path == path.name;
            let words = report.cells.iter().filter(here).map(|cell| word(cell.verdicts[subject]));
            let name = if path.name.is_empty() { &setting.name } else { &path.name };
            [setting.section.clone(), name.clone()].into_iter().chain(words).collect()
        })
    });
    stdout::wrapped(&header, rows)
}

/// Those that need attention stand out.
fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::NotMet => "NOT MET".to_owned(),
        Verdict::NotTestable => "not testable".to_owned(),
        _ => verdict.words().to_owned(),
    }
}

/// The figures of a subject beyond their thresholds.
fn failures(report: &Report, subject: usize) -> Option<String> {
    let rows: Vec<Vec<String>> = report
        .cells
        .iter()
        .flat_map(|cell| cell.traffics.iter().map(move |traffic| (cell, traffic)))
        .flat_map(|(cell, traffic)| traffic.figures.iter().map(move |one| (cell, traffic, one)))
        .filter(|(_, _, figure)| figure.results[subject].verdict == Verdict::NotMet)
        .map(|(cell, traffic, figure)| failure(cell, traffic, figure, subject))
        .collect();
    let header = ["not met", "traffic", "figure", "mean", "95 %", "threshold", "reno", "cubic"];
    (!rows.is_empty()).then(|| stdout::wrapped(&header, rows.into_iter()))
}

fn failure(
    cell: &CellReport,
    traffic: &TrafficReport,
    figure: &FigureReport,
    subject: usize,
) -> Vec<String> {
    let interval = figure.results[subject].interval;
    let side = if figure.threshold.at_most.is_some() { "at most" } else { "at least" };
    vec![
        format!("{} {}", cell.path, cell.criterion),
        traffic.name.to_owned(),
        figure.name.to_owned(),
        format!("{:.4} {}", interval.mean, figure.unit).trim_end().to_owned(),
        format!("{:.4} to {:.4}", interval.low, interval.high),
        format!("{side} {:.4}", figure.limit),
        format!("{:.4}", figure.reno.mean),
        format!("{:.4}", figure.cubic.mean),
    ]
}

fn sum(name: &str, counts: &Counts, quick: bool) -> String {
    let Counts { met, not_met, not_decided, not_testable } = counts;
    let quick = if quick { " (a quick run)" } else { "" };
    format!(
        "{name}: {met} met, {not_met} not met, {not_decided} not decided, {not_testable} not testable here{quick}"
    )
}
