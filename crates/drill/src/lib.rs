//! Scripts in packetdrill's language, run against any TCP implementation.

pub mod call;
mod constants;
pub mod engine;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod linux;
pub mod packet;
pub mod report;
mod run;
pub mod script;
mod settings;
mod shell;
pub mod subject;

pub use call::{Call, Fd, Outcome, Return};
#[cfg(all(target_os = "linux", feature = "kernel"))]
pub use linux::Kernel;
pub use run::{Captured, Divergence, Entry, Line, Run, Side, Verdict, run};
pub use settings::{Choice, IpVersion, Settings};
pub use subject::{Host, Setup, Subject, Unsupported};

/// A script that can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The script.
    pub script: script::Script,
    /// How it runs.
    pub settings: Settings,
}

impl Plan {
    /// Parses a script.
    ///
    /// # Errors
    ///
    /// The first thing that is not of the language, with its place.
    pub fn new(source: &str, choice: &Choice) -> Result<Plan, script::Error> {
        let script = script::parse_with(source, |options| {
            let mut defined = Settings::usual_definitions(settings::version(options, choice)?);
            defined.extend(script::own_definitions(options)?);
            defined.extend(choice.definitions.clone());
            Ok(defined)
        })?;
        let settings = Settings::new(&script.options, choice)?;
        run::check(&script)?;
        Ok(Plan { script, settings })
    }
}
