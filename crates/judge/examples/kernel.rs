//! Judges the running kernel, as root: `kernel CONTROLLER [SUITE [CASE]]`. Each case that fails leaves a packet capture
//! in the current folder.

use std::fs;
use std::io::{self, Write};
use std::time::Instant;
use windlass_judge::suites::SUITES;
use windlass_judge::{Kernel, Outcome, Subject, capture};

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let controller = words.next().unwrap_or_else(|| "cubic".into());
    let (suite, case) = (words.next(), words.next());
    let kernel = Kernel::new(&controller)?;
    println!("{}", kernel.name());
    let is_wanted =
        |name: &str, wanted: &Option<String>| wanted.as_ref().is_none_or(|wanted| wanted == name);
    for suite in SUITES.iter().filter(|known| is_wanted(known.name, &suite)) {
        for found in suite.concerning(&kernel).filter(|found| is_wanted(found.name, &case)) {
            print!("{} {}: ", suite.name, found.name);
            io::stdout().flush()?;
            let began = Instant::now();
            let judgement = found.judge(&kernel);
            let outcome = &judgement.outcome;
            if let (Outcome::Failed(_), Some(wire)) = (outcome, &judgement.wire) {
                fs::write(format!("{}.pcapng", found.name), capture(found.name, wire))?;
            }
            let (name, reason) = (outcome.name(), outcome.reason().unwrap_or_default());
            println!("{name} in {:.1} s {reason}", began.elapsed().as_secs_f64());
        }
    }
    Ok(())
}
