//! Any bytes as a script: parsing and running it on the engine ends, without a panic.

use windlass_base::Span;
use windlass_drill::engine::Engine;
use windlass_drill::report::{self, Played, Report};
use windlass_drill::{Choice, IpVersion, Plan, Verdict};

/// Longer than any script of a few events may take.
const LONGEST: Span = Span::from_secs(90_000_000);

/// One input of the target `drill`: the first byte chooses the version of IP, the rest is the script.
pub(crate) fn run(bytes: &[u8]) {
    let [choice, script @ ..] = bytes else { return };
    let (_, ip_version) = IpVersion::NAMES[usize::from(*choice) % IpVersion::NAMES.len()];
    let choice = Choice { ip_version, ..Choice::default() };
    let source = String::from_utf8_lossy(script);
    let run = Plan::new(&source, &choice).map(|plan| windlass_drill::run(&plan, &Engine));
    match &run {
        Err(error) => {
            let lines = source.lines().count().max(1) + usize::from(source.ends_with('\n'));
            assert!(error.position.line as usize <= lines, "{error} is behind line {lines}");
        }
        Ok(run) => {
            assert!(run.elapsed < LONGEST, "{:?}", run.elapsed);
            if let Verdict::Failed(divergence) = &run.verdict {
                assert!(!divergence.summary.is_empty());
            }
        }
    }
    let played = Played { name: "script".to_owned(), run };
    assert!(!report::line(&played).is_empty());
    let report = Report { subject: "engine".to_owned(), scripts: vec![played] };
    assert!(report.junit().is_ok());
    assert!(report.document().is_object());
}
