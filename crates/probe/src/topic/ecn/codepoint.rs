//! Codepoints of the ECN field of IP: their names, and counts of packets.

use serde::{Serialize, Serializer};
use std::fmt;
use windlass_base::Ecn;

/// The name of a codepoint in tables and JSON.
pub(super) fn name(codepoint: Ecn) -> &'static str {
    match codepoint {
        Ecn::NotEct => "not-ect",
        Ecn::Ect0 => "ect-0",
        Ecn::Ect1 => "ect-1",
        Ecn::Ce => "ce",
    }
}

pub(super) fn by_name<S: Serializer>(codepoint: &Ecn, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*codepoint))
}

pub(super) fn by_name_if_any<S: Serializer>(
    codepoint: &Option<Ecn>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match codepoint {
        Some(codepoint) => by_name(codepoint, to),
        None => to.serialize_none(),
    }
}

/// Packets by codepoint.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Codepoints {
    /// Those that are Not-ECT.
    pub not_ect: u32,
    /// Those that are ECT(0).
    pub ect_0: u32,
    /// Those that are ECT(1).
    pub ect_1: u32,
    /// Those that are CE.
    pub ce: u32,
}

impl Codepoints {
    pub(super) fn add(&mut self, codepoint: Ecn, packets: u32) {
        let count = match codepoint {
            Ecn::NotEct => &mut self.not_ect,
            Ecn::Ect0 => &mut self.ect_0,
            Ecn::Ect1 => &mut self.ect_1,
            Ecn::Ce => &mut self.ce,
        };
        *count = count.saturating_add(packets);
    }
}

impl Codepoints {
    /// The counts that are not zero, with the names of their codepoints.
    fn present(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let counts = [
            (self.not_ect, Ecn::NotEct),
            (self.ect_0, Ecn::Ect0),
            (self.ect_1, Ecn::Ect1),
            (self.ce, Ecn::Ce),
        ];
        let present = counts.into_iter().filter(|(count, _)| *count > 0);
        present.map(|(count, codepoint)| (count, name(codepoint)))
    }

    /// The codepoint of most packets, as tables name it; empty without packets.
    pub(crate) fn most(&self) -> &'static str {
        self.present().max_by_key(|(count, _)| *count).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Codepoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> =
            self.present().map(|(count, name)| format!("{count} {name}")).collect();
        f.write_str(if words.is_empty() { "none" } else { "" })?;
        f.write_str(&words.join(", "))
    }
}
