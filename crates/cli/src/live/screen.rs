//! The contents of a live view, as plain data.

use super::series::Series;

/// Everything on the screen but the line of keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Screen {
    /// The command and what it works on.
    pub(crate) title: String,
    /// Short facts beside the title, the most important first.
    pub(crate) facts: Vec<String>,
    /// The share of the work that is done, from 0 to 1; `None` if there is no end.
    pub(crate) progress: Option<f64>,
    /// Charts over time, the most important first: a small terminal shows the first ones.
    pub(crate) charts: Vec<Chart>,
    /// Tables; the last one gets the room that is left, and scrolls, unless there is an output.
    pub(crate) tables: Vec<Table>,
    /// The output of a command.
    pub(crate) output: Option<Output>,
    /// The time that charts and trends cover.
    pub(crate) span: Span,
    /// Something that the user should know, such as why there are no new figures.
    pub(crate) note: Option<String>,
}

/// The time that charts and trends show.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Span {
    /// The last while: as many values as there is room for, the newest on the right.
    #[default]
    Recent,
    /// The whole of a work with an end, from the left on. [`KEPT`](super::KEPT) values fill a chart, so
    /// several share a bar, which is their mean.
    Whole,
}

/// A quantity over time.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) name: String,
    /// The value to print: the latest, or a mean of the latest.
    pub(crate) latest: f64,
    /// The oldest first.
    pub(crate) values: Vec<f64>,
    /// Prints a value with its unit.
    pub(crate) format: fn(f64) -> String,
    pub(crate) tone: Tone,
}

impl Chart {
    /// A chart of a series, whose printed value is the mean of the last `recent` values.
    pub(crate) fn new(
        name: impl Into<String>,
        series: &Series,
        recent: usize,
        format: fn(f64) -> String,
        tone: Tone,
    ) -> Chart {
        let latest = series.recent_mean(recent);
        Chart { name: name.into(), latest, values: series.values(), format, tone }
    }
}

/// The topic of a chart. Each has a colour of its own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// How fast data moves.
    Rate,
    /// Windows of senders, and other states of connections.
    Window,
    /// Queues, delays and round-trip times.
    Queue,
    /// Marks, drops and other signals of congestion.
    Signal,
}

/// Rows of figures.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The first column stands on the left, the others on the right. A narrow terminal leaves out the
    /// last ones.
    pub(crate) columns: Vec<Column>,
    /// The heading of the rows' trends; `None` if they have none.
    pub(crate) trend: Option<&'static str>,
    pub(crate) rows: Vec<Row>,
}

/// The heading of a column.
pub(crate) type Column = &'static str;

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// A text for each column.
    pub(crate) cells: Vec<String>,
    /// Values over time, the oldest first, drawn in the row itself.
    pub(crate) trend: Vec<f64>,
}

/// The last lines that a command wrote.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) lines: Vec<String>,
}
