//! Whether flows and queue stay at the balance that [`link`](super::link()) finds.

use super::cycles::LinkFlow;
use super::parameters::Parameters;
use super::red::Red;

/// Steps of a round trip of the shortest flow.
const STEPS_PER_ROUND_TRIP: f64 = 40.0;
/// How long a disturbance is followed, in time constants of RED's average and in round trips of the
/// longest flow.
const TIME_CONSTANTS: f64 = 20.0;
const ROUND_TRIPS: f64 = 60.0;
/// Before numbers become too large or small, all are divided by the same.
const LARGE: f64 = 1e100;

/// The growth of a small disturbance of flows and queue around their balance, per second.
///
/// Windows, slopes, the queue and RED's average are linearised, with the delay of a round trip between
/// the average and a flow, and followed in time: differential equations with delays of different
/// lengths have no simpler answer. After Hollot, Misra, Towsley and Gong 2001, who linearise TCP with
/// RED for one round-trip time.
pub(super) fn growth_per_s(
    parameters: &Parameters,
    red: &Red,
    flows: &[LinkFlow],
    packets_per_s: f64,
    queue: f64,
) -> f64 {
    let shortest = flows.iter().map(|flow| flow.rtt_s).fold(f64::INFINITY, f64::min);
    let longest = flows.iter().map(|flow| flow.rtt_s).fold(0.0, f64::max);
    // Several steps in each delay, so that the delays are resolved.
    let step_s = shortest / STEPS_PER_ROUND_TRIP;
    // The average of RED forgets with each arrival.
    let forget_per_s = -(-red.weight).ln_1p() * packets_per_s;
    let end_s = (TIME_CONSTANTS / forget_per_s).max(ROUND_TRIPS * longest);
    let mut flows: Vec<Linear> = flows
        .iter()
        .map(|flow| Linear::new(parameters, flow, red.marked_share(queue), packets_per_s))
        .collect();
    let steepness = red.steepness(queue);
    let mut shares = History::new(longest, step_s);
    let [mut queue, mut average] = [1.0, 1.0];
    let steps = (end_s / step_s) as usize;
    let mut sizes = [f64::NEG_INFINITY; 2];
    let mut scale = 0.0;
    for step in 0..steps {
        // The deviation of the marked share: the average's, times the slope of RED's curve.
        shares.push(average * steepness);
        let arrivals: f64 = flows.iter_mut().map(|flow| flow.step(&shares, queue, step_s)).sum();
        // d average / dt = (queue - average) forget_per_s, d queue / dt = arrivals.
        let forget = forget_per_s * (queue - average) * step_s;
        queue += arrivals * step_s;
        average += forget;
        let size = flows.iter().map(Linear::size).sum::<f64>() + queue.abs() + average.abs();
        // The largest disturbance of the third quarter, and of the last: an oscillation has zeros.
        if step >= steps / 2 {
            let quarter = usize::from(step >= steps / 4 * 3);
            sizes[quarter] = f64::max(sizes[quarter], size.ln() + scale);
        }
        if !(LARGE.recip()..LARGE).contains(&size) {
            shares.divide(size);
            flows.iter_mut().for_each(|flow| flow.divide(size));
            queue /= size;
            average /= size;
            scale += size.ln();
        }
    }
    // The logarithm's growth from the third quarter to the last.
    (sizes[1] - sizes[0]) / (end_s / 4.0)
}

/// The marked share over the last round trip of the longest flow.
struct History {
    values: Vec<f64>,
    next: usize,
}

impl History {
    fn new(longest_s: f64, step_s: f64) -> History {
        History { values: vec![0.0; (longest_s / step_s) as usize + 2], next: 0 }
    }

    fn push(&mut self, value: f64) {
        self.values[self.next] = value;
        self.next = (self.next + 1) % self.values.len();
    }

    /// The value so many steps ago.
    fn ago(&self, steps: usize) -> f64 {
        let len = self.values.len();
        self.values[(self.next + len - 1 - steps.min(len - 1)) % len]
    }

    fn divide(&mut self, by: f64) {
        self.values.iter_mut().for_each(|value| *value /= by);
    }
}

