//! The controllers of an evaluation: the subjects and the two baselines.

use crate::error::Error;
use serde::Serialize;
use std::sync::Arc;
use windlass_scenario::Registry;
use windlass_tcp::Profile;
use windlass_tcp::cc::ControllerFactory;
use windlass_tcp::config::EcnEcho;

/// The standards that subjects are compared with (RFC 5681, RFC 9438).
pub(crate) const BASELINES: [&str; 2] = ["reno", "cubic"];

/// A controller, and the options of a connection that it needs.
#[derive(Clone, Debug, Serialize)]
pub struct Contender {
    /// Its name in scenarios.
    pub name: String,
    /// The keys of its flows.
    pub keys: String,
    /// The needs that an incremental deployment has to meet, in sentences.
    pub needs: Vec<&'static str>,
}

impl Contender {
    /// The controller of that name with the profile linux, and with ECN as its factory says.
    pub(crate) fn new(name: &str, registry: &Registry) -> Result<Contender, Error> {
        let factory = factory(name, registry)?;
        let mut keys = vec![format!("controller = \"{name}\"")];
        let mut needs = Vec::new();
        if factory.needs_marks() {
            needs.push("It is of little use without ECN marks.");
        }
        match factory.echo() {
            Some(EcnEcho::Accurate | EcnEcho::Dctcp) => {
                keys.push("accecn = true".to_owned());
                needs.push("It needs receivers that count marks (AccECN).");
            }
            Some(EcnEcho::OncePerCe) => {
                keys.push("ecn = true\nreceiver = { echo = \"once-per-ce\" }".to_owned());
                needs.push("It needs receivers that echo each mark once.");
            }
            Some(EcnEcho::UntilCwr) | None if factory.needs_marks() => {
                keys.push("ecn = true".to_owned());
            }
            Some(EcnEcho::UntilCwr) | None => {}
        }
        if factory.paces() {
            needs.push("Its sender paces.");
        }
        Ok(Contender { name: name.to_owned(), keys: keys.join("\n"), needs })
    }
}

fn factory(name: &str, registry: &Registry) -> Result<Arc<dyn ControllerFactory>, Error> {
    let factory = registry.read_controller("CONTROLLER", &name.into(), Profile::Linux);
    factory.map_err(|problems| Error::Controller(problems.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_has_ecn_as_its_factory_says() {
        let keys = |name| Contender::new(name, &Registry::default()).expect("valid").keys;
        assert_eq!(keys("vegas"), "controller = \"vegas\"");
        assert_eq!(keys("new-ecn"), "controller = \"new-ecn\"\necn = true");
        assert_eq!(keys("prague"), "controller = \"prague\"\naccecn = true");
    }

    #[test]
    fn an_unknown_controller_is_refused_with_the_names_there_are() {
        let error = Contender::new("cubik", &Registry::default()).expect_err("refused");
        assert!(error.to_string().contains("cubic"), "{error}");
    }
}
