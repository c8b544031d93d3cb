//! Draws a [`Screen`] into a frame of any size. It reads nothing but its arguments.

mod panels;
mod plan;

use super::keys::{KEYS, Keys};
use super::screen::{Screen, Tone};
use panels::{chart, output, table};
use plan::Plan;
use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, LineGauge, Paragraph};

/// The smallest terminal with a view.
const WIDTH_MIN: u16 = 40;
const HEIGHT_MIN: u16 = 10;

/// How things look.
#[derive(Copy, Clone, Debug)]
pub(super) struct Theme {
    color: bool,
}

impl Theme {
    /// With colours, unless NO_COLOR is set (no-color.org).
    pub(super) fn of_environment() -> Theme {
        Theme { color: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    fn colored(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    fn tone(self, tone: Tone) -> Style {
        self.colored(match tone {
            Tone::Rate => Color::Green,
            Tone::Window => Color::Cyan,
            Tone::Queue => Color::Yellow,
            Tone::Signal => Color::Red,
        })
    }

    /// Frames and other things that stand behind figures.
    fn faint(self) -> Style {
        if self.color { Style::new().fg(Color::DarkGray) } else { Style::new() }
    }
}

/// Draws everything; returns how many rows the scrolling table shows. Sets `keys` to a first row that
/// exists.
pub(super) fn render(
    frame: &mut Frame<'_>,
    screen: &Screen,
    keys: &mut Keys,
    theme: Theme,
) -> usize {
    let area = frame.area();
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        let text = format!("too small: {WIDTH_MIN}x{HEIGHT_MIN} at least; q quits");
        frame.render_widget(Paragraph::new(text), area);
        return 0;
    }
    let plan = Plan::of(screen, area);
    title(frame, plan.title, screen, keys, theme);
    if let (Some(line), Some(done)) = (plan.progress, screen.progress) {
        progress(frame, line, done, theme);
    }
    for (place, of) in plan.charts.iter().zip(&screen.charts) {
        chart(frame, *place, of, screen.span, (plan.compact, theme));
    }
    let mut page = 0;
    for (index, (place, of)) in plan.tables.iter().zip(&screen.tables).enumerate() {
        if index + 1 == screen.tables.len() {
            page = usize::from(place.height.saturating_sub(panels::TABLE_LINES));
            keys.first_row = keys.first_row.min(of.rows.len().saturating_sub(page));
            table(frame, *place, of, keys.first_row, screen.span, theme);
        } else {
            table(frame, *place, of, 0, screen.span, theme);
        }
    }
    if let (Some(place), Some(of)) = (plan.output, &screen.output) {
        output(frame, place, of, theme);
    }
    footer(frame, plan.footer, screen, theme);
    if keys.help {
        help(frame, area, theme);
    }
    page
}

fn title(frame: &mut Frame<'_>, line: Rect, screen: &Screen, keys: &Keys, theme: Theme) {
    let bar = theme.colored(Color::Cyan).add_modifier(Modifier::REVERSED | Modifier::BOLD);
    let mut facts = screen.facts.clone();
    if keys.paused {
        facts.insert(0, "PAUSED".to_owned());
    }
    // The first facts are the most important: the last ones go where there is no room for all.
    let mut right = facts.join("  ");
    let room = usize::from(line.width).saturating_sub(screen.title.chars().count() + 4);
    while right.chars().count() > room && facts.pop().is_some() {
        right = facts.join("  ");
    }
    frame.render_widget(Paragraph::new(format!(" {}", screen.title)).style(bar), line);
    let width = right.chars().count() as u16 + 1;
    let place =
        Rect { x: line.right().saturating_sub(width), width: width.min(line.width), ..line };
    frame.render_widget(Paragraph::new(right).style(bar), place);
}

fn progress(frame: &mut Frame<'_>, line: Rect, done: f64, theme: Theme) {
    let done = done.clamp(0.0, 1.0);
    let gauge = LineGauge::default()
        .ratio(done)
        .label(format!(" {:3.0} %", done * 100.0))
        .filled_style(theme.colored(Color::Cyan))
        .unfilled_style(theme.faint())
        .filled_symbol("━")
        .unfilled_symbol("─");
    frame.render_widget(gauge, line);
}

fn footer(frame: &mut Frame<'_>, line: Rect, screen: &Screen, theme: Theme) {
    let key = theme.colored(Color::Cyan).add_modifier(Modifier::BOLD);
    let mut spans = vec![Span::raw(" ")];
    for (name, what) in [("q", "quit"), ("p", "pause"), ("↑↓", "scroll"), ("?", "keys")] {
        spans.extend([Span::styled(name, key), Span::raw(format!(" {what}  "))]);
    }
    if let Some(note) = &screen.note {
        let bold = theme.colored(Color::Yellow).add_modifier(Modifier::BOLD);
        spans.truncate(3);
        spans.push(Span::styled(note.clone(), bold));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), line);
}

fn help(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let width = 38.min(area.width);
    let height = (KEYS.len() as u16 + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let bold = theme.colored(Color::Cyan).add_modifier(Modifier::BOLD);
    let lines = KEYS.map(|(key, what)| {
        let key = if key.len() > 10 { key.split(", ").next().unwrap_or(key) } else { key };
        Line::from(vec![Span::styled(format!(" {key:<9}"), bold), Span::raw(what)])
    });
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .title(Line::from(" keys ").alignment(Alignment::Center));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines.to_vec()).block(block), place);
}

#[cfg(test)]
mod tests;
