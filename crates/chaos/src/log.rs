//! What happened, told only to who asks: a run without a listener formats nothing.

use windlass_base::Time;

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
