//! One file of arrivals through both queues: packets that no mark or drop slows down.

use super::bottleneck::{Bottleneck, Log};
use super::held::{Held, Parcel};
use std::io;
use windlass_base::{BitRate, Ecn, Rng, Span, Time};

/// Packets of one codepoint: the share of the link that they ask for, and how many come together.
struct Load(f64, u64);

/// A part of the file.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    not_ect: Load,
    ect0: Load,
    ect1: Load,
}

const NONE: Load = Load(0.0, 1);

pub(crate) const PARTS: [Part; 8] = [
    Part { name: "underload", not_ect: Load(0.3, 1), ect0: Load(0.1, 1), ect1: Load(0.3, 1) },
    Part { name: "bursts of ECT(1)", not_ect: Load(0.1, 1), ect0: NONE, ect1: Load(0.4, 12) },
    Part {
        name: "full, with bursts",
        not_ect: Load(0.5, 20),
        ect0: Load(0.2, 5),
        ect1: Load(0.3, 3),
    },
    Part { name: "coupled", not_ect: Load(0.6, 1), ect0: Load(0.35, 1), ect1: Load(0.1, 1) },
    Part { name: "coupled, little ECT(1)", not_ect: Load(1.1, 4), ect0: NONE, ect1: Load(0.02, 1) },
    Part { name: "overload of ECT(1)", not_ect: Load(0.1, 1), ect0: NONE, ect1: Load(1.2, 2) },
    Part { name: "overload of all", not_ect: Load(0.6, 1), ect0: Load(0.4, 1), ect1: Load(0.8, 1) },
    Part { name: "after it", not_ect: Load(0.4, 2), ect0: Load(0.2, 2), ect1: Load(0.3, 2) },
];

/// Sizes of packets, of which each tenth is as likely as the others.
const SIZES: [u32; 10] = [1500, 1500, 1500, 1500, 1500, 1500, 1500, 576, 576, 100];
const MEAN_BYTES: f64 = 1175.2;
/// Between the packets of a burst.
const SPACING: Span = Span::from_micros(50);

impl Part {
    fn loads(&self) -> [(Ecn, &Load); 3] {
        [(Ecn::NotEct, &self.not_ect), (Ecn::Ect0, &self.ect0), (Ecn::Ect1, &self.ect1)]
    }
}

/// When each part but the first begins.
pub(crate) fn begins(part: Span) -> Vec<Time> {
    (1..PARTS.len() as u64).map(|number| Time::ZERO + part * number).collect()
}

/// The file of a seed: arrivals in order of time.
pub(crate) fn file(seed: u64, rate: BitRate, part: Span) -> Vec<Parcel> {
    let mut parcels = vec![];
    for (number, each) in (0..).zip(&PARTS) {
        let begin = Time::ZERO + part * number;
        for (ecn, load) in each.loads() {
            let rng = &mut Rng::fork(seed, number * 4 + u64::from(ecn.bits()));
            parcels.extend(arrivals(rng, load, rate, begin, part).map(|(arrived, bytes)| Parcel {
                number: 0,
                arrived,
                bytes,
                came_with: ecn,
                ecn,
                content: None,
            }));
        }
    }
    parcels.sort_by_key(|parcel| parcel.arrived);
    for (number, parcel) in (0..).zip(&mut parcels) {
        parcel.number = number;
    }
    parcels
}

/// Bursts at times of a Poisson process: when each packet arrives, and its size.
fn arrivals<'a>(
    rng: &'a mut Rng,
    load: &'a Load,
    rate: BitRate,
    begin: Time,
    part: Span,
) -> impl Iterator<Item = (Time, u32)> + 'a {
    let bursts_per_s = load.0 * rate.bits_per_sec() as f64 / (8.0 * MEAN_BYTES * load.1 as f64);
    let (mut at, mut left) = (begin, 0);
    std::iter::from_fn(move || {
        if bursts_per_s == 0.0 {
            return None;
        }
        if left == 0 {
            left = load.1;
            at += Span::from_secs_f64(rng.exponential(1.0 / bursts_per_s));
        } else {
            at += SPACING;
        }
        left -= 1;
        let size = SIZES[rng.below(SIZES.len() as u64) as usize];
        (at < begin + part).then_some((at, size))
    })
}

/// Sends the packets of a file through a queue.
pub(crate) fn pass<Q: Held>(
    file: &[Parcel],
    queue: Q,
    rate: BitRate,
    part: Span,
) -> io::Result<Bottleneck<Q>> {
    let mut bottleneck = Bottleneck::new(queue, rate, Log::new(begins(part)));
    let mut through = vec![];
    for parcel in file {
        while let Some(due) = bottleneck.due().filter(|due| *due <= parcel.arrived) {
            bottleneck.advance(due, &mut through)?;
        }
        bottleneck.arrive(parcel.arrived, parcel.clone())?;
        through.clear();
    }
    while let Some(due) = bottleneck.due() {
        bottleneck.advance(due, &mut through)?;
    }
    Ok(bottleneck)
}
