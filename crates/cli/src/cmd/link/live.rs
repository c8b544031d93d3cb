//! `windlass link --live`: the figures of a link as panels, beside the output of its command.

use super::output::CommandOutput;
use crate::failure::Failure;
use crate::live::{Chart, Live, Output, Panels, Row, Screen, Series, Table, Tone};
use crate::scaled::{self, bits};
use std::io;
use std::sync::Arc;
use windlass_base::{BitRate, Span, Time};
use windlass_link::linux::{Attendant, Carrier};
use windlass_link::{Direction, LinkConfig, PathConfig, PathStats, Variation};

const INTERVAL: Span = Span::from_millis(250);
/// Samples over which rates are means: a second.
const RECENT: usize = 4;
/// Paths with charts of their own: the two directions of most links.
const CHARTED: usize = 2;

/// A path that is shown.
pub(super) struct ShownPath {
    pub(super) name: String,
    pub(super) port: usize,
    pub(super) direction: Direction,
    /// Its rate, if that never changes.
    rate: Option<BitRate>,
}

impl ShownPath {
    pub(super) fn new(
        port: usize,
        name: &str,
        direction: Direction,
        config: &PathConfig,
    ) -> ShownPath {
        let rate = config.rate.filter(|_| config.variation == Variation::default());
        ShownPath { name: format!("{name} {}", direction.name()), port, direction, rate }
    }
}

/// The counts of all paths at a moment.
pub(super) struct Sample {
    at: Time,
    paths: Vec<PathStats>,
}

/// An attendant that looks for another one and for the view.
pub(super) struct Watched<'a> {
    attendant: &'a mut dyn Attendant,
    view: &'a Live<Sample>,
    paths: Arc<[ShownPath]>,
    next: Time,
}

impl<'a> Watched<'a> {
    pub(super) fn new(
        attendant: &'a mut dyn Attendant,
        view: &'a Live<Sample>,
        paths: Arc<[ShownPath]>,
    ) -> Watched<'a> {
        Watched { attendant, view, paths, next: Time::ZERO }
    }
}

impl Attendant for Watched<'_> {
    fn next_look(&self) -> Time {
        self.attendant.next_look().min(self.next)
    }

    fn look(&mut self, now: Time, carrier: &Carrier) -> io::Result<()> {
        if self.next <= now {
            self.next = now + INTERVAL;
            let stats = |path: &ShownPath| carrier.network().path_stats(path.port, path.direction);
            self.view.show(Sample { at: now, paths: self.paths.iter().map(stats).collect() });
        }
        if self.attendant.next_look() <= now { self.attendant.look(now, carrier) } else { Ok(()) }
    }
}

/// Rates, queues, drops and marks of the paths, and what the command writes.
pub(super) struct LinkPanels {
    title: String,
    paths: Arc<[ShownPath]>,
    series: Vec<PathSeries>,
    last: Option<Sample>,
    output: Option<Arc<CommandOutput>>,
}

#[derive(Clone, Default)]
struct PathSeries {
    rate: Series,
    queue_packets: Series,
    marks_per_s: Series,
    drops_per_s: Series,
}

/// Begins the view of a link.
///
/// # Errors
///
/// There is no terminal.
pub(super) fn start(
    link: &LinkConfig,
    paths: Arc<[ShownPath]>,
    output: Option<Arc<CommandOutput>>,
) -> Result<Live<Sample>, Failure> {
    let names: Vec<&str> = link.ports.iter().map(|port| port.name.as_str()).collect();
    let title = match &output {
        Some(output) => format!("windlass link: {}", output.name()),
        None => format!("windlass link: {}", names.join(", ")),
    };
    let series = vec![PathSeries::default(); paths.len()];
    Live::start(LinkPanels { title, paths, series, last: None, output })
}

impl Panels<Sample> for LinkPanels {
    fn take(&mut self, now: Sample) {
        if let Some(then) = &self.last {
            let seconds = (now.at - then.at).as_secs_f64().max(1e-3);
            let paths = now.paths.iter().zip(&then.paths).zip(&mut self.series);
            for ((now, then), series) in paths {
                let bytes = now.delivered_bytes - then.delivered_bytes;
                series.rate.push(bytes as f64 * 8.0 / seconds);
                series.queue_packets.push(now.queue_packets as f64);
                let marks = now.queue.marked - then.queue.marked;
                series.marks_per_s.push(marks as f64 / seconds);
                series.drops_per_s.push((dropped(now) - dropped(then)) as f64 / seconds);
            }
        }
        self.last = Some(now);
    }

