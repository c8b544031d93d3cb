//! Windows and reductions of a bulk sender, as its packets show them.

use super::{Bed, EventKind, Fate, PAYLOAD, Wire};
use crate::case::Fault;
use windlass_base::{Ecn, Span, Time};

/// The longest time that a program waits for a reaction.
const PATIENCE: Span = Span::from_secs(20);

/// A reduction of the window, in full segments.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Cut {
    /// The largest flight before it.
    pub(crate) before: f64,
    /// The largest flight in the round trip after it, or after the repair that it began with.
    pub(crate) after: f64,
    /// The end of the repair, or of the window of data with the mark.
    pub(crate) at: Time,
}

impl Cut {
    /// The part of the window that is left.
    pub(crate) fn factor(&self) -> f64 {
        self.after / self.before
    }
}

impl Wire {
    /// The largest flight that a packet with data made, from `since` on, in full segments.
    pub(crate) fn peak_since(&self, since: Time) -> f64 {
        let recent = self.events().iter().rev().take_while(|event| event.at >= since);
        let flights = recent.filter(|event| event.kind != EventKind::Arrived);
        flights.map(|event| event.flight).max().unwrap_or(0) as f64 / PAYLOAD as f64
    }

    /// The same up to the first report of a hole.
    fn peak_until_hole(&self, since: Time) -> f64 {
        let since = self.events().iter().skip_while(|event| event.at < since);
        let sent = since
            .take_while(|event| {
                event.kind != EventKind::Arrived || event.packet.segment.options.sack.is_empty()
            })
            .filter(|event| event.kind == EventKind::Sent);
        sent.map(|event| event.flight).max().unwrap_or(0) as f64 / PAYLOAD as f64
    }

    /// The codepoint of the newest packet with new data; `None` before the first.
    pub(crate) fn codepoint(&self) -> Option<Ecn> {
        let data = |event: &&super::Event| {
            event.kind == EventKind::Sent && event.packet.segment.payload_len > 0
        };
        self.events().iter().rev().find(data).map(|event| event.packet.ecn)
    }
}

/// Steps of programs for a bulk sender.
impl Bed {
    /// The round-trip time without a queue.
    pub(crate) fn rtt(&self) -> Span {
        Span::from_millis(self.path.rtt_ms)
    }

    /// Lets time pass until `at`.
    pub(crate) fn run_to(&mut self, at: Time) {
        self.run_for(at.saturating_since(self.now));
    }

    /// Runs until so many full segments are in flight.
    ///
    /// # Errors
    ///
    /// They never are.
    pub(crate) fn grow_to(&mut self, segments: f64) -> Result<(), Fault> {
        match self.run_until(PATIENCE, |bed| bed.flight_segments() >= segments) {
            true => Ok(()),
            false => Err(Fault::Failed(format!("never {segments} segments in flight"))),
        }
    }

    /// Runs until the data in flight is acknowledged. Returns the largest flight meanwhile, in full segments: the
    /// window of a bulk sender.
    ///
    /// # Errors
    ///
    /// It is not acknowledged.
    pub(crate) fn round_trip(&mut self) -> Result<f64, Fault> {
        let (from, end) = (self.now, self.wire.sent());
        self.run_until_acked(end)?;
        Ok(self.wire.peak_since(from))
    }

    /// Runs until `end`, an offset, is acknowledged.
    ///
    /// # Errors
    ///
    /// It is not.
    pub(crate) fn run_until_acked(&mut self, end: u64) -> Result<(), Fault> {
        match self.run_until(PATIENCE, |bed| bed.wire.acked() >= end) {
            true => Ok(()),
            false => Err(Fault::Failed(format!("byte {end} is never acknowledged"))),
        }
    }

    /// The window in full segments: the largest flight of the last round trip.
    pub(crate) fn window(&self) -> f64 {
        let ago = self.now.as_nanos().saturating_sub(self.rtt().as_nanos());
        self.wire.peak_since(Time::from_nanos(ago))
    }

    /// Loses the next segment, and lets the sender repair it.
    ///
    /// # Errors
    ///
    /// It does not.
    pub(crate) fn lose_next(&mut self) -> Result<Cut, Fault> {
        self.next_data(1, Fate::Drop);
        self.repair()
    }

    /// Lets the sender repair what is lost from now on.
    ///
    /// # Errors
    ///
    /// It does not.
    pub(crate) fn repair(&mut self) -> Result<Cut, Fault> {
        let (from, resent) = (self.now, self.wire.resent());
        if !self.run_until(PATIENCE, |bed| bed.wire.resent() > resent) {
            return Err(Fault::Failed("nothing is sent again".to_owned()));
        }
        let before = self.wire.peak_until_hole(from);
        self.run_until_acked(self.wire.sent())?;
        let at = self.now;
        Ok(Cut { before, after: self.round_trip()?, at })
    }

    /// Marks the next segments, and lets the sender react.
    ///
    /// # Errors
    ///
    /// The data is Not-ECT: not observable.
    pub(crate) fn mark(&mut self, packets: u32) -> Result<Cut, Fault> {
        self.demand_ect()?;
        let from = self.now;
        self.next_data(packets, Fate::Mark);
        // The ACK that reports the first of them.
        self.run_until_acked(self.wire.sent() + 1)?;
        let before = self.wire.peak_since(from);
        self.run_until_acked(self.wire.sent())?;
        let at = self.now;
        Ok(Cut { before, after: self.round_trip()?, at })
    }

    /// Whether new data is ECT.
    ///
    /// # Errors
    ///
    /// It is not, so that no reaction to marks can be seen.
    pub(crate) fn demand_ect(&self) -> Result<(), Fault> {
        match self.wire.codepoint() {
            Some(Ecn::NotEct) | None => {
                Err(Fault::NotObservable("its data is not ECT, so it gets no marks".to_owned()))
            }
            Some(_) => Ok(()),
        }
    }

    /// Loses everything from now on, until a timeout sends the first lost segment again. Returns the largest flight
    /// before it, in full segments, when the retransmission has been acknowledged.
    ///
    /// # Errors
    ///
    /// Nothing is sent again.
    pub(crate) fn time_out(&mut self) -> Result<f64, Fault> {
        let (from, edge) = (self.now, self.wire.sent());
        let (mut first, mut over) = (None, false);
        self.on_data(move |packet, again| {
            let first = *first.get_or_insert(packet.segment.seq);
            over |= again && packet.segment.seq == first;
            if over { Fate::Pass } else { Fate::Drop }
        });
        self.run_until_acked(edge + 1)?;
        let sent = self
            .wire
            .events()
            .iter()
            .filter(|event| event.at >= from && event.kind == EventKind::Sent);
        Ok(sent.map(|event| event.flight).max().unwrap_or(0) as f64 / PAYLOAD as f64)
    }

    /// Lets a span pass, and counts the packets with data that leave in it.
    pub(crate) fn packets_in(&mut self, span: Span) -> f64 {
        let before = self.wire.events().len();
        self.run_for(span);
        let data = self.wire.events()[before..].iter().filter(|event| {
            event.kind != EventKind::Arrived && event.packet.segment.payload_len > 0
        });
        data.count() as f64
    }
}
