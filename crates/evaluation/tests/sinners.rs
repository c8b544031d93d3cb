//! Controllers whose faults are known: the cells that must find them, with few seeds and short runs.

use windlass_evaluation::{CellReport, Evaluation, FigureReport, Options, Report, Verdict};
use windlass_scenario::Registry;

fn report(subject: &str, criterion: &str, path: &str) -> Report {
    let options = Options {
        criteria: vec![criterion.to_owned()],
        settings: vec![path.to_owned()],
        ..Options::quick()
    };
    let evaluation = Evaluation::new(&[subject], options, &Registry::default()).expect("valid");
    evaluation.report(&evaluation.run_all().expect("valid"))
}

fn cell(subject: &str, criterion: &str, path: &str) -> CellReport {
    report(subject, criterion, path).cells.remove(0)
}

fn figure<'a>(cell: &'a CellReport, traffic: &str, name: &str) -> &'a FigureReport {
    let traffic = cell.traffics.iter().find(|known| known.name == traffic).expect("valid");
    traffic.figures.iter().find(|figure| figure.name == name).expect("valid")
}

/// Section 5.1.3 names it: several flows of BBRv1 behind less than 1.5 BDP lose packets all the time.
#[test]
fn bbr_version_1_loses_too_much_behind_a_shallow_buffer() {
    let cell = cell("bbr", "packet-loss", "tail-drop-shallow");
    assert_eq!(cell.verdicts, [Verdict::NotMet]);
    let loss = figure(&cell, "six-long", "loss");
    assert!(loss.results[0].interval.low > 2.0 * loss.cubic.high, "{loss:?}");
}

#[test]
fn vegas_starves_beside_cubic() {
    let cell = cell("vegas", "general-purpose", "tail-drop-deep");
    let own = figure(&cell, "beside-cubic", "own-goodput");
    assert_eq!(own.results[0].verdict, Verdict::NotMet);
    assert_eq!(cell.verdicts, [Verdict::NotMet]);
    // It does CUBIC no harm.
    let other = figure(&cell, "beside-cubic", "other-goodput");
    assert_eq!(other.results[0].verdict, Verdict::Met);
}

#[test]
fn no_control_at_all_collapses_and_reno_does_not() {
    // A path of few packets: without control thousands are under way on others.
    let cell_of = |subject| cell(subject, "congestion-collapse", "constrained");
    let none = cell_of("none");
    let wasted = figure(&none, "overload", "wasted");
    assert_eq!(wasted.results[0].verdict, Verdict::NotMet);
    assert!(wasted.results[0].interval.mean > 0.5, "{wasted:?}");
    assert_eq!(cell_of("reno").verdicts, [Verdict::Met]);
}

#[test]
fn the_harm_of_new_ecn_to_reno_is_a_figure() {
    let cell = cell("new-ecn", "general-purpose", "pie");
    let reno = figure(&cell, "beside-reno", "other-goodput");
    let (beside_new_ecn, beside_reno) = (reno.results[0].interval.mean, reno.reno.mean);
    assert!(beside_new_ecn > 0.0 && beside_new_ecn < beside_reno, "{reno:?}");
}

#[test]
fn the_same_evaluation_writes_the_same_bytes() {
    let texts = || {
        let report = report("cubic", "fairness", "wifi");
        (serde_json::to_string(&report).expect("valid"), report.html().expect("valid"))
    };
    assert_eq!(texts(), texts());
}
