//! Early delivery to a destination: where an endpoint may process a packet before the event loop
//! reaches its arrival. [`Network`](super::Network) asks once, before the run, and marks the last hop of
//! each such path. Early delivery from hop to hop is decided in [`routes`](super::routes).
//!
//! A packet changes only its endpoint and the channel into which that endpoint sends. Suppose that all
//! traffic into that channel comes from endpoints that receive by one common channel, in order. Then
//! each of them may process a packet as soon as its arrival time is known, with that time as the
//! current one; the result is the same. The caller checks for each packet that no timer expires first.

use super::routes::Routes;

/// The endpoint of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// A TCP receiver, which only answers packets.
    Receiver,
    /// A TCP sender whose application does nothing after its start.
    Sender,
    /// A UDP sink, which answers nothing.
    UdpSink,
    Other,
}

/// The paths on each channel.
#[derive(Debug)]
pub(super) struct EarlyDelivery {
    channels: Vec<Users>,
}

/// The paths that a channel is on.
#[derive(Copy, Clone, Debug, Default)]
struct Users {
    count: u32,
    /// At least one path continues behind this channel.
    goes_on: bool,
    /// If all paths begin with this channel and answer packets of one other channel: that channel.
    answers_to: Option<u32>,
}

impl EarlyDelivery {
    /// `paths` are those of each flow, forward and back. The receivers of some flows send by themselves,
    /// and not only in answer.
    pub(super) fn new(
        routes: &Routes,
        paths: &[[u32; 2]],
        receiver_acts: impl Fn(usize) -> bool,
        channels: usize,
    ) -> EarlyDelivery {
        let mut early = EarlyDelivery { channels: vec![Users::default(); channels] };
        for (flow, &[forward, back]) in paths.iter().enumerate() {
            early.add(routes, forward, None);
            let answered = routes.channels(forward).last();
            early.add(routes, back, answered.filter(|_| !receiver_acts(flow)));
        }
        early
    }

    /// Adds a path; `answered` is the last channel of the path whose packets are answered on it.
    fn add(&mut self, routes: &Routes, path: u32, answered: Option<u32>) {
        let last = routes.channels(path).last();
        let mut answered = answered;
        for channel in routes.channels(path) {
            let users = &mut self.channels[channel as usize];
            if users.count == 0 {
                users.answers_to = answered;
            } else if users.answers_to != answered {
                users.answers_to = None;
            }
            users.count += 1;
            users.goes_on |= last != Some(channel);
            // A later channel of the path gets its packets from the one before it.
            answered = None;
        }
    }

    /// True if packets on `path` may be delivered early to their destination, which answers on
    /// `answers`.
    pub(super) fn is_possible(
        &self,
        routes: &Routes,
        path: u32,
        answers: u32,
        destination: Destination,
    ) -> bool {
        let (Some(last), Some(first)) =
            (routes.channels(path).last(), routes.channels(answers).next())
        else {
            return false;
        };
        let users = &self.channels[first as usize];
        let keeps_order = match destination {
            Destination::Receiver => users.answers_to == Some(last),
            // With an event on its way: otherwise a connection alone would run to its end within
            // one event.
            Destination::Sender => users.count == 1 && routes.has_event(answers),
            Destination::UdpSink => true,
            Destination::Other => false,
        };
        keeps_order && !self.channels[last as usize].goes_on
    }
}
