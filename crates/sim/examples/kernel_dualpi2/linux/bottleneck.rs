//! A transmitter, the queue in front of it, and a log of its packets.

use super::held::{Held, Parcel};
use std::io;
use windlass_base::{BitRate, Ecn, Span, Time};

/// The packets of one codepoint that arrived in one part of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fates {
    pub(crate) arrived: u64,
    pub(crate) marked: u64,
    pub(crate) dropped: u64,
    pub(crate) bytes_sent: u64,
    /// The times in milliseconds from arrivals to transmissions.
    pub(crate) waited_ms: Vec<f64>,
}

impl Fates {
    pub(crate) fn mean_wait_ms(&self) -> f64 {
        self.waited_ms.iter().sum::<f64>() / self.waited_ms.len() as f64
    }

    /// The wait that a share of the packets does not exceed.
    pub(crate) fn wait_ms(&self, share: f64) -> f64 {
        let mut waits = self.waited_ms.clone();
        waits.sort_by(f64::total_cmp);
        let index = (share * waits.len() as f64) as usize;
        waits.get(index.min(waits.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }
}

/// The fates of all packets, by the part of the run in which they arrived and their codepoint.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// When each part but the first begins.
    begins: Vec<Time>,
    parts: Vec<[Fates; 4]>,
}

impl Log {
    pub(crate) fn new(begins: Vec<Time>) -> Log {
        let parts = vec![Default::default(); begins.len() + 1];
        Log { begins, parts }
    }

    pub(crate) fn part(&self, part: usize, ecn: Ecn) -> &Fates {
        &self.parts[part][usize::from(ecn.bits())]
    }

    fn of(&mut self, parcel: &Parcel) -> &mut Fates {
        let part = self.begins.partition_point(|begin| *begin <= parcel.arrived);
        &mut self.parts[part][usize::from(parcel.came_with.bits())]
    }
}

/// A link with a queue in front of it.
pub(crate) struct Bottleneck<Q> {
    pub(crate) queue: Q,
    pub(crate) log: Log,
    rate: BitRate,
    /// The packet on the wire, and the end of its transmission.
    sending: Option<(Parcel, Time)>,
    lost: Vec<Parcel>,
}

impl<Q: Held> Bottleneck<Q> {
    pub(crate) fn new(queue: Q, rate: BitRate, log: Log) -> Bottleneck<Q> {
        Bottleneck { queue, log, rate, sending: None, lost: vec![] }
    }

    /// When the packet on the wire is through.
    pub(crate) fn due(&self) -> Option<Time> {
        self.sending.as_ref().map(|(_, end)| *end)
    }

    pub(crate) fn arrive(&mut self, now: Time, parcel: Parcel) -> io::Result<()> {
        self.log.of(&parcel).arrived += 1;
        self.queue.offer(now, parcel, &mut self.lost)?;
        if self.sending.is_none() {
            self.send(now)?;
        }
        self.count_lost();
        Ok(())
    }

    /// The transmissions that have ended until `now`. Appends their packets to `out`.
    pub(crate) fn advance(&mut self, now: Time, out: &mut Vec<Parcel>) -> io::Result<()> {
        while let Some(end) = self.due().filter(|end| *end <= now) {
            out.extend(self.sending.take().map(|(parcel, _)| parcel));
            self.send(end)?;
        }
        self.count_lost();
        Ok(())
    }

    fn send(&mut self, now: Time) -> io::Result<()> {
        let Some(parcel) = self.queue.take(now, &mut self.lost)? else { return Ok(()) };
        let waited = now.saturating_since(parcel.arrived);
        let fates = self.log.of(&parcel);
        fates.waited_ms.push(waited.as_millis_f64());
        fates.bytes_sent += u64::from(parcel.bytes);
        fates.marked += u64::from(parcel.ecn != parcel.came_with);
        let took: Span = self.rate.transmission_time(parcel.bytes);
        self.sending = Some((parcel, now + took));
        Ok(())
    }

    fn count_lost(&mut self) {
        for parcel in std::mem::take(&mut self.lost) {
            self.log.of(&parcel).dropped += 1;
        }
    }
}
