//! The scripts of this crate, on each subject.

use std::fs;
use std::path::{Path, PathBuf};
use windlass_drill::engine::Engine;
use windlass_drill::report::{self, Played};
use windlass_drill::{Choice, IpVersion, Plan, Subject, Verdict, run};

fn paths() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let entries = fs::read_dir(folder).expect("the folder of scripts");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Runs each script with each of these versions of IP, and fails by the first that does. Returns how many were run and
/// not skipped.
fn passes(subject: &dyn Subject, versions: &[IpVersion]) -> usize {
    let mut passed = 0;
    for path in paths() {
        for &ip_version in versions {
            let text = fs::read_to_string(&path).expect("a script");
            let choice = Choice { ip_version, ..Choice::default() };
            let plan = Plan::new(&text, &choice)
                .unwrap_or_else(|error| panic!("{}:{error}", path.display()));
            let played = Played { name: path.display().to_string(), run: Ok(run(&plan, subject)) };
            let diff = report::divergence(&played).unwrap_or_default();
            assert_ne!(
                played.verdict(),
                "failed",
                "{ip_version}: {}\n{diff}",
                report::line(&played)
            );
            passed += usize::from(played.verdict() == "passed");
        }
    }
    passed
}

#[test]
fn the_engine_passes_them_with_every_version_of_ip() {
    let versions = IpVersion::NAMES.map(|(_, version)| version);
    assert_eq!(passes(&Engine, &versions), versions.len() * paths().len(), "none is skipped");
}

#[test]
fn the_engine_does_the_same_twice() {
    for path in paths() {
        let text = fs::read_to_string(&path).expect("a script");
        let plan = Plan::new(&text, &Choice::default()).expect("a script");
        assert_eq!(run(&plan, &Engine), run(&plan, &Engine), "{}", path.display());
    }
}

/// A script that expects something else fails at that place, with both sides.
#[test]
fn a_wrong_expectation_is_shown_with_both_sides() {
    let text = fs::read_to_string(&paths()[0]).expect("a script").replace("mss 1460", "mss 1461");
    let plan = Plan::new(&text, &Choice::default()).expect("a script");
    let Verdict::Failed(divergence) = run(&plan, &Engine).verdict else { panic!("it fails") };
    assert!(
        divergence.summary.starts_with("options: expected <mss 1461"),
        "{}",
        divergence.summary
    );
    assert_eq!((divergence.expected.len(), divergence.actual.len()), (1, 1));
    let line = text.lines().nth(divergence.position.line as usize - 1).expect("a line");
    assert!(line.contains("mss 1461"), "{line}");
}

#[cfg(all(target_os = "linux", feature = "kernel"))]
mod kernel {
    use super::*;
    use windlass_drill::Kernel;
    use windlass_testbed::{Need, skip_unless};

    /// A loaded machine is late, and that is no fault of a script.
    const ATTEMPTS: usize = 5;

    #[test]
    fn the_running_kernel_passes_them() {
        if skip_unless(&[Need::Root, Need::Tun]) {
            return;
        }
        let kernel = Kernel::new(&std::env::temp_dir()).expect("root and TUN");
        for path in paths() {
            let text = fs::read_to_string(&path).expect("a script");
            let choice = Choice {
                tolerance: Some(windlass_base::Span::from_millis(15)),
                ..Choice::default()
            };
            let plan = Plan::new(&text, &choice).expect("a script");
            let mut runs = (0..ATTEMPTS)
                .map(|_| Played { name: path.display().to_string(), run: Ok(run(&plan, &kernel)) });
            let last = runs.find(|played| played.verdict() != "failed");
            let shown = || {
                let played =
                    Played { name: path.display().to_string(), run: Ok(run(&plan, &kernel)) };
                format!(
                    "{}\n{}",
                    report::line(&played),
                    report::divergence(&played).unwrap_or_default()
                )
            };
            assert!(last.is_some(), "{}", shown());
        }
    }
}
