//! The simple model of T. Hamann, "A New Fair Window Algorithm for ECN Capable TCP (New-ECN)",
//! 1999, section 3.2 and appendix A: two connections, one RED queue, time in steps of 10 ms.
//!
//! Round-trip times are constant and no packet is lost. A sender reacts to a mark one round-trip time
//! later.

use crate::summary::fairness_index;
use serde::Serialize;
use windlass_base::Rng;

/// How the packets of one step find the queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// As the paper's listing is printed: each packet finds the queue and the average as the last
    /// step left them, so that the packets of a step do not pile up.
    Printed,
    /// Each packet finds what the one before it left.
    Accumulate,
}

impl Arrivals {
    /// Both, for lists of choices.
    pub const ALL: [Arrivals; 2] = [Arrivals::Printed, Arrivals::Accumulate];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Arrivals::Printed => "printed",
            Arrivals::Accumulate => "accumulate",
        }
    }
}

/// The model's parameters. The default has those of section 3.2, with 3000 steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// How packets find the queue.
    pub arrivals: Arrivals,
    /// Steps, the initial state among them. The listing has 500.
    pub steps: u32,
    /// Rate of the bottleneck in bits per second.
    pub link_bits_per_s: f64,
    /// Rate of each connection's own link in bits per second; it bounds the window.
    pub access_bits_per_s: f64,
    /// Round-trip times of connections X and Y in steps.
    pub rtt_steps: [u32; 2],
    /// Windows at the beginning, in packets; the listing's line is lost, 1 fits its figures.
    pub start_windows: [f64; 2],
    /// New-ECN's factor of the window at a mark.
    pub alpha_window: f64,
    /// New-ECN's factor of the window slope at a mark.
    pub alpha_slope: f64,
    /// New-ECN's growth of the slope, per squared second.
    pub beta: f64,
    /// RED's marking probability at the upper threshold.
    pub max_p: f64,
    /// RED's thresholds in packets.
    pub thresholds: [f64; 2],
    /// RED's weight of a sample.
    pub weight: f64,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            arrivals: Arrivals::Printed,
            steps: 3_000,
            link_bits_per_s: 5e6,
            access_bits_per_s: 5e6,
            rtt_steps: [4, 2],
            start_windows: [1.0, 1.0],
            alpha_window: 0.9,
            alpha_slope: 0.7,
            beta: 16.0,
            max_p: 0.25,
            thresholds: [10.0, 20.0],
            weight: 0.002,
        }
    }
}

/// Results of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Jain's index of the mean rates.
    pub fairness_index: f64,
    /// Mean windows of X and Y in packets.
    pub mean_windows: [f64; 2],
    /// Mean rates of X and Y in bits per second.
    pub mean_rates_bits_per_s: [f64; 2],
    /// Packets of X and Y that were marked.
    pub marks: [u64; 2],
    /// The windows after every step.
    pub windows: [Vec<f64>; 2],
    /// The queue after every step, in packets.
    pub queue: Vec<f64>,
}

/// Length of a step in seconds.
pub const STEP_S: f64 = 10e-3;
/// Bits of a packet.
pub const PACKET_BITS: f64 = 512.0 * 8.0;
/// The slow start threshold at the beginning, in packets: a window field without scaling.
const INITIAL_SSTHRESH: f64 = 65_535.0 * 8.0 / PACKET_BITS;

/// Runs the model; the same parameters and seed give the same outcome.
pub fn simulate(parameters: &Parameters, seed: u64) -> Outcome {
    let mut sources = [0, 1].map(|which| Source::new(parameters, which));
    let mut router = Router::new(parameters, Rng::new(seed));
    let mut queue = vec![0.0];
    for step in 1..parameters.steps {
        let arrivals = sources.each_mut().map(|source| source.step(parameters, step));
        let marks = router.step(arrivals);
        for (source, marks) in sources.iter_mut().zip(marks) {
            source.marks.push(marks);
        }
        queue.push(router.queue);
    }
    outcome(parameters, sources, queue)
}

