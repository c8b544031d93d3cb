//! A museum of bugs: faults of other stacks from public reports, each with the case of the judge that fails on the
//! version with the fault and passes on the one without.
//!
//! A program is built with one version of each stack, which its lock file chooses. This folder's workspace has the
//! mended versions; `faulty` and `halfway` are workspaces of their own, with the others.

mod exhibit;
mod record;
mod versions;

pub use exhibit::{EXHIBITS, Exhibit, Sender, View};
pub use record::record;
pub use versions::version;

use std::path::Path;
use std::process::ExitCode;
use windlass_judge::Outcome;

/// The program `museum [FOLDER]`: judges every exhibit with the versions of this lock file, prints the verdicts, and
/// writes the packets of each into the folder.
pub fn main(lock: &str) -> ExitCode {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "museum".to_owned());
    match record(EXHIBITS, lock, Path::new(&folder)) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("museum: {message}");
            ExitCode::FAILURE
        }
    }
}

/// For tests: panics unless each exhibit passes, or fails if this lock file has its faulty version. Returns how many
/// fail.
///
/// # Panics
///
/// As said.
pub fn check(lock: &str) -> usize {
    let mut faults = 0;
    for exhibit in EXHIBITS {
        let has_fault = version(lock, exhibit.stack).as_deref() == Some(exhibit.faulty);
        let outcome = exhibit.judge().map(|judgement| judgement.outcome);
        match (has_fault, &outcome) {
            (true, Ok(Outcome::Failed(_))) => faults += 1,
            (false, Ok(Outcome::Passed)) => {}
            // A workspace of faulty versions has those of one time: others may be older than the exhibit's.
            (false, Ok(_)) if is_older(lock, exhibit) => {}
            _ => panic!("{} of {}: {outcome:?}", exhibit.name, exhibit.stack),
        }
    }
    faults
}

/// Whether the lock file has a version below the mended one.
fn is_older(lock: &str, exhibit: &Exhibit) -> bool {
    let parts =
        |text: &str| text.split('.').filter_map(|part| part.parse().ok()).collect::<Vec<u64>>();
    version(lock, exhibit.stack).is_some_and(|has| parts(&has) < parts(exhibit.mended))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The versions without the faults.
    #[test]
    fn every_exhibit_passes() {
        assert_eq!(check(include_str!("../../Cargo.lock")), 0);
    }

    #[test]
    fn each_exhibit_has_its_name_and_a_case() {
        for exhibit in EXHIBITS {
            assert!(exhibit.case().is_ok(), "{}", exhibit.name);
            let found = Exhibit::by_name(exhibit.name).expect("an exhibit");
            assert!(std::ptr::eq(found, exhibit), "{} twice", exhibit.name);
            assert!(exhibit.report.starts_with("https://"));
        }
    }
}
