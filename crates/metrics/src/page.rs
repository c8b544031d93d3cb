//! The text of a page of metrics, in the exposition format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// The type of a metric.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It never falls while the daemon runs. By convention its name ends in `_total`.
    Counter,
    /// It rises and falls.
    Gauge,
}

/// A page of metrics in the making.
#[derive(Clone, Debug)]
pub struct Page {
    prefix: &'static str,
    text: String,
}

impl Page {
    /// An empty page. Each metric's name begins with `prefix`.
    pub fn new(prefix: &'static str) -> Page {
        Page { prefix, text: String::new() }
    }

    /// Writes the head of a metric. Its values follow.
    pub fn head(&mut self, name: &str, kind: Kind, help: &str) {
        let prefix = self.prefix;
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        self.write(format_args!("# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n"));
    }

    /// Writes a value of the last metric.
    pub fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let prefix = self.prefix;
        self.write(format_args!("{prefix}{name}{labels} {value}\n"));
    }

    /// Writes the counter `name`, to which it adds `_total`, with its only value.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        let name = format!("{name}_total");
        self.head(&name, Kind::Counter, help);
        self.value(&name, &[], value);
    }

    /// Writes a gauge with its only value.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, Kind::Gauge, help);
        self.value(name, &[], value);
    }

    /// Writes a gauge with a value for each value of a label.
    pub fn gauge_by(
        &mut self,
        name: &str,
        label: &str,
        help: &str,
        values: &BTreeMap<String, u64>,
    ) {
        self.head(name, Kind::Gauge, help);
        for (key, value) in values {
            self.value(name, &[(label, key)], value);
        }
    }

    /// The page.
    pub fn into_text(self) -> String {
        self.text
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.text.write_fmt(text).expect("a string takes everything");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_a_metric_has_its_head_once() {
        let mut page = Page::new("windlass_");
        let values = BTreeMap::from([("a\"b\\c\nd".to_owned(), 7), ("e".to_owned(), 8)]);
        page.gauge_by("flows", "state", "number of flows", &values);
        assert_eq!(
            page.into_text(),
            "# HELP windlass_flows number of flows\n# TYPE windlass_flows gauge\n\
             windlass_flows{state=\"a\\\"b\\\\c\\nd\"} 7\n\
             windlass_flows{state=\"e\"} 8\n"
        );
    }
}