fn outcome(parameters: &Parameters, sources: [Source; 2], queue: Vec<f64>) -> Outcome {
    let windows = sources.each_ref().map(|source| mean(&source.windows));
    let rates = [0, 1].map(|which| {
        windows[which] * PACKET_BITS / (f64::from(parameters.rtt_steps[which]) * STEP_S)
    });
    Outcome {
        fairness_index: fairness_index(&rates).unwrap_or(1.0),
        mean_windows: windows,
        mean_rates_bits_per_s: rates,
        marks: sources.each_ref().map(|source| source.marks.iter().map(|&n| u64::from(n)).sum()),
        windows: sources.map(|source| source.windows),
        queue,
    }
}

fn mean(values: &[f64]) -> f64 {
    // An empty sum of floats is -0.
    (0.0 + values.iter().sum::<f64>()) / values.len().max(1) as f64
}

/// A New-ECN connection.
#[derive(Debug)]
struct Source {
    rtt_steps: u32,
    largest_window: f64,
    ssthresh: f64,
    slope: f64,
    /// In slow start the window doubles from `base` in `rtt_steps` steps, `progress` of which lie
    /// behind. A cut leaves the base as it is: the window climbs from it again.
    base: f64,
    progress: u32,
    seen_mark: bool,
    /// Steps at which the slope last grew (or a mark was felt), and at which it was last cut.
    last_growth: u32,
    last_cut: u32,
    /// Fractions of packets that were not sent yet.
    carry: f64,
    /// By step: the window, and the packets marked.
    windows: Vec<f64>,
    marks: Vec<u32>,
}

impl Source {
    fn new(parameters: &Parameters, which: usize) -> Source {
        let rtt_steps = parameters.rtt_steps[which].max(1);
        let start = parameters.start_windows[which];
        let rtt_s = f64::from(rtt_steps) * STEP_S;
        Source {
            rtt_steps,
            largest_window: parameters.access_bits_per_s * rtt_s / PACKET_BITS,
            ssthresh: INITIAL_SSTHRESH,
            slope: 1.0,
            base: start,
            progress: 1,
            seen_mark: false,
            last_growth: 0,
            last_cut: 0,
            carry: 0.0,
            windows: vec![start],
            marks: vec![0],
        }
    }

    /// Moves the window by one step; how many packets then reach the router.
    fn step(&mut self, parameters: &Parameters, step: u32) -> u32 {
        let window = self.windows[step as usize - 1];
        let marks_felt = step.checked_sub(self.rtt_steps).map(|sent| self.marks[sent as usize]);
        let next = match marks_felt {
            None => self.grow(window, 1.0),
            Some(0) => {
                self.grow_slope(parameters, step);
                self.grow(window, self.slope)
            }
            Some(_) => self.cut(parameters, step, window),
        };
        self.windows.push(next);
        self.send(next)
    }

    fn grow(&mut self, window: f64, slope: f64) -> f64 {
        let per_step = slope / f64::from(self.rtt_steps);
        // Congestion avoidance adds the slope per round trip, slow start doubles.
        if window >= self.ssthresh {
            return self.largest_window.min(window + per_step);
        }
        let next = self.base + self.base * per_step * f64::from(self.progress);
        let next = self.largest_window.min(next);
        if self.progress >= self.rtt_steps {
            self.base = next;
            self.progress = 1;
        } else {
            self.progress += 1;
        }
        next
    }

    /// The slope grows once a round trip, from the first mark on.
    fn grow_slope(&mut self, parameters: &Parameters, step: u32) {
        if self.seen_mark && step >= self.last_growth + self.rtt_steps {
            let rtt_s = f64::from(self.rtt_steps) * STEP_S;
            // Hamann 1999, section 3.2: by beta RTT².
            self.slope += parameters.beta * rtt_s * rtt_s;
            self.last_growth = step;
        }
    }

