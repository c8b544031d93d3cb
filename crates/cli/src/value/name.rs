//! Names of controllers, profiles, variants, tests.

use crate::registry::controller;
use windlass_base::suggest::did_you_mean;
use windlass_probe::Test;
use windlass_sim::simple_model::Arrivals;
use windlass_tcp::Profile;
use windlass_tcp::config::{EcnEcho, RtoRule};

/// `expected one of a, b, c`, with a suggestion.
fn expected_one_of(word: &str, names: &[&str]) -> String {
    format!("expected one of {}{}", names.join(", "), did_you_mean(word, names))
}

/// The name of a congestion controller.
pub(crate) fn parse_cc(text: &str) -> Result<String, String> {
    controller(text).map(|_| text.to_owned())
}

/// The name of a profile.
pub(crate) fn parse_profile(text: &str) -> Result<Profile, String> {
    let names = Profile::ALL.map(Profile::name);
    Profile::by_name(text).ok_or_else(|| expected_one_of(text, &names))
}

/// The name of a rule of the retransmission timeout.
pub(crate) fn parse_rto_rule(text: &str) -> Result<RtoRule, String> {
    let found = RtoRule::ALL.into_iter().find(|rule| rule.name() == text);
    found.ok_or_else(|| expected_one_of(text, &RtoRule::ALL.map(RtoRule::name)))
}

/// How marks are echoed, under the names of scenario files.
pub(crate) fn parse_echo(text: &str) -> Result<EcnEcho, String> {
    match text {
        "until-cwr" => Ok(EcnEcho::UntilCwr),
        "once-per-ce" => Ok(EcnEcho::OncePerCe),
        _ => Err(expected_one_of(text, &["until-cwr", "once-per-ce"])),
    }
}

pub(crate) const VARIANTS: &str = "printed|accumulate";

pub(crate) fn parse_variant(text: &str) -> Result<Arrivals, String> {
    let found = Arrivals::ALL.into_iter().find(|arrivals| arrivals.name() == text);
    found.ok_or_else(|| expected_one_of(text, &Arrivals::ALL.map(Arrivals::name)))
}

pub(crate) fn parse_test(text: &str) -> Result<Test, String> {
    let mut letters = text.trim().chars();
    let test = letters.next().and_then(Test::by_letter).filter(|_| letters.next().is_none());
    test.ok_or_else(|| "expected letters of A to E and S, such as A,C,S".to_owned())
}
