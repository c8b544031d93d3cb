use windlass_base::{Distribution, Sketch, Span, Time};

/// Times that packets took, those of the steady window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    steady_from: Time,
    sketch: Sketch,
}

impl Delays {
    pub(crate) fn new(steady_from: Time) -> Delays {
        Delays { steady_from, sketch: Sketch::default() }
    }

    /// Counts a packet; false before the steady window, where it does not count.
    #[inline]
    pub(crate) fn record(&mut self, now: Time, took: Span) -> bool {
        let counts = now >= self.steady_from;
        if counts {
            self.sketch.record(took);
        }
        counts
    }

    /// The figures; `None` if no packet counted.
    pub(crate) fn distribution(&self) -> Option<Distribution> {
        self.sketch.distribution()
    }
}
