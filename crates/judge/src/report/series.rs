//! The part of a wire's record that a plot shows.

use crate::bed::{self, Event, EventKind, Wire};

/// The parts of the time of which each keeps its least and its largest value.
const BUCKETS: usize = 200;
/// A record with more packets than this has no sequence plot.
const PACKETS_MAX: usize = 600;

/// Seconds since the case began, and a value.
pub(super) type Point = (f64, f64);

/// The points of a case's plots.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The time of the last packet, in seconds since the case began.
    pub end: f64,
    /// FlightSize in bytes.
    pub flight: Vec<Point>,
    /// The window in bytes, where the sender shows it.
    pub cwnd: Vec<Point>,
    /// The packets, unless there are too many to see.
    pub packets: Option<Packets>,
}

/// The packets of a sequence plot, by time and offset in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packets {
    /// The ends of data sent for the first time.
    pub sent: Vec<Point>,
    /// The ends of data sent again.
    pub resent: Vec<Point>,
    /// Cumulative acknowledgments.
    pub acked: Vec<Point>,
}

impl Series {
    pub(super) fn new(wire: &Wire) -> Series {
        let events = wire.events();
        let end = events.last().map_or(0.0, |event| bed::seconds(event.at));
        let points = |value: &dyn Fn(&Event) -> Option<f64>| {
            let points =
                events.iter().filter_map(|event| Some((bed::seconds(event.at), value(event)?)));
            thinned(points, end)
        };
        Series {
            end,
            flight: points(&|event| Some(event.flight as f64)),
            cwnd: points(&|event| event.cwnd),
            packets: (events.len() <= PACKETS_MAX).then(|| packets(wire)),
        }
    }
}

fn packets(wire: &Wire) -> Packets {
    let (mut packets, mut acked) = (Packets::default(), 0);
    for event in wire.events() {
        let (at, segment) = (bed::seconds(event.at), &event.packet.segment);
        let end = wire.offset(segment.seq) + u64::from(segment.payload_len);
        match event.kind {
            EventKind::Arrived => {
                acked = wire.offset(segment.ack).max(acked);
                packets.acked.push((at, acked as f64));
            }
            EventKind::Sent if segment.payload_len > 0 => packets.sent.push((at, end as f64)),
            EventKind::Sent => {}
            EventKind::Resent => packets.resent.push((at, end as f64)),
        }
    }
    packets
}

/// The least and the largest value of each part of the time, in order. Values that repeat the one before are left
/// out, but for the last.
fn thinned(points: impl Iterator<Item = Point>, end: f64) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    let mut bucket: Vec<Point> = Vec::new();
    let mut number = 0;
    for point in points {
        let of = (point.0 / end.max(f64::MIN_POSITIVE) * BUCKETS as f64) as usize;
        if of != number {
            keep_extremes(&mut kept, &mut bucket);
            number = of;
        }
        bucket.push(point);
    }
    let last = bucket.last().copied();
    keep_extremes(&mut kept, &mut bucket);
    kept.extend(last.filter(|last| kept.last() != Some(last)));
    kept
}

/// The first, the extremes and the last of a bucket, which is empty then.
fn keep_extremes(kept: &mut Vec<Point>, bucket: &mut Vec<Point>) {
    let by_value = |a: &&Point, b: &&Point| a.1.total_cmp(&b.1);
    let (least, largest) = (bucket.iter().min_by(by_value), bucket.iter().max_by(by_value));
    let mut both: Vec<Point> = [least, largest].into_iter().flatten().copied().collect();
    both.sort_by(|a, b| a.0.total_cmp(&b.0));
    for point in both {
        if kept.last().is_none_or(|last| last.1 != point.1) {
            kept.push(point);
        }
    }
    bucket.clear();
}
