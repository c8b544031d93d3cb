//! A transport with its congestion controller, as the command line names it.

use std::fmt;
use std::str::FromStr;

/// The transport that means Windlass's own TCP.
const TCP: &str = "tcp";

/// The contenders if the command line names none.
pub(crate) const DEFAULT: [&str; 8] = [
    "quinn/cubic",
    "quinn/newreno",
    "quinn/bbr",
    "noq/cubic",
    "noq/newreno",
    "noq/bbr3",
    "tcp/cubic",
    "tcp/bbr3",
];

/// `STACK/CONTROLLER`, or `STACK` with its default controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contender {
    stack: String,
    controller: Option<String>,
}

impl FromStr for Contender {
    type Err = String;

    fn from_str(text: &str) -> Result<Contender, String> {
        let (stack, controller) = match text.split_once('/') {
            Some((stack, controller)) => (stack, Some(controller)),
            None => (text, None),
        };
        let is_name = |name: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !name.is_empty() && name.chars().all(allowed)
        };
        if !is_name(stack) || !controller.is_none_or(is_name) {
            return Err("expected STACK or STACK/CONTROLLER, such as quinn/cubic".to_owned());
        }
        Ok(Contender { stack: stack.to_owned(), controller: controller.map(str::to_owned) })
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.controller {
            Some(controller) => write!(f, "{}/{controller}", self.stack),
            None => f.write_str(&self.stack),
        }
    }
}

impl Contender {
    /// Whether it is Windlass's own TCP: a flow, not an endpoint.
    pub(crate) fn is_tcp(&self) -> bool {
        self.stack == TCP
    }

    /// The keys of a scenario file that say which transport a flow has.
    pub(crate) fn keys(&self) -> String {
        let controller = self.controller.as_deref();
        match (self.is_tcp(), controller) {
            (true, Some(controller)) => format!("controller = \"{controller}\""),
            (true, None) => String::from("controller = \"cubic\""),
            (false, Some(controller)) => {
                let stack = &self.stack;
                format!("stack = {{ kind = \"{stack}\", controller = \"{controller}\" }}")
            }
            (false, None) => format!("stack = \"{}\"", self.stack),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_shown_alike() {
        for text in DEFAULT.into_iter().chain(["fixed-window"]) {
            let contender: Contender = text.parse().expect("a name");
            assert_eq!(contender.to_string(), text);
        }
    }

    #[test]
    fn quotes_and_empty_parts_are_no_names() {
        for text in ["", "/cubic", "quinn/", "a\"b", "quinn/cu bic"] {
            assert!(text.parse::<Contender>().is_err(), "{text:?}");
        }
    }
}
