//! The path on which contenders are compared, as a scenario; and runs of it.
//!
//! Each contender has a host of its own, one millisecond in front of a router. From there a link leads to the
//! receiver.

use crate::contender::Contender;
use crate::registry;
use crate::watch::Watch;
use windlass_scenario::Document;
use windlass_sim::{Summary, run};
use windlass_stacks_seeded::on_seeded_thread;

/// Milliseconds from a sender to the router.
const ACCESS_MS: f64 = 1.0;
/// Every flow starts at a random time up to this.
const JITTER_MS: u32 = 100;

/// The shared link and the length of a run.
#[derive(Clone, Debug)]
pub(crate) struct Bed {
    /// Such as `20Mbit/s`.
    pub(crate) rate: String,
    /// The propagation delay of the path and back, at least 4.
    pub(crate) rtt_ms: f64,
    /// The keys of the queue, a TOML table or text.
    pub(crate) queue: String,
    /// The key `loss` of the shared link, a TOML value; empty: no losses.
    pub(crate) loss: String,
    pub(crate) seconds: f64,
    pub(crate) steady_from: f64,
    /// The key `app` of the flows, a TOML table.
    pub(crate) app: String,
    /// Whether flows start at a random time.
    pub(crate) jitter: bool,
}

impl Bed {
    /// The scenario of these contenders, each a flow of its own.
    ///
    /// # Errors
    ///
    /// A value is wrong, or a transport unknown.
    pub(crate) fn document(&self, contenders: &[Contender]) -> Result<Document, String> {
        let text = self.text(contenders);
        let problems = |problems: windlass_scenario::Problems| problems.to_string();
        registry().read_toml("path", &text, &[]).map_err(problems)
    }

    fn text(&self, contenders: &[Contender]) -> String {
        let Bed { rate, rtt_ms, queue, seconds, steady_from, app, .. } = self;
        let delay = rtt_ms / 2.0 - ACCESS_MS;
        let loss = match self.loss.as_str() {
            "" => String::new(),
            loss => format!(", loss = {loss}"),
        };
        let names: Vec<String> = (1..=contenders.len()).map(|n| format!("s{n}")).collect();
        let hosts: String = names.iter().map(|name| format!("\"{name}\", ")).collect();
        let access: String = names
            .iter()
            .map(|name| format!("{{ a = \"{name}\", b = \"r\", delay = \"{ACCESS_MS}ms\" }}, "))
            .collect();
        let mut lists = [String::new(), String::new()];
        for (name, contender) in names.iter().zip(contenders) {
            let list = &mut lists[usize::from(!contender.is_tcp())];
            let keys = contender.keys();
            list.push_str(&format!(
                "{{ name = \"{name}\", from = \"{name}\", to = \"d\", app = {app}, {keys} }}, "
            ));
        }
        let [flows, endpoints] = lists;
        let jitter = if self.jitter { JITTER_MS } else { 0 };
        format!(
            "schema = 2\nname = \"path\"\nduration = \"{seconds}s\"\nsteady_from = \"{steady_from}s\"\n\
             jitter = \"{jitter}ms\"\nuntil_done = true\nnodes = [{hosts}\"r\", \"d\"]\n\
             links = [{access}{{ a = \"r\", b = \"d\", name = \"shared\", rate = \"{rate}\", \
             delay = \"{delay}ms\", queue = {queue}{loss} }}]\nbottleneck = \"shared\"\n\
             flows = [{flows}]\nendpoints = [{endpoints}]\n"
        )
    }

    /// Runs the contenders.
    ///
    /// # Errors
    ///
    /// As [`Bed::document`], or a connection has failed.
    pub(crate) fn run(&self, contenders: &[Contender], seed: u64) -> Result<Outcome, String> {
        let document = self.document(contenders)?;
        let watch = Watch::new(contenders.len());
        let (summary, watch) = on_seeded_thread(seed, || {
            let mut watch = watch;
            run(&document.scenario, seed, &mut watch).map(|summary| (summary, watch))
        })
        .map_err(|error| error.to_string())?;
        if let Some(flow) = summary.endpoints.iter().find(|flow| flow.failure.is_some()) {
            let reason = flow.failure.as_deref().unwrap_or_default();
            return Err(format!("{}: {reason}", flow.stack));
        }
        Ok(Outcome { summary, watch })
    }
}

/// A run, and what was seen of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) summary: Summary,
    pub(crate) watch: Watch,
}

impl Outcome {
    /// Mbit/s of each contender's application in the steady window, in their order.
    pub(crate) fn goodputs(&self, contenders: &[Contender]) -> Vec<f64> {
        let mut flows = self.summary.flows.iter().map(|flow| flow.mbit_per_s.steady);
        let mut endpoints =
            self.summary.endpoints.iter().map(|flow| flow.goodput_mbit_per_s.steady);
        let next = |contender: &Contender| match contender.is_tcp() {
            true => flows.next(),
            false => endpoints.next(),
        };
        contenders.iter().map(next).map(Option::unwrap_or_default).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_of_both_kinds_share_a_path() {
        let bed = Bed {
            rate: "10Mbit/s".into(),
            rtt_ms: 20.0,
            queue: "\"droptail\"".into(),
            loss: String::new(),
            seconds: 2.0,
            steady_from: 1.0,
            app: "{ kind = \"bulk\" }".into(),
            jitter: true,
        };
        let contenders =
            ["tcp/cubic", "fixed-window"].map(|name| name.parse().expect("a contender"));
        let outcome = bed.run(&contenders, 1).expect("a run");
        let [tcp, other] = outcome.goodputs(&contenders)[..] else { panic!("two flows") };
        // Ten datagrams in each round trip, which TCP's queue makes up to 140 ms long.
        assert!(other > 0.5 && tcp > 8.0 && tcp + other < 10.0, "{tcp} and {other} Mbit/s");
    }
}
