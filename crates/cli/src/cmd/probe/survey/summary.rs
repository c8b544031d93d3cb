//! The summary of a survey.

use super::plan::duration;
use crate::stdout;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use windlass_base::Span;
use windlass_probe::survey::HostRow;

/// The numbers of a survey.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    /// On the list.
    hosts: usize,
    /// Those of them with a row.
    done: usize,
    /// By `outcome`.
    outcomes: BTreeMap<String, usize>,
    /// By `reaction`, of those that were measured.
    reactions: BTreeMap<String, usize>,
    /// By `controller`, if it was asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    controllers: BTreeMap<String, usize>,
    /// Packets of an exact initial window, of those that were measured.
    initial_windows: BTreeMap<u32, usize>,
    /// Those whose initial window is a lower bound.
    initial_windows_at_least: usize,
    /// Begun by this command, not by those before it.
    connections: u64,
    /// Lost on this machine.
    packets_dropped: u64,
    /// Of this command.
    duration_s: f64,
}

impl Summary {
    pub(super) fn of(
        rows: &[HostRow],
        hosts: usize,
        connections: u64,
        packets_dropped: u64,
        took: Duration,
    ) -> Summary {
        let mut summary = Summary {
            hosts,
            done: rows.len(),
            outcomes: BTreeMap::new(),
            reactions: BTreeMap::new(),
            controllers: BTreeMap::new(),
            initial_windows: BTreeMap::new(),
            initial_windows_at_least: 0,
            connections,
            packets_dropped,
            duration_s: took.as_secs_f64(),
        };
        for row in rows {
            summary.count(row);
        }
        summary
    }

    fn count(&mut self, row: &HostRow) {
        *self.outcomes.entry(row.outcome.clone()).or_default() += 1;
        if !row.reaction.is_empty() {
            *self.reactions.entry(row.reaction.clone()).or_default() += 1;
        }
        if !row.controller.is_empty() {
            *self.controllers.entry(row.controller.clone()).or_default() += 1;
        }
        match (row.initial_window_packets, row.initial_window_exact) {
            (Some(packets), Some(true)) => *self.initial_windows.entry(packets).or_default() += 1,
            (Some(_), _) => self.initial_windows_at_least += 1,
            _ => {}
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut windows: Vec<(String, usize)> = self
            .initial_windows
            .iter()
            .map(|(packets, count)| (format!("{packets} packets"), *count))
            .collect();
        if self.initial_windows_at_least > 0 {
            windows.push(("lower bounds".to_owned(), self.initial_windows_at_least));
        }
        let named = |counts: &BTreeMap<String, usize>| {
            let mut named = by_count(counts);
            named.iter_mut().for_each(|(name, _)| *name = name.replace('-', " "));
            named
        };
        let parts = [
            counts("outcome", &named(&self.outcomes)),
            counts("reaction", &named(&self.reactions)),
            counts("controller", &by_count(&self.controllers)),
            counts("initial window", &windows),
        ];
        let took = duration(Span::from_secs_f64(self.duration_s));
        let mut text: Vec<String> = parts.into_iter().flatten().collect();
        text.push(format!(
            "{} of {} hosts done, {} connections, {took}",
            self.done, self.hosts, self.connections
        ));
        if self.packets_dropped > 0 {
            text.push(format!(
                "note: {} packets were lost on this machine, which did not keep up: a lower --rate, or \
                 root, whose buffers are larger",
                self.packets_dropped
            ));
        }
        text.join("\n\n")
    }
}

/// The names and their counts, the largest first.
fn by_count(counts: &BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut named: Vec<(String, usize)> =
        counts.iter().map(|(name, count)| (name.clone(), *count)).collect();
    named.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    named
}

fn counts(what: &str, counts: &[(String, usize)]) -> Option<String> {
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    let row = |(name, count): &(String, usize)| {
        let share = 100.0 * *count as f64 / all as f64;
        vec![name.clone(), count.to_string(), format!("{share:.1} %")]
    };
    (all > 0).then(|| stdout::table(&[what, "hosts", "share"], counts.iter().map(row)))
}
