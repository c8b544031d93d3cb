//! The parameters of the model.

/// The parameters of New-ECN and of its TCP. The default has those of section 3.1.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The factor of the window at a mark.
    pub alpha_window: f64,
    /// The factor of the window slope at a mark.
    pub alpha_slope: f64,
    /// The growth of the slope, in segments per round trip and square second.
    pub beta: f64,
    /// The largest window in segments.
    pub window_limit: f64,
    /// A reduced window is cut to whole segments, as in ns-2.
    pub whole_segments: bool,
    /// Cycles of each flow; with more of them the figures are more precise.
    pub cycles: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            alpha_window: 0.9,
            alpha_slope: 0.9,
            beta: 16.0,
            window_limit: 128.0,
            whole_segments: true,
            cycles: 20_000,
        }
    }
}
