//! Evaluates a congestion controller by the criteria of RFC 9743, in the simulator.
//!
//! The document has criteria (section 5) and settings (sections 6 and 7). A cell is a [`Criterion`] on a [`Path`] of a
//! [`Setting`]: a scenario with the traffic of the one on the path of the other, and figures that are read from its
//! runs. Each figure has a [`Threshold`], most of them relative to Reno and CUBIC in the subject's place.
//!
//! An [`Evaluation`] plans the runs, the caller does them on threads of its own, and a [`Report`] has the verdicts.
//! It contains no times of day, so that the same controller has the same report, byte for byte.
//!
//! # Example
//!
//! ```
//! use windlass_evaluation::{Evaluation, Options, Verdict};
//! use windlass_scenario::Registry;
//!
//! let mut options = Options::quick();
//! options.criteria = vec!["packet-loss".to_owned()];
//! options.settings = vec!["tail-drop-shallow".to_owned()];
//! let evaluation = Evaluation::new(&["bbr"], options, &Registry::default())?;
//! let report = evaluation.report(&evaluation.run_all()?);
//!
//! // BBR version 1 keeps a shallow queue overflowing.
//! assert_eq!(report.cells[0].verdicts, [Verdict::NotMet]);
//! # Ok::<(), windlass_evaluation::Error>(())
//! ```

mod contender;
mod criteria;
mod error;
mod evaluation;
mod interval;
mod plan;
mod report;
mod settings;
mod thresholds;
mod traffic;
mod verdict;

pub use contender::Contender;
pub use criteria::{CRITERIA, Criterion};
pub use error::Error;
pub use evaluation::{Evaluation, Figures};
pub use interval::Interval;
pub use plan::Options;
pub use report::{
    CellReport, Counts, CriterionText, FigureReport, PathText, Report, ResultReport, SettingText,
    TrafficReport,
};
pub use settings::{Path, Setting};
pub use thresholds::{Bound, Relative, Threshold};
pub use traffic::{Figure, Traffic};
pub use verdict::Verdict;
