/// A column of a table: its heading, the path of its value in a row, decimals.
pub(super) type Column = (&'static str, &'static [&'static str], usize);
