//! Which congestion controller does a server run?
//!
//! The probe is the receiver and the bottleneck of one connection: it acknowledges each packet after a
//! round-trip time of its own, loses a packet when it wants to, and echoes marks. The server's window in each
//! round is what it then has in flight. A script says what happens when; the [`Trace`] is what was
//! seen.

mod library;
mod marks;
mod order;
mod run;
mod script;
mod shaper;
mod signature;
mod trace;
pub(crate) mod trials;
mod verdict;

pub use library::{Identity, Library, Near, Sample};
pub use marks::{Answer, Marks};
pub use order::ScriptOrder;
pub(crate) use run::Identify;
pub use script::Show;
pub use signature::{Part, Signature};
pub use trace::{Round, Trace};
pub use verdict::{Controller, judge};