    /// A mark is felt: at most one cut a round trip. The first leaves slope and ssthresh alone.
    fn cut(&mut self, parameters: &Parameters, step: u32, window: f64) -> f64 {
        self.last_growth = step;
        if self.seen_mark && step < self.last_cut + self.rtt_steps {
            return window;
        }
        // Hamann 1999, section 3.2: alpha_wnd, and alpha_slp from the second mark on.
        let next = window * parameters.alpha_window;
        if self.seen_mark {
            self.slope *= parameters.alpha_slope;
            self.ssthresh = f64::max(next / 2.0, 1.0);
        }
        self.seen_mark = true;
        self.last_cut = step;
        next
    }

    /// Whole packets that a window sends in one step; fractions are carried over.
    fn send(&mut self, window: f64) -> u32 {
        let due = libm::floor(window) / f64::from(self.rtt_steps);
        let whole = libm::floor(due);
        self.carry += due - whole;
        let carried = libm::floor(self.carry);
        self.carry -= carried;
        (whole + carried) as u32
    }
}

/// The RED gateway in front of the bottleneck.
#[derive(Debug)]
struct Router<'a> {
    parameters: &'a Parameters,
    rng: Rng,
    /// Packets that the link takes in a step.
    served_per_step: f64,
    queue: f64,
    average: f64,
    idle_s: f64,
    /// Packets since the last mark; -1: the average was outside the thresholds.
    count: i64,
    /// The draw that the count is held against.
    draw: f64,
}

impl Router<'_> {
    fn new(parameters: &Parameters, mut rng: Rng) -> Router<'_> {
        Router {
            parameters,
            served_per_step: parameters.link_bits_per_s * STEP_S / PACKET_BITS,
            queue: 0.0,
            average: 0.0,
            idle_s: 0.0,
            count: -1,
            draw: rng.uniform(),
            rng,
        }
    }

    /// The packets of a step arrive and are served; how many of each connection are marked.
    fn step(&mut self, arrivals: [u32; 2]) -> [u32; 2] {
        let total = arrivals[0] + arrivals[1];
        if total == 0 {
            self.pass_empty_step();
            return [0, 0];
        }
        // The link serves its share after each packet.
        let share = self.served_per_step / f64::from(total);
        let mut served = 0.0;
        let mut marks = [0, 0];
        let before = (self.queue, self.average);
        let mut order = Interleaved::new(arrivals);
        for _ in 0..total {
            if self.parameters.arrivals == Arrivals::Printed {
                (self.queue, self.average) = before;
            }
            self.queue += 1.0;
            // RED's average, at each arrival.
            self.average += self.parameters.weight * (self.queue - self.average);
            self.idle_s = 0.0;
            marks[order.next()] += u32::from(self.chooses());
            if served <= self.served_per_step {
                self.queue = f64::max(0.0, self.queue - share);
                served += share;
            }
        }
        marks
    }

    /// A step without arrivals: the queue is served, or idle time counts.
    fn pass_empty_step(&mut self) {
        if self.queue == 0.0 {
            self.idle_s += STEP_S;
        }
        self.queue = f64::max(0.0, self.queue - libm::floor(self.served_per_step));
        let weight = self.parameters.weight;
        if self.queue > 0.0 {
            self.average += weight * (self.queue - self.average);
        } else {
            let service_s = PACKET_BITS / self.parameters.link_bits_per_s;
            // RED's average after idle time (Floyd and Jacobson 1993, section 4).
            self.average *= libm::pow(1.0 - weight, self.idle_s / service_s);
        }
    }

    /// Whether RED marks the packet that has just arrived: once the count reaches a uniform draw
    /// over the probability.
    fn chooses(&mut self) -> bool {
        let [min, max] = self.parameters.thresholds;
        if self.average < min || self.average >= max {
            self.count = -1;
            return self.average >= max;
        }
        self.count += 1;
        // p_b of Floyd and Jacobson 1993.
        let probability = self.parameters.max_p * (self.average - min) / (max - min);
        let marked = self.count > 0 && self.count as f64 >= self.draw / probability;
        if marked {
            self.count = 0;
        }
        if self.count == 0 {
            self.draw = self.rng.uniform();
        }
        marked
    }
}

