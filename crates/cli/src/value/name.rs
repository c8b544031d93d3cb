//! Names of controllers, profiles, variants, tests.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use std::ffi::OsStr;
use windlass_base::suggest::did_you_mean;
#[cfg(feature = "probe")]
use windlass_probe::Test;
use windlass_sim::simple_model::Arrivals;
use windlass_tcp::Profile;
use windlass_tcp::config::{EcnEcho, RtoRule};

/// `expected one of a, b, c`, with a suggestion.
fn expected_one_of(word: &str, names: &[&str]) -> String {
    format!("expected one of {}{}", names.join(", "), did_you_mean(word, names))
}

/// A parser of names that completions list. Messages are those of the function that parses.
#[derive(Clone)]
pub(crate) struct Named<P> {
    names: fn() -> Vec<&'static str>,
    parse: P,
}

impl<P: TypedValueParser> Named<P> {
    /// A parser that takes `names`.
    pub(crate) fn new(names: fn() -> Vec<&'static str>, parse: P) -> Named<P> {
        Named { names, parse }
    }
}

impl<P: TypedValueParser> TypedValueParser for Named<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

pub(crate) fn profile_names() -> Vec<&'static str> {
    Profile::ALL.map(Profile::name).to_vec()
}

/// The name of a profile.
pub(crate) fn parse_profile(text: &str) -> Result<Profile, String> {
    Profile::by_name(text).ok_or_else(|| expected_one_of(text, &profile_names()))
}

pub(crate) fn rto_rule_names() -> Vec<&'static str> {
    RtoRule::ALL.map(RtoRule::name).to_vec()
}

/// The name of a rule of the retransmission timeout.
pub(crate) fn parse_rto_rule(text: &str) -> Result<RtoRule, String> {
    let found = RtoRule::ALL.into_iter().find(|rule| rule.name() == text);
    found.ok_or_else(|| expected_one_of(text, &rto_rule_names()))
}

pub(crate) fn echo_names() -> Vec<&'static str> {
    vec!["until-cwr", "once-per-ce", "dctcp", "accurate"]
}

/// How marks are echoed, under the names of scenario files; AccECN has a key of its own there.
pub(crate) fn parse_echo(text: &str) -> Result<EcnEcho, String> {
    match text {
        "until-cwr" => Ok(EcnEcho::UntilCwr),
        "once-per-ce" => Ok(EcnEcho::OncePerCe),
        "dctcp" => Ok(EcnEcho::Dctcp),
        "accurate" => Ok(EcnEcho::Accurate),
        _ => Err(expected_one_of(text, &echo_names())),
    }
}

pub(crate) const VARIANTS: &str = "printed|accumulate";

pub(crate) fn parse_variant(text: &str) -> Result<Arrivals, String> {
    let found = Arrivals::ALL.into_iter().find(|arrivals| arrivals.name() == text);
    found.ok_or_else(|| expected_one_of(text, &Arrivals::ALL.map(Arrivals::name)))
}

#[cfg(feature = "probe")]
pub(crate) fn parse_test(text: &str) -> Result<Test, String> {
    let mut letters = text.trim().chars();
    let test = letters.next().and_then(Test::by_letter).filter(|_| letters.next().is_none());
    test.ok_or_else(|| "expected letters of A to E and S, such as A,C,S".to_owned())
}
