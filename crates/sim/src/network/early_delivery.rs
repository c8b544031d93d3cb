//! Where a packet needs no event at its destination.
//!
//! What an endpoint does about a packet changes the endpoint, and the channel into which it sends. If
//! all that enters that channel comes from endpoints which get their packets by one and the same
//! channel, in order, then they may take each packet as soon as its arrival is known, at the time of
//! its arrival: nobody can tell the difference. Left to be looked at for every packet is whether a
//! timer comes first.

use super::routes::Routes;

/// Who is at the end of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// A receiver of TCP: it answers packets and does nothing else.
    Receiver,
    /// A sender of TCP whose application does nothing any more, once it has started.
    Sender,
    /// It answers nothing.
    UdpSink,
    Other,
}

/// Who uses the channels.
#[derive(Debug)]
pub(super) struct EarlyDelivery {
    channels: Vec<Users>,
}

/// The paths that a channel is on.
#[derive(Copy, Clone, Debug, Default)]
struct Users {
    count: u32,
    /// At least one does not end with it.
    goes_on: bool,
    /// All begin with it, and are for the answers to what comes by one and the same channel: this.
    answers_to: Option<u32>,
}

impl EarlyDelivery {
    /// `paths` are those of each flow, forward and back.
    pub(super) fn new(routes: &Routes, paths: &[[u32; 2]], channels: usize) -> EarlyDelivery {
        let mut ahead = EarlyDelivery { channels: vec![Users::default(); channels] };
        for &[forward, back] in paths {
            ahead.add(routes, forward, None);
            ahead.add(routes, back, routes.channels(forward).last());
        }
        ahead
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
            // What is not the first channel gets its packets from another one.
            answered = None;
        }
    }

    /// True if packets on `path` may be taken ahead by their destination, which answers on
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
            // With an event on its way, or a connection alone would run ahead to the end.
            Destination::Sender => users.count == 1 && routes.has_event(answers),
            Destination::UdpSink => true,
            Destination::Other => false,
        };
        keeps_order && !self.channels[last as usize].goes_on
    }
}