    fn screen(&self) -> Screen {
        let Some(last) = &self.last else { return Screen::default() };
        let rows = self.paths.iter().zip(&self.series).zip(&last.paths);
        let table = Table {
            name: "directions".to_owned(),
            columns: vec![
                "path",
                "rate",
                "queue",
                "ms",
                "marks",
                "drops",
                "lost",
                "marks/s",
                "drops/s",
                "delivered",
            ],
            trend: Some("queue over time"),
            rows: rows.map(|((path, series), stats)| row(path, series, stats)).collect(),
        };
        let output = self.output.as_ref().map(|output| Output {
            name: format!("output of {}", output.name()),
            lines: output.last_lines(),
        });
        Screen {
            title: self.title.clone(),
            facts: vec![format!("{:.0} s", last.at.as_secs_f64())],
            charts: self.charts(),
            tables: vec![table],
            output,
            ..Screen::default()
        }
    }
}

impl LinkPanels {
    fn charts(&self) -> Vec<Chart> {
        let packets = |count: f64| format!("{count:.0} pkt");
        let of_path = |(path, series): (&ShownPath, &PathSeries)| {
            let name = &path.name;
            [
                Chart::new(format!("rate {name}"), &series.rate, RECENT, bits, Tone::Rate),
                Chart::new(format!("queue {name}"), &series.queue_packets, 1, packets, Tone::Queue),
            ]
        };
        self.paths.iter().zip(&self.series).take(CHARTED).flat_map(of_path).collect()
    }
}

/// Packets that did not come to the wire: dropped by the queue or before it.
fn dropped(stats: &PathStats) -> u64 {
    stats.queue.dropped() + stats.policed
}

fn row(path: &ShownPath, series: &PathSeries, stats: &PathStats) -> Row {
    let rate = series.rate.recent_mean(RECENT);
    let wait =
        wait_ms(stats.queue_bytes, path.rate.map_or(rate, |rate| rate.bits_per_sec() as f64));
    let cells = vec![
        path.name.clone(),
        bits(rate),
        format!("{} pkt", stats.queue_packets),
        wait.map_or("-".to_owned(), |ms| format!("{ms:.1}")),
        stats.queue.marked.to_string(),
        dropped(stats).to_string(),
        stats.lost.to_string(),
        scaled::per_s(series.marks_per_s.recent_mean(RECENT)),
        scaled::per_s(series.drops_per_s.recent_mean(RECENT)),
        scaled::size(stats.delivered_bytes),
    ];
    Row { cells, trend: series.queue_packets.values() }
}

/// The time in milliseconds that a queue takes to leave at a rate in bits per second.
fn wait_ms(queue_bytes: u64, rate: f64) -> Option<f64> {
    match (queue_bytes, rate > 0.0) {
        (0, _) => Some(0.0),
        (_, true) => Some(queue_bytes as f64 * 8e3 / rate),
        (_, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panels() -> LinkPanels {
        let rate = BitRate::from_bits_per_sec(8_000_000);
        let fixed = PathConfig { rate, ..PathConfig::default() };
        let paths: Arc<[ShownPath]> = Arc::new([
            ShownPath::new(1, "inside", Direction::Up, &fixed),
            ShownPath::new(1, "inside", Direction::Down, &PathConfig::default()),
        ]);
        let series = vec![PathSeries::default(); 2];
        LinkPanels { title: "windlass link".to_owned(), paths, series, last: None, output: None }
    }

    fn sample(ms: u64, up: PathStats) -> Sample {
        let at = Time::ZERO + Span::from_millis(ms);
        Sample { at, paths: vec![up, PathStats::default()] }
    }

    #[test]
    fn each_direction_has_its_rate_and_its_queue_in_packets_and_time() {
        let mut panels = panels();
        panels.take(sample(0, PathStats::default()));
        let mut up = PathStats {
            delivered_bytes: 250_000,
            queue_packets: 10,
            queue_bytes: 15_000,
            lost: 2,
            policed: 1,
            ..PathStats::default()
        };
        up.queue.marked = 6;
        up.queue.dropped_full = 3;
        panels.take(sample(500, up));
        let screen = panels.screen();
        let charts: Vec<String> = screen
            .charts
            .iter()
            .map(|chart| format!("{} {}", chart.name, (chart.format)(chart.latest)))
            .collect();
        let expected = [
            "rate inside up 4.00 Mbit/s",
            "queue inside up 10 pkt",
            "rate inside down 0 bit/s",
            "queue inside down 0 pkt",
        ];
        assert_eq!(charts, expected);
        let cells = &screen.tables[0].rows[0].cells;
        let expected = [
            "inside up",
            "4.00 Mbit/s",
            "10 pkt",
            "15.0",
            "6",
            "4",
            "2",
            "12.0/s",
            "8.0/s",
            "250.00 kB",
        ];
        assert_eq!(cells[..], expected);
        assert_eq!(screen.tables[0].columns.len(), cells.len());
        assert_eq!(screen.tables[0].rows[1].cells[3], "0.0", "an empty queue does not wait");
    }

    #[test]
    fn a_queue_before_a_link_that_stands_still_has_no_time() {
        assert_eq!(wait_ms(1000, 0.0), None);
        assert_eq!(wait_ms(1000, 1e6), Some(8.0));
    }
}
