//! Evaluates controllers on two threads, prints the verdicts, and writes the page:
//! `cargo run --profile quick -p windlass-evaluation --example evaluate -- reno,bbr3 report.html [quick]`.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use windlass_evaluation::{Evaluation, Figures, Options, Report};
use windlass_scenario::Registry;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [subjects, page, quick @ ..] = arguments.as_slice() else {
        return Err("expected controllers and the name of a file".into());
    };
    let options = if quick.is_empty() { Options::default() } else { Options::quick() };
    let subjects: Vec<&str> = subjects.split(',').collect();
    let evaluation = Evaluation::new(&subjects, options, &Registry::default())?;
    let report = evaluation.report(&run(&evaluation)?);
    print(&report);
    std::fs::write(page, report.html()?)?;
    Ok(())
}

/// Does the runs in two threads; the figures come in the order of the runs' numbers.
fn run(evaluation: &Evaluation) -> Result<Vec<Figures>, windlass_evaluation::Error> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= evaluation.runs() {
                break;
            }
            let figures = evaluation.run(number);
            if let Ok(mut done) = done.lock() {
                done.insert(number, figures);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    done.into_inner().unwrap_or_default().into_values().collect()
}

fn print(report: &Report) {
    for cell in &report.cells {
        let verdicts: Vec<&str> = cell.verdicts.iter().map(|verdict| verdict.words()).collect();
        println!("{:22} {:22} {}", cell.path, cell.criterion, verdicts.join(", "));
    }
    for (subject, counts) in report.subjects.iter().zip(&report.counts) {
        println!("{}: {counts:?}", subject.name);
    }
}
