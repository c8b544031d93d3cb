//! Reports: their words, and the page.

use windlass_evaluation::{Evaluation, Options, Report, Verdict};
use windlass_scenario::Registry;
use windlass_tcp::cc::{Controller, ControllerFactory, Params, Reno};

/// A controller of a user, which is Reno.
#[derive(Debug, Default, serde::Deserialize)]
struct Mine {}

impl ControllerFactory for Mine {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Reno.build(params)
    }
}

fn report(subjects: &[&str], criteria: &[&str], settings: &[&str]) -> Report {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let options =
        Options { criteria: owned(criteria), settings: owned(settings), ..Options::quick() };
    let registry = Registry::default().controller::<Mine>("mine");
    let evaluation = Evaluation::new(subjects, options, &registry).expect("valid");
    evaluation.report(&evaluation.run_all().expect("valid"))
}

#[test]
fn a_controller_of_another_crate_is_judged_as_the_one_that_it_copies() {
    let report = report(&["reno", "mine"], &["packet-loss"], &["tail-drop"]);
    let figure = &report.cells[0].traffics[0].figures[0];
    assert_eq!(figure.results[0].interval, figure.results[1].interval);
    assert_eq!(figure.results[1].interval, figure.reno);
}

#[test]
fn what_cannot_be_tested_says_why() {
    let report = report(&["reno"], &["real-time", "principles"], &["multipath", "data-centre"]);
    // Multipath and the two paths of the data centre, and the criterion about text.
    assert_eq!(report.counts[0].not_testable, 4);
    for cell in &report.cells {
        assert_eq!(cell.verdicts, [Verdict::NotTestable]);
        assert!(cell.reason.as_ref().is_some_and(|reason| reason.ends_with('.')), "{cell:?}");
    }
}

#[test]
fn the_page_has_word_plot_and_scenario_of_each_cell_and_loads_nothing() {
    let report = report(&["vegas"], &["bufferbloat"], &["constrained"]);
    let page = report.html().expect("valid");
    for part in ["constrained", "<svg", "controller = &quot;vegas&quot;", "Threshold: at most"] {
        assert!(page.contains(part), "{part} is not in the page");
    }
    assert!(page.contains(report.cells[0].verdicts[0].words()));
    assert!(!page.contains("http:") && !page.contains("https:"), "the page refers to another");
}
