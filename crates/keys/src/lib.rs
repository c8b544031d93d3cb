//! Files of keys in TOML or JSON: scenarios, and the configurations of the tools.
//!
//! Each key is declared once, with [`keys!`], [`choice!`], [`words!`] or [`text!`]; the reader, its
//! messages and the JSON Schema ([`schema()`]) derive from that. A message names file, line, column,
//! key and the expected value. A reader finds all problems of a file, not only the first.
//!
//! Every quantity carries its unit (`"94ms"`, `"10Mbit/s"`, `"64KiB"`) unless its key names the unit.
//!
//! A file may name kinds that only the program knows. They are in a registry of any type, which
//! [`Context`] holds; `()` if there are none.
//!
//! # Example
//!
//! ```
//! use windlass_base::Span;
//! use windlass_keys::{Reader, Version, keys};
//!
//! keys! {
//!     /// The file of a timer.
//!     struct TimerKeys {
//!         /// Version of the format: 1.
//!         schema: Version,
//!         /// How long it runs.
//!         lasts: Span,
//!         /// Ring at the end. Default: false.
//!         rings: Option<bool>,
//!     }
//! }
//!
//! let read = |text: &str| {
//!     Reader::new("timer.toml", ()).toml(text, |root, context| context.root::<TimerKeys>(root))
//! };
//! let timer = read("schema = 1\nlasts = \"1.5s\"\n")?;
//! assert_eq!(timer.lasts, Span::from_millis(1500));
//!
//! let problems = read("schema = 1\nlasts = 3\nrngs = true\n").expect_err("two mistakes");
//! let lines: Vec<String> = problems.to_string().lines().map(str::to_owned).collect();
//! assert_eq!(lines[1], "timer.toml:3:1: rngs: unknown key; did you mean \"rings\"?");
//! assert!(lines[0].starts_with("timer.toml:2:9: lasts: expected a time such as \"94ms\""));
//! # Ok::<(), windlass_keys::Problems>(())
//! ```

#[macro_use]
mod macros;

mod container;
mod decode;
mod definitions;
mod describe;
mod overrides;
mod problem;
mod quantity;
mod reader;
mod tree;
mod value;

pub use container::{Located, Named};
pub use decode::{Choice, Context, Decode, Keys, kind_of};
pub use definitions::{Definitions, described};
pub use describe::schema;
pub use problem::{Location, Message, Position, Problem, Problems};
pub use quantity::{Quantity, SIZES, Unit, parse_rate, parse_size, parse_time};
pub use reader::Reader;
pub use tree::{KeyValue, Node, Value};
pub use value::{Bytes, FilePath, FreeTable, Name, Positive, Probability, RateOrZero, Version};

/// The functions that the macros call.
#[doc(hidden)]
pub mod expanded {
    pub use crate::describe::{choice, kind, table};
    pub use serde_json::{Map, Value as Json, json};
}
