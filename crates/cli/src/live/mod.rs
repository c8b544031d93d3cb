//! Live views: a terminal view of a tool at work, for options named `--live`.
//!
//! A command turns its state into a [`Screen`] of plain data. [`view`] draws it; it knows nothing of
//! commands or terminals, and tests read what it drew. [`watch`] asks for samples again and again.
//! [`Live`] takes samples from a thread that has other work.

#[cfg(not(feature = "live"))]
mod absent;
#[cfg(feature = "live")]
mod drive;
#[cfg(feature = "live")]
mod keys;
#[cfg_attr(not(feature = "live"), expect(dead_code, reason = "nothing is drawn"))]
mod screen;
mod series;
#[cfg(feature = "live")]
mod terminal;
#[cfg(feature = "live")]
mod view;

#[cfg(not(feature = "live"))]
use absent as drive;
#[cfg(not(feature = "live"))]
use absent as terminal;
#[cfg(all(target_os = "linux", any(feature = "ecn-proxy", feature = "kernel-cc")))]
pub(crate) use drive::watch;
pub(crate) use drive::{Live, Panels};
#[cfg(all(target_os = "linux", feature = "link"))]
pub(crate) use screen::Output;
pub(crate) use screen::{Chart, Row, Screen, Span, Table, Tone};
pub(crate) use series::{KEPT, Series};
pub(crate) use terminal::check;

/// The paragraph about keys in the help of each `--live`.
pub(crate) const KEYS_HELP: &str = "\
Keys of the live view: q quit, p pause, arrows and PageUp, PageDown scroll, ? all keys. It needs a \
terminal of 40 columns and 10 lines, and obeys NO_COLOR.";
