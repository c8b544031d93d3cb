//! Which panel stands where.

use super::panels::TABLE_LINES;
use crate::live::screen::Screen;
use ratatui::layout::Rect;

/// The least width of a chart.
const CHART_WIDTH_MIN: u16 = 28;
/// The most lines of a chart, frame included.
const CHART_HEIGHT_MAX: u16 = 9;
/// The fewest lines: one for the name, two for the bars.
const CHART_HEIGHT_MIN: u16 = 3;
/// Rows for which a table asks before the charts get the rest.
const ROWS_WANTED: u16 = 4;
/// Below these sizes charts have no frame.
const FRAMED_WIDTH_MIN: u16 = 60;
const FRAMED_HEIGHT_MIN: u16 = 18;

/// The places of everything on the screen. A panel without room has no place.
pub(super) struct Plan {
    pub(super) title: Rect,
    pub(super) progress: Option<Rect>,
    pub(super) charts: Vec<Rect>,
    pub(super) tables: Vec<Rect>,
    pub(super) output: Option<Rect>,
    pub(super) footer: Rect,
    /// Charts have no frame.
    pub(super) compact: bool,
}

impl Plan {
    pub(super) fn of(screen: &Screen, area: Rect) -> Plan {
        let line = |y| Rect { y, height: 1, ..area };
        let (title, footer) = (line(area.y), line(area.bottom() - 1));
        let progress = screen.progress.map(|_| line(area.y + 1));
        let top = title.bottom() + u16::from(progress.is_some());
        let inner = Rect { y: top, height: footer.y - top, ..area };
        let compact = area.width < FRAMED_WIDTH_MIN || area.height < FRAMED_HEIGHT_MIN;

        let below = below_charts(screen);
        let charts = charts(screen.charts.len() as u16, inner, inner.height.saturating_sub(below));
        let end_of_charts = charts.iter().map(|place| place.bottom()).max().unwrap_or(inner.y);
        let rest = Rect { y: end_of_charts, height: inner.bottom() - end_of_charts, ..inner };
        let (tables, output) = stacked(screen, rest);
        Plan { title, progress, charts, tables, output, footer, compact }
    }
}

/// Lines that tables and output ask for.
fn below_charts(screen: &Screen) -> u16 {
    let table = |rows: usize| (rows as u16).clamp(1, ROWS_WANTED) + TABLE_LINES;
    let tables: u16 = screen.tables.iter().map(|of| table(of.rows.len())).sum();
    tables + screen.output.as_ref().map_or(0, |_| ROWS_WANTED + 1)
}

/// Charts in rows of equal ones, as many rows as there is room for.
fn charts(count: u16, area: Rect, room: u16) -> Vec<Rect> {
    // The first row of charts comes before the tables' wishes.
    let room = room.max(CHART_HEIGHT_MIN);
    if count == 0 || area.height <= CHART_HEIGHT_MIN + TABLE_LINES {
        return vec![];
    }
    let across = (area.width / CHART_WIDTH_MIN).clamp(1, count.min(4));
    // Four charts are better two by two than three and one.
    let rows_wanted = count.div_ceil(across);
    let across = count.div_ceil(rows_wanted);
    let rows = rows_wanted.min(room / CHART_HEIGHT_MIN);
    let height = (room / rows).min(CHART_HEIGHT_MAX);
    let place = |index: u16| {
        let (row, column) = (index / across, index % across);
        let left = area.width * column / across;
        let right = area.width * (column + 1) / across;
        Rect { x: area.x + left, y: area.y + row * height, width: right - left, height }
    };
    (0..count.min(across * rows)).map(place).collect()
}

/// Tables one below the other; the last panel takes what is left.
fn stacked(screen: &Screen, area: Rect) -> (Vec<Rect>, Option<Rect>) {
    let mut left = area;
    let mut take = |height: u16| {
        let height = height.min(left.height);
        let place = Rect { height, ..left };
        left = Rect { y: left.y + height, height: left.height - height, ..left };
        place
    };
    let mut tables = vec![];
    let count = screen.tables.len();
    for (index, table) in screen.tables.iter().enumerate() {
        let is_last = index + 1 == count && screen.output.is_none();
        let wanted = (table.rows.len() as u16).max(1).saturating_add(TABLE_LINES);
        // Half of the room stays for what follows.
        tables.push(take(if is_last { u16::MAX } else { wanted.min(area.height.div_ceil(2)) }));
    }
    (tables, screen.output.as_ref().map(|_| take(u16::MAX)))
}
