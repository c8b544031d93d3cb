//! The body of the fuzz target, with random bytes and with the inputs in `fuzz/regressions`. The
//! target itself is in `fuzz/`.

#[path = "fuzz_bodies/dialogue.rs"]
mod dialogue;
#[path = "fuzz_bodies/hostile.rs"]
mod hostile;
#[path = "fuzz_bodies/object.rs"]
mod object;
#[path = "fuzz_bodies/survey.rs"]
mod survey;

use proptest::prelude::*;
use windlass_probe::dialogue::{NAMES, Scheme};
use windlass_testbed::replay;

/// The dialogues, each once: TLS before one is the same here.
fn dialogues() -> Vec<&'static str> {
    let plain = |name: &&str| Scheme::by_name(name).is_some_and(|scheme| !scheme.tls);
    NAMES.into_iter().filter(plain).collect()
}

proptest! {
    #[test]
    fn a_probe_takes_any_server(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        hostile::run(&bytes);
    }

    #[test]
    fn a_dialogue_takes_any_server(
        name in prop::sample::select(dialogues()),
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        dialogue::run_as(name, &bytes);
    }

    #[test]
    fn a_search_takes_any_page_and_robots_txt(
        share in any::<u8>(),
        parts in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..20),
            prop::sample::select(vec![
                "<a href=/", "<img src='", "'>", ".iso>", "\n", "User-agent: *\n", "Disallow: /", "*", "$\n",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
        ], 0..60),
    ) {
        object::run(&[&[share], &parts.concat()[..]].concat());
    }

    #[test]
    fn a_survey_takes_any_lists_and_tables(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survey::run(&bytes);
    }
}

#[test]
fn a_probe_passes_its_regressions() {
    replay("probe", hostile::run);
}

/// Each has a fuzz target of its own, and inputs that are kept.
#[test]
fn dialogues_pass_their_regressions() {
    for name in dialogues() {
        let target = format!("dialogue_{}", name.replace('+', "_"));
        let manifest = include_str!("../../../fuzz/Cargo.toml");
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        replay(&target, |bytes| dialogue::run_as(name, bytes));
    }
}

#[test]
fn a_search_passes_its_regressions() {
    replay("object", object::run);
}

#[test]
fn a_survey_passes_its_regressions() {
    replay("survey", survey::run);
}
