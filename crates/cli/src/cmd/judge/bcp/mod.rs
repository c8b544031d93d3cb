//! `windlass judge --bcp`: the criteria of RFC 9743.

pub(super) mod args;
mod print;
pub(super) mod run;
