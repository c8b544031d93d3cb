//! The log of a run: a run without a listener formats nothing.

use crate::path::Fate;
use windlass_base::{Ecn, Time};
use windlass_tcp::{Flags, Run, Segment};

/// Where the lines go.
pub(crate) struct Log<'a> {
    sink: Option<&'a mut (dyn FnMut(&str) + 'a)>,
    /// Of everything that was sent and when, so that two runs can be compared without a log.
    digest: u64,
}

impl<'a> Log<'a> {
    pub(crate) fn new(sink: Option<&'a mut (dyn FnMut(&str) + 'a)>) -> Log<'a> {
        Log { sink, digest: 0xcbf2_9ce4_8422_2325 }
    }

    /// One line; the text is made only if somebody listens.
    pub(crate) fn line(&mut self, now: Time, text: impl FnOnce() -> String) {
        if let Some(sink) = &mut self.sink {
            sink(&format!("{now} {}", text()));
        }
    }

    /// Folds a number into the digest (FNV-1a, by the word).
    pub(crate) fn fold(&mut self, word: u64) {
        self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }
}

pub(crate) fn describe(segment: &Segment, ecn: Ecn) -> String {
    let Segment { seq, ack, flags, window, options, payload_len } = segment;
    let mut text = format!("seq {seq} len {payload_len}");
    if flags.contains(Flags::ACK) {
        text += &format!(" ack {ack}");
    }
    text += &format!(" win {window}");
    for (flag, _) in flags.iter_names().filter(|(_, flag)| *flag != Flags::ACK) {
        text += &format!(" {flag}");
    }
    for (left, right) in options.sack.as_slice() {
        text += &format!(" sack {left}-{right}");
    }
    if let Some(timestamps) = options.timestamps {
        text += &format!(" ts {}/{}", timestamps.value, timestamps.echo_reply);
    }
    if let Some(option) = options.accecn {
        text += &format!(" accecn {:?}/{:?}/{:?}", option.ect0(), option.ce(), option.ect1());
    }
    if ecn != Ecn::NotEct {
        text += &format!(" {ecn:?}");
    }
    text
}

pub(crate) fn describe_run(run: &Run) -> String {
    let again = if run.retransmission { " again" } else { "" };
    format!("{} times {}{again}", run.count, describe(&run.first, run.ecn))
}

pub(crate) fn describe_fate(fate: Fate) -> String {
    match fate {
        Fate::Lost => "LOST".into(),
        Fate::Arrives { at, corrupt, copy_at, .. } => {
            let corrupt = if corrupt { "CORRUPT " } else { "" };
            let copy = copy_at.map_or(String::new(), |at| format!(" and {at}"));
            format!("-> {corrupt}{at}{copy}")
        }
    }
}
