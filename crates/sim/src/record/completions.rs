//! Completed transfers of a flow by size: how long each took, and how much longer than on an idle path.

use windlass_base::{BitRate, Sketch, Span, Time};

/// The upper bounds of the classes of size in bytes; a last class has no bound.
pub(crate) const CLASS_BOUNDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// The transfers that began in the steady window.
#[derive(Clone, Debug)]
pub(crate) struct Completions {
    steady_from: Time,
    path: IdlePath,
    /// Transfers that began.
    pub(crate) begun: u64,
    /// Of them, those that failed.
    pub(crate) failed: u64,
    classes: [Option<Box<Class>>; CLASS_BOUNDS.len() + 1],
}

/// The completed transfers of one class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Class {
    /// Payload bytes.
    pub(crate) bytes: u64,
    /// From the beginning of each to the arrival of its last byte.
    pub(crate) times: Sketch,
    /// Slowdowns, each as so many seconds.
    pub(crate) slowdowns: Sketch,
}

/// A completed transfer.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Completion {
    pub(crate) begun: Time,
    pub(crate) bytes: u64,
    /// Payload bytes of a full segment.
    pub(crate) mss: u32,
    /// Bytes of the headers of a segment.
    pub(crate) header_bytes: u32,
    /// Its connection had to be opened with a handshake first.
    pub(crate) handshake: bool,
    /// It is the response to a request.
    pub(crate) asked: bool,
}

/// The path of a flow, as a transfer finds it that is alone.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct IdlePath {
    /// Propagation delay from the sender to the receiver.
    pub(crate) forward: Span,
    /// Propagation delay of the way back.
    pub(crate) back: Span,
    /// The least rate of the links on the way of the data; `None`: they have no rate.
    pub(crate) rate: Option<BitRate>,
}

impl IdlePath {
    /// The time that a transfer takes on the path alone, if no window stops it: the round trip of a
    /// handshake, the way of the request, the way of the data, and their transmission on the slowest link,
    /// headers included.
    fn time(&self, transfer: &Completion) -> Span {
        let handshake = if transfer.handshake { self.forward + self.back } else { Span::ZERO };
        let request = if transfer.asked { self.back } else { Span::ZERO };
        let segments = transfer.bytes.div_ceil(u64::from(transfer.mss.max(1)));
        let wire_bytes = transfer.bytes + segments * u64::from(transfer.header_bytes);
        let transmission = self.rate.map_or(Span::ZERO, |rate| {
            Span::from_secs_f64(wire_bytes as f64 * 8.0 / rate.bits_per_sec() as f64)
        });
        handshake + request + self.forward + transmission
    }
}

impl Completions {
    pub(crate) fn new(steady_from: Time, path: IdlePath) -> Completions {
        Completions { steady_from, path, begun: 0, failed: 0, classes: Default::default() }
    }

    /// A transfer begins.
    pub(crate) fn begin(&mut self, now: Time) {
        self.begun += u64::from(now >= self.steady_from);
    }

    /// A transfer is complete.
    pub(crate) fn add(&mut self, now: Time, transfer: &Completion) {
        if transfer.begun < self.steady_from {
            return;
        }
        let number = CLASS_BOUNDS.partition_point(|bound| *bound <= transfer.bytes);
        let class = self.classes[number].get_or_insert_default();
        let took = now - transfer.begun;
        let idle_s = self.path.time(transfer).as_secs_f64();
        class.bytes += transfer.bytes;
        class.times.record(took);
        if idle_s > 0.0 {
            class.slowdowns.record(Span::from_secs_f64(took.as_secs_f64() / idle_s));
        }
    }

    /// A transfer has failed.
    pub(crate) fn fail(&mut self, begun: Time) {
        self.failed += u64::from(begun >= self.steady_from);
    }

    /// A class by its number; `None`: it has no transfers.
    pub(crate) fn class(&self, number: usize) -> Option<&Class> {
        self.classes[number].as_deref()
    }
}
