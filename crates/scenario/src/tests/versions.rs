//! The versions of the format.

use super::*;

/// A scenario of a version, with more keys for its flow, before its tables and in its defaults.
fn text(version: u32, flow: &str, defaults: &str) -> String {
    format!(
        "# A file of mine.\nschema = {version}  # the version\nname = \"x\"\nduration = \"1s\"\n\
         flows = [{{ from = \"s1\"{flow} }}]\n{defaults}[dumbbell]\naccess = [{{ delay = \"1ms\" }}]\n\
         bottleneck = {{ rate = \"10Mbit/s\", delay = \"5ms\" }}  # slow\n"
    )
}

fn profile(text: &str) -> &'static str {
    let flow = scenario(text, &[]).flows.remove(0);
    flow.profile.expect("files name one").name()
}

#[test]
fn a_flow_without_a_profile_has_that_of_its_version() {
    assert_eq!(profile(&text(1, "", "")), "rfc5681");
    assert_eq!(profile(&text(2, "", "")), "linux");
    assert_eq!(scenario(&text(2, "", ""), &[]).flows[0].sender.congestion.name(), "cubic");
    let default = "[defaults]\nprofile = \"rfc2581\"\n";
    assert_eq!(profile(&text(2, "", default)), "rfc2581");
    assert_eq!(profile(&text(2, ", profile = \"ns2-reno\"", default)), "ns2-reno");
}

#[test]
fn an_upgraded_experiment_simulates_the_same() {
    let mut upgraded = 0;
    for (path, text) in experiments() {
        let Some(new) = upgrade(&text).expect("TOML") else { continue };
        upgraded += 1;
        let [old_scenario, new_scenario] = [&text, &new]
            .map(|text| from_toml(&path, text, &[]).expect("valid").scenario)
            .map(|scenario| format!("{scenario:?}"));
        assert_eq!(old_scenario, new_scenario, "{path}");
        assert_eq!(upgrade(&new).expect("TOML"), None, "{path} is of version 2 now");
    }
    assert!(upgraded >= 22, "{upgraded} files");
}

#[test]
fn an_upgrade_names_the_profile_and_keeps_the_rest_of_the_text() {
    let new = upgrade(&text(1, "", "")).expect("TOML").expect("of version 1");
    assert_eq!(new, text(2, "", "") + "\n[defaults]\nprofile = \"rfc5681\"\n");
    let reno = "[defaults] # of all\nmss = 1000\n";
    let new = upgrade(&text(1, "", reno)).expect("TOML").expect("of version 1");
    assert_eq!(new, text(2, "", &format!("{reno}profile = \"rfc5681\"\n")));
    let own = ", profile = \"linux\"";
    let new = upgrade(&text(1, own, "")).expect("TOML").expect("of version 1");
    assert_eq!(new, text(2, own, ""), "nothing but the version has to change");
}

#[test]
fn flows_that_are_tables_of_their_own_are_upgraded_too() {
    let inline = "flows = [{ from = \"s1\" }]\n";
    let table = "[[flows]]\nfrom = \"s1\"\n";
    let text = text(1, "", "").replace(inline, "") + table;
    let new = upgrade(&text).expect("TOML").expect("of version 1");
    assert_eq!((profile(&text), profile(&new)), ("rfc5681", "rfc5681"));
    assert!(new.contains("schema = 2  # the version"), "{new}");
}

#[test]
fn a_text_that_is_not_toml_is_refused_with_the_place() {
    let error = upgrade("schema = 1\nname = \n").expect_err("no value");
    assert!(error.contains("line 2"), "{error}");
}