/// A flow near its balance: the deviations of its window and its slope, and how they change.
struct Linear {
    window: f64,
    slope: f64,
    rtt_s: f64,
    /// Change of the window, per round trip, with the window, the slope and the marked share.
    of_window: [f64; 3],
    /// The same of the slope.
    of_slope: [f64; 3],
    /// Change of its rate with the queue: a longer one lengthens its round trip.
    rate_of_queue: f64,
}

impl Linear {
    fn new(parameters: &Parameters, flow: &LinkFlow, share: f64, packets_per_s: f64) -> Linear {
        let (window, slope) = (flow.flow.window, flow.flow.slope);
        let [cut, slope_cut] = [1.0 - parameters.alpha_window, 1.0 - parameters.alpha_slope];
        let rise = parameters.beta * flow.rtt_s * flow.rtt_s;
        // In a cycle there is a round trip that does not count, a pause, and the packets to the mark.
        let reductions = |marks: f64| 1.0 / (1.0 + cut + 1.0 / marks);
        // A cycle has one rise of the slope, and one more for each round trip without a mark.
        let rises = |marks: f64| reductions(marks) / (1.0 - (-marks).exp());
        let marks = share * window;
        // Partial derivatives by the marks in a round trip.
        let d_reductions = derivative(reductions, marks);
        let d_rises = derivative(rises, marks);
        Linear {
            window: 0.0,
            slope: 0.0,
            rtt_s: flow.rtt_s,
            // dW = slope - cut W reductions(share W), by W, slope and share.
            of_window: [
                -cut * (reductions(marks) + window * d_reductions * share),
                1.0,
                -cut * window * d_reductions * window,
            ],
            // d slope = rise rises(share W) - slope_cut slope reductions(share W), likewise.
            of_slope: [
                (rise * d_rises - slope_cut * slope * d_reductions) * share,
                -slope_cut * reductions(marks),
                (rise * d_rises - slope_cut * slope * d_reductions) * window,
            ],
            rate_of_queue: -flow.packets_per_s / (flow.rtt_s * packets_per_s),
        }
    }

    /// A step on; returns how its rate deviates, per second.
    fn step(&mut self, shares: &History, queue: f64, step_s: f64) -> f64 {
        // A flow feels the marks of one round trip ago.
        let share = shares.ago((self.rtt_s / step_s) as usize);
        let change = |of: &[f64; 3]| of[0] * self.window + of[1] * self.slope + of[2] * share;
        let (d_window, d_slope) = (change(&self.of_window), change(&self.of_slope));
        let rate = self.window / self.rtt_s + self.rate_of_queue * queue;
        self.window += d_window * step_s / self.rtt_s;
        self.slope += d_slope * step_s / self.rtt_s;
        rate
    }

    fn size(&self) -> f64 {
        self.window.abs() + self.slope.abs()
    }

    fn divide(&mut self, by: f64) {
        self.window /= by;
        self.slope /= by;
    }
}

fn derivative(of: impl Fn(f64) -> f64, at: f64) -> f64 {
    let step = 1e-4 * at;
    (of(at + step) - of(at - step)) / (2.0 * step)
}

#[cfg(test)]
mod tests {
    use crate::cycle_model::{Parameters, Red, link};

    fn growth_per_s(flows: usize, rtt_s: f64, packets_per_s: f64) -> f64 {
        let parameters = Parameters { window_limit: 1e6, cycles: 300, ..Parameters::default() };
        let red = Red { gentle: true, ..Red::default() };
        let rtts_s = vec![rtt_s; flows];
        link(&parameters, &red, &rtts_s, packets_per_s, 1).expect("a balance").growth_per_s
    }

    /// As with Reno (Hollot and others 2001): long round trips and fast links make RED unstable, more
    /// flows make it stable.
    #[test]
    fn long_round_trips_oscillate_and_more_flows_calm_them() {
        assert!(growth_per_s(4, 0.01, 2441.0) < 0.0);
        assert!(growth_per_s(4, 0.01, 24_410.0) > 0.0);
        assert!(growth_per_s(4, 0.05, 2441.0) > 1.0);
        assert!(growth_per_s(40, 0.05, 2441.0) < 0.0);
    }
}
