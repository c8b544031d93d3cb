//! Which congestion controller does a server run?
//!
//! The probe is the receiver and the bottleneck of one connection: it acknowledges each packet after a
//! round-trip time of its own, loses a packet when it wants to, and echoes marks. The server's window in each
//! round is what it then has in flight. A [`Script`] says what happens when; the [`Trace`] is what was
//! seen.

mod library;
mod marks;
mod script;
mod shaper;
mod signature;
mod trace;
mod verdict;

pub use library::{Identity, Library, Near, Sample};
pub use marks::{Answer, Marks};
pub use script::{Event, RTTS, Script, Show, Stage};
pub(crate) use shaper::{Data, Shaper, TIME_MAX};
pub use signature::{Part, SEGMENTS_ADDED, Signature};
pub use trace::{Round, TRAIN, Trace};
pub(crate) use verdict::is_marked;
pub use verdict::{Controller, judge};
