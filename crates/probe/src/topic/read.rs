//! A connection that reads an answer of HTTP: its head, and the beginning of its body where that matters.

use super::Ending;
use super::Report;
use super::channel::Channel;
use super::run::{Next, Run, Setup};
use crate::http::{Head, unchunked};
use windlass_base::Time;

/// The part of a body that is kept, in bytes.
pub(crate) const KEPT_BYTES: usize = 64 * 1024;

/// The task of a connection that reads an answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// A page that may be measured. Its body is read if it is HTML of less than `enough` bytes, or if its head does
    /// not state its length.
    Page {
        /// The bytes that suffice for a measurement.
        enough: u64,
    },
    /// A text of which the first 64 KiB are read.
    Text,
}

/// The body of an answer as far as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Body {
    /// Its first 64 KiB, without the framing of chunks.
    pub begin: Vec<u8>,
    /// All bytes that arrived, with the framing.
    pub bytes: u64,
    /// Whether more could not come: the answer has ended, or the server ended the connection.
    pub is_whole: bool,
}

#[derive(Debug)]
pub(crate) struct Read {
    order: ReadOrder,
}

impl Read {
    pub(crate) fn new(order: ReadOrder) -> Read {
        Read { order }
    }

    /// Whether nothing that follows matters, after so many bytes of the body.
    fn suffices(&self, head: &Head, bytes: u64) -> bool {
        let kept = KEPT_BYTES as u64;
        match self.order {
            // Another status says it all.
            _ if head.status != 200 => true,
            ReadOrder::Text => bytes >= kept,
            ReadOrder::Page { enough } => match head.content_length {
                Some(length) => length >= enough || !head.is_html || bytes >= kept,
                None => bytes >= enough,
            },
        }
    }
}

/// The bytes of the body that have arrived.
fn body_bytes(channel: &Channel, head: &Head) -> u64 {
    channel.application.answer_bytes().saturating_sub(head.head_bytes as u64)
}

impl Run for Read {
    fn setup(&self) -> Setup {
        Setup { acks_as_usual: true, ..Setup::default() }
    }

    fn advance(&mut self, _: Time, channel: &mut Channel) -> Next {
        let talk = channel.application.talk();
        let is_over = talk.ended || channel.stream.connection().peer_closed();
        match &talk.head {
            Some(head) if is_over || self.suffices(head, body_bytes(channel, head)) => {
                Next::End(Ending::HeadRead)
            }
            None if talk.not_http => Next::End(Ending::HeadRead),
            None if is_over => Next::End(Ending::NoAnswer),
            _ => Next::Wait,
        }
    }

    fn ending_at_deadline(&self, channel: &Channel) -> Option<Ending> {
        channel.application.talk().head.as_ref().map(|_| Ending::HeadRead)
    }

    fn fill(&mut self, channel: &Channel, report: &mut Report) {
        let talk = channel.application.talk();
        let Some(head) = &talk.head else { return };
        // A reset after the head takes the rest of the body, and no more.
        let was_reset = report.ending == Ending::Reset;
        if was_reset {
            report.ending = Ending::HeadRead;
        }
        let is_whole = talk.ended || was_reset || channel.stream.connection().peer_closed();
        let begin = if head.chunked { unchunked(&talk.body) } else { talk.body.clone() };
        report.body = Some(Body { begin, bytes: body_bytes(channel, head), is_whole });
    }
}
