use super::*;
use crate::suites::{self, SUITES};
use crate::{Case, Engine};
use std::collections::BTreeSet;
use std::sync::Arc;
use windlass_tcp::cc::{Bbr, Bbr3, Controller, ControllerFactory, Params};

fn report(subject: &(dyn crate::Subject + Sync), glob: &str, keep: Keep, jobs: usize) -> Report {
    let bbr = suites::by_name("bbr").expect("a suite");
    let cases = choose(&[bbr], None, Some(glob));
    Report {
        subject: subject.name(),
        profile: Some("linux".to_owned()),
        command: "windlass judge it".to_owned(),
        examined: examine(&cases, subject, keep, jobs, &|_| {}),
    }
}

fn bbr3() -> Engine {
    Engine::new(Arc::new(Bbr3::default()))
}

#[derive(Debug)]
struct Panics;

impl ControllerFactory for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn build(&self, _: &Params) -> Box<dyn Controller> {
        panic!("no window of {} bytes", 7)
    }
}

#[test]
fn the_same_report_comes_whatever_the_number_of_jobs() {
    let texts = [1, 3].map(|jobs| {
        let found = report(&bbr3(), "exiting-*", Keep::default(), jobs);
        assert_eq!(found.examined.len(), 8, "{found:?}");
        found.document().expect("a table of clauses").to_string()
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn a_controller_that_panics_fails_its_cases_alone() {
    let found = report(&Engine::new(Arc::new(Panics)), "exiting-drain-*", Keep::default(), 2);
    assert_eq!(found.counts(), Counts { failed: 2, ..Counts::default() });
    let reason = found.examined[0].outcome.reason().expect("a reason");
    assert!(reason.contains("no window of 7 bytes"), "{reason}");
}

#[test]
fn junit_has_a_suite_of_tests_with_failures_and_skips() {
    let mut found = report(&Engine::new(Arc::new(Bbr)), "exiting-drain-*", Keep::default(), 1);
    found.examined[0].outcome = Outcome::Failed("a < b & \"c\"".to_owned());
    let text = found.junit().expect("XML");
    let document = roxmltree::Document::parse(&text).expect("well-formed");
    let suite = document.descendants().find(|node| node.has_tag_name("testsuite"));
    let suite = suite.expect("a suite");
    let counts = ["name", "tests", "failures", "skipped"].map(|key| suite.attribute(key));
    assert_eq!(counts, [Some("bbr"), Some("2"), Some("1"), None].map(|one| one.or(Some("1"))));
    let failure = document.descendants().find(|node| node.has_tag_name("failure"));
    let failure = failure.expect("a failure");
    assert_eq!(failure.attribute("message"), Some("a < b & \"c\""));
    assert!(failure.text().expect("a text").contains("windlass judge it --suite bbr --case"));
    let skipped = document.descendants().find(|node| node.has_tag_name("skipped"));
    let message = skipped.and_then(|node| node.attribute("message")).expect("a reason");
    assert!(message.contains("no variable"), "{message}");
}

#[test]
fn a_failed_case_has_its_packets_as_qlog() {
    let bbr = suites::by_name("bbr").expect("a suite");
    let mut wire = None;
    for case in bbr.cases.iter().take(1) {
        wire = case.judge(&bbr3()).wire;
    }
    let bytes = qlog::file("a title", &wire.expect("packets"));
    let records: Vec<serde_json::Value> = bytes
        .split(|byte| *byte == 0x1e)
        .skip(1)
        .map(|record| serde_json::from_slice(record).expect("an object"))
        .collect();
    assert_eq!(records[0]["title"], "a title");
    assert_eq!(
        (&records[1]["name"], &records[1]["time"]),
        (&"tcp:segment_sent".into(), &0.0.into())
    );
    assert_eq!(records[1]["data"]["syn"], true);
    let acked = |record: &&serde_json::Value| record["data"]["acked_bytes"].as_u64();
    let last = records.iter().filter_map(|record| acked(&record)).max().expect("ACKs");
    assert!(last > 100_000, "{last}");
    let windows = records.iter().filter(|one| one["name"] == "quic:recovery_metrics_updated");
    assert!(windows.clone().all(|one| one["data"]["congestion_window"].is_u64()));
    assert!(windows.count() > 100);
}

#[test]
fn a_series_keeps_the_extremes_and_stays_small() {
    let found = report(&bbr3(), "handling-token*", Keep { series: true, ..Keep::default() }, 1);
    let series = found.examined[0].series.as_ref().expect("kept");
    assert!((20..500).contains(&series.flight.len()), "{}", series.flight.len());
    assert!(series.packets.is_none(), "thousands of packets");
    assert!(series.flight.is_sorted_by(|one, next| one.0 <= next.0));
}

/// The page has every case, no reference to another file, and escapes what it shows.
#[test]
fn the_page_is_whole_by_itself() {
    let mut found = report(&bbr3(), "exiting-*", Keep { series: true, ..Keep::default() }, 2);
    found.examined[1].outcome = Outcome::Failed("1 < 2 & more".to_owned());
    let page = found.page().expect("a page");
    for one in &found.examined {
        let id = format!("id=\"{}-{}\"", one.suite.name, one.case.name);
        assert_eq!(page.matches(&id).count(), 1, "{id}");
    }
    assert!(page.contains("1 &lt; 2 &amp; more"));
    assert!(page.matches("<svg").count() >= 8 && !page.contains("src="));
    assert!(!page.contains("http"), "no network");
    assert!(page.len() < 400_000, "{} bytes", page.len());
}

#[test]
fn a_controller_gets_the_cases_that_concern_it() {
    assert!(choose(&[], Some("newreno"), None).iter().all(|one| one.suite.name != "bbr"));
    assert!(choose(&[], Some("bbr3"), Some("*probe-rtt*")).len() >= 3);
    let bbr = suites::by_name("bbr").expect("a suite");
    assert_eq!(choose(&[bbr], Some("newreno"), None).len(), bbr.cases.len());
}

/// Each clause has cases or the reason why it has none, and each case has a clause.
#[test]
fn the_clauses_of_a_suite_are_those_of_its_cases() {
    for suite in SUITES {
        let clauses = clauses(suite).expect("a table");
        let known: BTreeSet<&str> = suite.cases.iter().map(|case: &Case| case.name).collect();
        let mut named = BTreeSet::new();
        for clause in &clauses {
            let about = format!("{}: {}: {}", suite.name, clause.section, clause.demand);
            assert!(clause.cases.is_empty() == clause.why_not.is_some(), "{about}");
            let levels = ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "rule"];
            assert!(levels.contains(&clause.level.as_str()), "{about}: {}", clause.level);
            for name in &clause.cases {
                assert!(known.contains(name.as_str()), "{about}: no case {name}");
                named.insert(name.as_str());
            }
        }
        let unnamed: Vec<_> = known.difference(&named).collect();
        assert!(unnamed.is_empty(), "{}: no clause names {unnamed:?}", suite.name);
    }
}
