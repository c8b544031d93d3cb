//! The settings of a measurement, from the arguments that all measurements have.

use super::args::MeasureArgs;
use crate::failure::Failure;
use std::fs;
use std::sync::Arc;
use windlass_probe::cca::Library;
use windlass_probe::dialogue::{Exchange, unescape};
use windlass_probe::session::{Family, Runs};
use windlass_probe::{PARTS_POLITE, Settings, Test, tls};

/// Runs of each test, at most, without `--runs`.
const RUNS_MAX: u32 = 5;

/// The settings of a measurement, without bursts. `tests` are those of `--tests`; `--split` replaces them.
pub(super) fn settings(tests: &[Test], args: &MeasureArgs) -> Result<Settings, Failure> {
    let split: Vec<Test> = args.split.iter().map(|parts| Test::Split(*parts)).collect();
    let mut chosen: Vec<Test> = Vec::new();
    for test in if split.is_empty() { tests } else { &split } {
        if !chosen.contains(test) {
            chosen.push(*test);
        }
    }
    let most = chosen.iter().map(|test| test.parts()).max().unwrap_or(1);
    if most > PARTS_POLITE && !args.force {
        return Err(Failure::Input(format!(
            "--split {most}: more than {PARTS_POLITE} ACKs for a segment burden the server and the \
             path; --force says that you mean it"
        )));
    }
    let tls = tls::client_config().map_err(|error| Failure::Work(format!("TLS: {error}")))?;
    Ok(Settings {
        tests: chosen,
        // Only `windlass probe` has an option for bursts. It fills them in.
        bursts: Vec::new(),
        runs: args.runs.map_or(Runs::UntilCertain { most: RUNS_MAX }, Runs::Exactly),
        acks: args.acks,
        timeout: args.timeout,
        patience: args.patience,
        mss: args.mss,
        family: match (args.v4, args.v6) {
            (true, _) => Some(Family::V4),
            (_, true) => Some(Family::V6),
            _ => None,
        },
        user_agent: args.user_agent.clone(),
        // Each command has an option of its own.
        find_object: false,
        // --cca also reports how the controller answers marks: it asks which ECN the server speaks.
        ecn: args.ecn || args.cca,
        controllers: args.cca.then(library).transpose()?,
        scheme: args.dialogue,
        exchange: Exchange::new(to_send(args)?, args.until.as_deref())
            .map_err(|error| Failure::Input(format!("--until: {error}")))?,
        tls,
    })
}

/// The signatures of known controllers.
fn library() -> Result<Arc<Library>, Failure> {
    let library = Library::measured();
    library.map(Arc::new).map_err(|error| Failure::Work(format!("library of controllers: {error}")))
}

/// The bytes of `--send`: the text, or those of the file behind an @.
fn to_send(args: &MeasureArgs) -> Result<Vec<u8>, Failure> {
    let fault = |what: String| Failure::Input(format!("--send: {what}"));
    match args.send.as_deref().map(|text| text.strip_prefix('@').ok_or(text)) {
        None => Ok(Vec::new()),
        Some(Ok(file)) => fs::read(file).map_err(|error| fault(format!("{file}: {error}"))),
        Some(Err(text)) => unescape(text).map_err(fault),
    }
}
