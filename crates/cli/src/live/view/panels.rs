//! The panels: charts, tables, the output of a command.

use super::Theme;
use crate::live::KEPT;
use crate::live::screen::{Chart, Output, Row, Span as Shown, Table};
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Block, BorderType, Borders, Cell, Paragraph, RenderDirection, Row as Cells, Sparkline,
    Table as TableWidget,
};

/// Lines of a table beside its rows: its name and the headings.
pub(super) const TABLE_LINES: u16 = 2;
/// The least width of a trend in a row.
const TREND_WIDTH_MIN: u16 = 8;
const COLUMN_GAP: u16 = 2;
/// Bars are whole numbers: a chart's highest value becomes this one.
const BAR_MAX: f64 = 1000.0;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Name, latest value, bars over time with the newest on the right, and the highest value shown.
/// `look` says whether the chart has no frame, and the theme.
pub(super) fn chart(
    frame: &mut Frame<'_>,
    area: Rect,
    chart: &Chart,
    span: Shown,
    look: (bool, Theme),
) {
    let (compact, theme) = look;
    let borders = if compact { Borders::TOP } else { Borders::ALL };
    let inner = if compact { area.width } else { area.width.saturating_sub(2) };
    let shown = shown_values(&chart.values, usize::from(inner), span);
    let highest = shown.iter().copied().fold(0.0, f64::max);
    let tone = theme.tone(chart.tone);
    let name = Line::from(vec![
        Span::raw(format!(" {} ", chart.name)),
        Span::styled(
            format!("{} ", (chart.format)(chart.latest)),
            tone.add_modifier(Modifier::BOLD),
        ),
    ]);
    // A bar may be a mean: the highest value is that of all values in the bars.
    let kept = match span {
        Shown::Whole => chart.values.len(),
        Shown::Recent => shown.len(),
    };
    let recent = &chart.values[chart.values.len() - kept..];
    let most = recent.iter().copied().fold(0.0, f64::max);
    let top = format!(" max {} ", (chart.format)(most));
    let mut block = Block::new()
        .borders(borders)
        .border_type(BorderType::Rounded)
        .border_style(theme.faint())
        .title(name.clone());
    if name.width() + top.chars().count() + 4 <= usize::from(area.width) {
        block = block.title(Line::from(top).right_aligned());
    }
    let bar = |value: &f64| match highest > 0.0 {
        true => (value / highest * BAR_MAX) as u64,
        false => 0,
    };
    let mut bars: Vec<u64> = shown.iter().map(bar).collect();
    let direction = match span {
        Shown::Whole => RenderDirection::LeftToRight,
        Shown::Recent => {
            bars.reverse();
            RenderDirection::RightToLeft
        }
    };
    let sparkline = Sparkline::default()
        .block(block)
        .data(bars)
        .max(BAR_MAX as u64)
        .direction(direction)
        .style(tone);
    frame.render_widget(sparkline, area);
}

/// Rows from `first` on, with as many columns as there is room for.
pub(super) fn table(
    frame: &mut Frame<'_>,
    area: Rect,
    table: &Table,
    first: usize,
    span: Shown,
    theme: Theme,
) {
    let widths = widths(table);
    let shown = columns_that_fit(&widths, table.trend.is_some(), area.width);
    let used: u16 = widths[..shown].iter().map(|width| width + COLUMN_GAP).sum();
    let trend_width = area.width.saturating_sub(used);
    let trend = table.trend.filter(|_| trend_width >= TREND_WIDTH_MIN);

    let mut headings: Vec<Cell<'_>> = (0..shown).map(|at| cell(at, table.columns[at])).collect();
    headings.extend(trend.map(Cell::from));
    let rows = table.rows.iter().skip(first).map(|row| {
        let mut cells: Vec<Cell<'_>> = (0..shown).map(|at| cell(at, text(row, at))).collect();
        let bars = trend.map(|_| bars(&shown_values(&row.trend, usize::from(trend_width), span)));
        cells.extend(bars.map(|bars| Cell::from(bars).style(theme.tone(super::Tone::Window))));
        Cells::new(cells)
    });
    let constraints = widths[..shown].iter().map(|width| Constraint::Length(*width));
    let constraints = constraints.chain(trend.map(|_| Constraint::Length(trend_width)));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let block = Block::new().borders(Borders::TOP).border_style(theme.faint());
    let widget = TableWidget::new(rows, constraints)
        .header(Cells::new(headings).style(bold))
        .column_spacing(COLUMN_GAP)
        .block(block.title(Line::raw(name(table, first, area)).style(Style::reset())));
    frame.render_widget(widget, area);
}