/// The order in which the packets of a step arrive: the connection that has more of them sends
/// about as many for each packet of the other as their ratio says.
#[derive(Debug)]
struct Interleaved {
    /// Packets left of each.
    left: [u32; 2],
    /// The connection with more packets.
    major: usize,
    ratio: f64,
    /// Packets of the major connection before the next of the other, and the ratio's fraction that
    /// is still owed.
    run: f64,
    owed: f64,
}

impl Interleaved {
    fn new(packets: [u32; 2]) -> Interleaved {
        let major = usize::from(packets[1] > packets[0]);
        let ratio = f64::from(packets[major]) / f64::from(packets[1 - major].max(1));
        let run = libm::floor(ratio);
        Interleaved { left: packets, major, ratio, run, owed: ratio - run }
    }

    /// The index of the connection that sends the next packet. At least one packet must be left.
    fn next(&mut self) -> usize {
        let minor = 1 - self.major;
        let majors_turn = self.run >= 1.0 || self.left[minor] == 0;
        let which = if majors_turn && self.left[self.major] > 0 { self.major } else { minor };
        if which == self.major {
            self.run -= 1.0;
        } else {
            let due = self.ratio + self.owed;
            self.run = libm::floor(due);
            self.owed = due - self.run;
        }
        self.left[which] = self.left[which].saturating_sub(1);
        which
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fairness index and windows of X and Y, averaged over 20 seeds.
    fn means(parameters: &Parameters) -> [f64; 3] {
        let outcomes: Vec<Outcome> = (0..20).map(|seed| simulate(parameters, seed)).collect();
        let over = |figure: fn(&Outcome) -> f64| {
            outcomes.iter().map(figure).sum::<f64>() / outcomes.len() as f64
        };
        [
            over(|outcome| outcome.fairness_index),
            over(|outcome| outcome.mean_windows[0]),
            over(|outcome| outcome.mean_windows[1]),
        ]
    }

    fn assert_near(measured: [f64; 3], fairness: f64, windows: [f64; 2]) {
        assert!((measured[0] - fairness).abs() < 0.015, "{measured:?}: fairness {fairness}");
        for (measured, window) in measured[1..].iter().zip(windows) {
            assert!((measured / window - 1.0).abs() < 0.1, "mean window {measured}, not {window}");
        }
    }

    #[test]
    fn the_printed_model_gives_the_papers_fairness_and_windows() {
        let measured = means(&Parameters::default());
        assert!(measured[0] >= 0.98, "fairness index {}", measured[0]);
        assert_near(measured, 0.992, [17.9, 10.6]);
        let listing = Parameters { steps: 500, ..Parameters::default() };
        assert_near(means(&listing), 0.9987, [21.4, 11.4]);
    }

    #[test]
    fn packets_that_pile_up_shrink_the_windows() {
        let arrivals = Arrivals::Accumulate;
        let piled = |steps| Parameters { arrivals, steps, ..Parameters::default() };
        assert_near(means(&piled(500)), 0.983, [13.3, 8.5]);
        assert_near(means(&piled(3_000)), 0.943, [9.5, 7.8]);
    }

    #[test]
    fn the_link_rate_moves_the_windows_as_in_the_reference() {
        for (rate, fairness, windows) in
            [(4e6, 0.9885, [15.2, 9.4]), (6e6, 0.9935, [21.1, 12.4]), (8e6, 0.9971, [30.0, 16.7])]
        {
            let parameters = Parameters { link_bits_per_s: rate, ..Parameters::default() };
            assert_near(means(&parameters), fairness, windows);
        }
    }

    #[test]
    fn a_step_interleaves_its_packets() {
        let order = |packets: [u32; 2]| -> Vec<usize> {
            let mut order = Interleaved::new(packets);
            (0..packets[0] + packets[1]).map(|_| order.next()).collect()
        };
        assert_eq!(order([2, 1]), [0, 0, 1]);
        assert_eq!(order([1, 3]), [1, 1, 1, 0]);
        assert_eq!(order([0, 2]), [1, 1]);
        assert_eq!(order([3, 2]), [0, 1, 0, 0, 1]);
    }
}
