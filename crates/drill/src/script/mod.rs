//! The language of scripts: its parser and the tree that this makes of a script.

pub mod code;
mod error;
mod lexer;
mod parser;
mod print;
mod tree;

pub use error::{Error, Position};
pub use parser::parse;
pub(crate) use parser::{own_definitions, parse_with};
pub use tree::{
    Action, Body, CallSpec, Commands, Direction, Echoed, Event, Expression, Field, IcmpSpec,
    IpSpec, PacketSpec, Script, ScriptOption, TcpSpec, Tos, When,
};
