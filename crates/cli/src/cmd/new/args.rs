//! The arguments of `windlass new`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum New {
    /// Write a crate with a congestion controller, which builds into this command
    #[command(after_help = HELP)]
    Controller(NewCrate),
    /// Write a crate with a queue discipline, which builds into this command
    #[command(after_help = HELP)]
    Queue(NewCrate),
    /// Write a crate with a middlebox, which builds into this command
    #[command(after_help = HELP)]
    Middlebox(NewCrate),
}

const HELP: &str = "\
Examples:
  windlass new controller mine
  cargo run --release --manifest-path mine/Cargo.toml -- sim run mine/scenario.toml --out out
  windlass-lab plot out

The crate holds the code to change, a scenario, tests, and the sources of Windlass that it builds from, \
which this binary carries. With --source it builds from a checkout instead. Building takes Rust 1.91. \
The command that comes out has `sim` and `judge`; the features `drill`, `link`, `probe` and `tou` in its Cargo.toml \
add those tools, which take longer to compile, and `kernel` adds `judge --kernel`. `cc`, `ecn-proxy` and `split-ack` need more than Rust.";

#[derive(Debug, Args)]
pub(crate) struct NewCrate {
    /// Its name in scenarios, and the crate's: small letters, digits and -
    #[arg(value_parser = Name::parse)]
    pub name: Name,
    /// The crate's new folder [default: its name]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Build from this checkout of Windlass, not from the sources in this binary
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

/// A name that can be a crate's and a kind's.
#[derive(Clone, Debug)]
pub(crate) struct Name(String);

/// Names that a crate cannot have, or that would hide a crate which it depends on.
const TAKEN: [&str; 7] = ["test", "std", "core", "alloc", "serde", "windlass", "proc-macro"];

impl Name {
    fn parse(text: &str) -> Result<Name, String> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let fits = (2..=40).contains(&text.len())
            && text.chars().all(allowed)
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && !text.ends_with('-')
            && !text.contains("--");
        if !fits {
            return Err("expected 2 to 40 small letters, digits and -, a letter first".to_owned());
        }
        if TAKEN.contains(&text) || text.starts_with("windlass-") {
            return Err("the name of another crate; choose another one".to_owned());
        }
        Ok(Name(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as Rust writes types: `my-reno` is `MyReno`.
    pub(crate) fn type_name(&self) -> String {
        let capitalised = |word: &str| {
            let mut letters = word.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        };
        self.0.split('-').map(capitalised).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_crate_and_a_type() {
        let type_name = |text| Name::parse(text).map(|name| name.type_name());
        assert_eq!(type_name("mine").as_deref(), Ok("Mine"));
        assert_eq!(type_name("my-reno-2").as_deref(), Ok("MyReno2"));
        for text in ["", "m", "Mine", "2fast", "a--b", "end-", "a_b", "serde", "windlass-x"] {
            assert!(type_name(text).is_err(), "{text}");
        }
    }
}
