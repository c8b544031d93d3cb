//! The transmitter of a channel: takes packets from the queue and serializes them at the rate.

use crate::model;
use windlass_base::{BitRate, Span, Time};

/// A network device's transmitter.
#[derive(Debug)]
// In the order of need.
#[repr(C)]
pub(super) struct Transmitter {
    /// When the device next asks the queue for a packet.
    pub(super) asks_at: Time,
    /// When the device has serialized every packet that it took from the queue.
    pub(super) sent_at: Time,
    /// Transmission time and size of the last packet. Most packets have the size of the one before,
    /// and divisions are slow.
    last_transmission: (Span, u32),
    /// How much transmission time the device may take from the queue in advance.
    device_queue: Span,
    /// True if the device has asked for a packet and the queue had none.
    pub(super) idle: bool,
    /// `None` for a link that takes no time to serialize.
    rate: Option<BitRate>,
}

impl Transmitter {
    pub(super) fn new(spec: &model::Channel) -> Transmitter {
        Transmitter {
            asks_at: Time::ZERO,
            sent_at: Time::ZERO,
            last_transmission: (Span::ZERO, 0),
            device_queue: spec.device_queue,
            idle: true,
            rate: spec.rate,
        }
    }

    /// True if the device will have asked for a packet by `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        !self.idle && self.asks_at <= now
    }

    /// How long it takes to serialize a packet of this size.
    #[inline]
    pub(super) fn transmission_time(&mut self, bytes: u32) -> Span {
        if bytes != self.last_transmission.1 {
            let time = self.rate.map_or(Span::ZERO, |rate| rate.transmission_time(bytes));
            self.last_transmission = (time, bytes);
        }
        self.last_transmission.0
    }

    /// The device takes a packet from the queue. Returns when its transmission begins.
    #[inline]
    pub(super) fn take(&mut self, at: Time, bytes: u32) -> Time {
        let begin = self.sent_at.max(at);
        let end = begin + self.transmission_time(bytes);
        self.occupy(at, end);
        begin
    }

    /// A device without a queue of its own, which is free, takes a packet. Returns when its transmission ends.
    #[inline]
    pub(super) fn take_free(&mut self, at: Time, bytes: u32) -> Time {
        let end = at + self.transmission_time(bytes);
        self.sent_at = end;
        self.asks_at = end;
        self.idle = false;
        end
    }

    /// The device takes a packet from the queue whose transmission ends at `end`.
    #[inline]
    pub(super) fn occupy(&mut self, at: Time, end: Time) {
        self.sent_at = end;
        self.asks_at = if self.device_queue.is_zero() {
            end.max(at)
        } else {
            at + (end - at).saturating_sub(self.device_queue)
        };
    }
}
