//! Flows behind one RED queue: finds the average queue at which they fill the link.

use super::cycles::{LinkFlow, flow};
use super::parameters::Parameters;
use super::red::Red;
use super::stability;
use crate::summary::fairness_index;
use core::fmt;

/// Steps of the search for the average: they halve the span of the thresholds.
const STEPS: u32 = 24;
/// Cycles of each flow while the average is looked for, at most.
const ROUGH_CYCLES: u32 = 2_000;
/// The packet on the link waits behind none, but is waited for: half of it in the mean.
const IN_TRANSMISSION: f64 = 0.5;

/// Flows and queue in balance.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// The queue's length, which is its average as well, in packets.
    pub queue: f64,
    /// The share of packets that is marked.
    pub marked_share: f64,
    /// Jain's index of the rates.
    pub fairness_index: f64,
    /// How fast a small disturbance grows, per second; below 0 it dies away and the balance is stable.
    pub growth_per_s: f64,
    /// The flows in their order.
    pub flows: Vec<LinkFlow>,
}

/// The flows fill the link even where RED lets no packet pass unharmed. It would drop packets, which
/// the model does not have.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NoEquilibrium;

impl fmt::Display for NoEquilibrium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "there is no balance: RED would have to drop packets, and the model has no losses",
        )
    }
}

impl core::error::Error for NoEquilibrium {}

/// Flows with these round-trip times (in seconds, without the queue) behind a RED queue, in front of a
/// link of `packets_per_s`. Finds the average queue at which they fill the link.
///
/// # Errors
///
/// [`NoEquilibrium`] if there is none.
pub fn link(
    parameters: &Parameters,
    red: &Red,
    rtts_s: &[f64],
    packets_per_s: f64,
    seed: u64,
) -> Result<Equilibrium, NoEquilibrium> {
    let at = |queue: f64, cycles: u32| {
        let parameters = Parameters { cycles, ..parameters.clone() };
        flows_at(&parameters, red, rtts_s, packets_per_s, queue, seed)
    };
    let fills = |queue: f64| total(&at(queue, ROUGH_CYCLES.min(parameters.cycles))) > packets_per_s;
    let [mut low, mut high] = [red.thresholds[0], red.certain()];
    if fills(high) {
        return Err(NoEquilibrium);
    }
    // Bisection: a longer queue marks more packets, so rates fall.
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if fills(middle) { low = middle } else { high = middle }
    }
    let queue = f64::midpoint(low, high);
    let flows = at(queue, parameters.cycles);
    let rates: Vec<f64> = flows.iter().map(|flow| flow.packets_per_s).collect();
    Ok(Equilibrium {
        queue,
        marked_share: red.marked_share(queue),
        fairness_index: fairness_index(&rates).unwrap_or(1.0),
        growth_per_s: stability::growth_per_s(parameters, red, &flows, packets_per_s, queue),
        flows,
    })
}

fn flows_at(
    parameters: &Parameters,
    red: &Red,
    rtts_s: &[f64],
    packets_per_s: f64,
    queue: f64,
    seed: u64,
) -> Vec<LinkFlow> {
    let share = red.marked_share(queue);
    (0..)
        .zip(rtts_s)
        .map(|(number, base_s)| {
            // The round trip with the queue; in balance the average is the queue.
            let rtt_s = base_s + (queue + IN_TRANSMISSION) / packets_per_s;
            let flow = flow(parameters, rtt_s, share, seed.wrapping_add(number));
            LinkFlow { rtt_s, packets_per_s: flow.packets_per_round_trip / rtt_s, flow }
        })
        .collect()
}

fn total(flows: &[LinkFlow]) -> f64 {
    flows.iter().map(|flow| flow.packets_per_s).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flows_fill_the_link() {
        let rtts_s = [0.19, 0.07, 0.03, 0.004];
        let found =
            link(&Parameters::default(), &Red::default(), &rtts_s, 2441.0, 1).expect("a balance");
        let sum = total(&found.flows);
        assert!((0.97..1.03).contains(&(sum / 2441.0)), "{sum}");
        assert!((10.0..20.0).contains(&found.queue), "{}", found.queue);
        assert_eq!(found.flows.len(), 4);
    }

    #[test]
    fn too_many_flows_have_no_balance() {
        let rtts_s = [0.004; 40];
        let found = link(&Parameters::default(), &Red::default(), &rtts_s, 488.0, 1);
        assert_eq!(found, Err(NoEquilibrium));
    }
}
