//! A congestion controller with settings.

use super::kind::kind_and_settings;
use crate::registry::{controller, registry};
use serde_json::Value;
use std::sync::Arc;
use windlass_tcp::Profile;
use windlass_tcp::cc::ControllerFactory;

/// `NAME` or `NAME:key=value,...`, under the names of scenario files; without settings, those of the profile.
pub(crate) fn parse_controller(
    text: &str,
    profile: Profile,
) -> Result<Arc<dyn ControllerFactory>, String> {
    let (name, mut settings) = kind_and_settings(text)?;
    // Its message lists the names.
    controller(name)?;
    settings.insert("kind".to_owned(), name.into());
    registry()
        .read_controller(name, &Value::Object(settings), profile)
        .map_err(|problems| problems.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_has_the_names_of_scenario_files() {
        let found = parse_controller("prague:fast_growth=true", Profile::Linux);
        assert!(format!("{found:?}").contains("fast_growth: true"), "{found:?}");
        let cubic = parse_controller("cubic", Profile::Linux);
        assert_eq!(format!("{cubic:?}"), format!("Ok({:?})", Profile::Linux.cubic()));
        let error = parse_controller("dctcp:gian=1", Profile::Linux).expect_err("an unknown key");
        assert_eq!(error, "dctcp: gian: unknown key; did you mean \"gain\"?");
        let error = parse_controller("cubik", Profile::Linux).expect_err("an unknown name");
        assert!(error.contains("did you mean \"cubic\"?"), "{error}");
    }
}
