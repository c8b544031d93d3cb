//! Scripts in packetdrill's language, run against any TCP implementation.
//!
//! A [`Plan`] is a parsed script with its settings. [`run()`] plays it on a [`Subject`], which starts a [`Host`] for it: a
//! TCP with sockets, a link and a clock. [`engine::Engine`] is one, `Kernel` another (feature `kernel`).
//!
//! ```
//! use windlass_drill::engine::Engine;
//! use windlass_drill::{Choice, Plan, Verdict, run};
//!
//! let script = "
//!    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//!   +0 bind(3, ..., ...) = 0
//!   +0 listen(3, 1) = 0
//!   +0 < S 0:0(0) win 64240 <mss 1000>
//!   +0 > S. 0:0(0) ack 1 <...>
//!  +.1 < . 1:1(0) ack 1 win 64240
//!   +0 accept(3, ..., ...) = 4
//!   +0 write(4, ..., 100) = 100
//!   +0 > P. 1:101(100) ack 1
//! ";
//! let plan = Plan::new(script, &Choice::default()).expect("a script");
//! assert_eq!(run(&plan, &Engine).verdict, Verdict::Passed);
//! ```
//!
//! A [`report::Report`] of several scripts becomes text, JSON and JUnit's XML.

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
