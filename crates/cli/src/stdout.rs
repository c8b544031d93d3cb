//! Standard output, which may be a pipe whose reader goes away.

use crate::failure::Failure;
use std::io::{self, ErrorKind, Write};
pub(crate) use table::{table, wrapped};
use windlass_base::printable_lines;

/// Writes `text` and a line feed to standard output. It may contain text of others, which must not
/// control the terminal.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = printable_lines(text);
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::io("standard output", &error),
    })
}

mod table {
    use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
    use std::io::{IsTerminal, stdout};
    use terminal_size::{Width, terminal_size};

    /// A table with its first column to the left and the others to the right.
    pub(crate) fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
        let mut table = plain(header, rows);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.trim_fmt()
    }

    /// A table of texts to the left. On a terminal, long ones have several lines, so that a row fits.
    pub(crate) fn wrapped(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
        let mut table = plain(header, rows);
        let width = stdout().is_terminal().then(terminal_size).flatten();
        if let Some((Width(columns), _)) = width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
        }
        table.trim_fmt()
    }

    fn plain(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
        let line = LineStyle::none().fill('─').junction('─');
        let style = TableStyle::new().header_separator(line);
        let mut table = Table::new();
        table.load_style(style).set_header(header).add_rows(rows);
        table
    }
}