/// The name, and which rows are shown if not all are.
fn name(table: &Table, first: usize, area: Rect) -> String {
    let (total, page) = (table.rows.len(), usize::from(area.height.saturating_sub(TABLE_LINES)));
    match total > page && page > 0 {
        true => {
            let last = (first + page).min(total);
            format!(" {}, {} to {last} of {total} ", table.name, first + 1)
        }
        false => format!(" {} ", table.name),
    }
}

fn text(row: &Row, at: usize) -> &str {
    row.cells.get(at).map_or("", String::as_str)
}

fn cell(at: usize, text: &str) -> Cell<'_> {
    let line = Line::raw(text);
    Cell::from(if at == 0 { line } else { line.right_aligned() })
}

/// The width of each column: that of its longest text.
fn widths(table: &Table) -> Vec<u16> {
    let columns = table.columns.iter().enumerate();
    let width = |(at, heading): (usize, &&str)| {
        let texts = table.rows.iter().map(|row| Line::raw(text(row, at)).width());
        texts.chain([heading.len()]).max().unwrap_or(0) as u16
    };
    columns.map(width).collect()
}

/// How many columns to show: at least the first one, whatever its width.
fn columns_that_fit(widths: &[u16], has_trend: bool, width: u16) -> usize {
    let trend = if has_trend { TREND_WIDTH_MIN } else { 0 };
    let fits = |count: &usize| {
        let wanted: u16 = widths[..*count].iter().map(|width| width + COLUMN_GAP).sum();
        wanted + trend <= width + if has_trend { 0 } else { COLUMN_GAP }
    };
    (1..=widths.len()).rev().find(fits).unwrap_or(widths.len().min(1))
}

/// The values to show in so many columns, one each.
fn shown_values(values: &[f64], width: usize, span: Shown) -> Vec<f64> {
    if span == Shown::Recent || width >= KEPT {
        return values[values.len().saturating_sub(width)..].to_vec();
    }
    let of_column = |column: usize| {
        let (from, to) = (column * KEPT / width, (column + 1) * KEPT / width);
        let values = values.get(from..to.min(values.len())).filter(|values| !values.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    (0..width).map_while(of_column).collect()
}

/// Bars of one line, from zero to the highest value.
fn bars(shown: &[f64]) -> String {
    let highest = shown.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        let level = if highest > 0.0 { value / highest * LEVELS.len() as f64 } else { 0.0 };
        LEVELS[(level.ceil() as usize).clamp(1, LEVELS.len()) - 1]
    };
    shown.iter().map(bar).collect()
}

/// The last lines, at the bottom of the panel.
pub(super) fn output(frame: &mut Frame<'_>, area: Rect, output: &Output, theme: Theme) {
    let room = usize::from(area.height.saturating_sub(1));
    let shown = &output.lines[output.lines.len().saturating_sub(room)..];
    let lines: Vec<Line<'_>> = shown.iter().map(|line| Line::raw(format!(" {line}"))).collect();
    let block = Block::new().borders(Borders::TOP).border_style(theme.faint());
    let title = Line::raw(format!(" {} ", output.name)).style(Style::reset());
    frame.render_widget(Paragraph::new(lines).block(block.title(title)), area);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_rise_from_zero_to_the_highest_value_shown() {
        assert_eq!(bars(&[0.0, 1.0, 4.0, 8.0]), "▁▁▄█");
        assert_eq!(bars(&[0.0, 0.0]), "▁▁");
        assert_eq!(bars(&[]), "");
    }

    #[test]
    fn recent_values_are_the_last_ones_and_a_whole_run_is_squeezed() {
        let values: Vec<f64> = (0..90).map(f64::from).collect();
        assert_eq!(shown_values(&values, 2, Shown::Recent), [88.0, 89.0]);
        assert_eq!(shown_values(&values, 500, Shown::Recent), values);
        assert_eq!(KEPT, 240);
        // 60 values a column, of which the second has the rest.
        assert_eq!(shown_values(&values, 4, Shown::Whole), [29.5, 74.5]);
        assert_eq!(shown_values(&values, KEPT, Shown::Whole), values);
        assert_eq!(shown_values(&[], 4, Shown::Whole), [0.0; 0]);
    }

    #[test]
    fn the_last_columns_go_first() {
        assert_eq!(columns_that_fit(&[10, 5, 5], false, 24), 3);
        assert_eq!(columns_that_fit(&[10, 5, 5], false, 23), 2);
        assert_eq!(columns_that_fit(&[10, 5, 5], true, 34), 3);
        assert_eq!(columns_that_fit(&[10, 5, 5], true, 27), 2);
        assert_eq!(columns_that_fit(&[50, 5], true, 40), 1);
        assert_eq!(columns_that_fit(&[], false, 40), 0);
    }
}
