//! `windlass tou perf client --live`.

use crate::live::{Chart, Panels, Row, Screen, Series, Table, Tone};
use crate::scaled::{self, bits, size};
use std::net::SocketAddr;
use std::time::Duration;
use windlass_tou_perf::{Direction, Interval, Limit, StreamFigures, Test, bit_per_s, sum};

/// The time between two samples.
pub(super) const INTERVAL: Duration = Duration::from_millis(250);

/// Rate, cwnd, round-trip time and losses of the connections of a test.
pub(super) struct PerfPanels {
    test: Test,
    peer: SocketAddr,
    /// This end sends, so it knows cwnd and losses.
    sends: bool,
    last: Interval,
    bytes: u64,
    streams: Vec<Stream>,
    rate: Series,
    cwnd: Series,
    rtt_ms: Series,
    retransmitted_per_s: Series,
}

/// Sums and series of a connection since its beginning.
#[derive(Clone, Default)]
struct Stream {
    /// Of a sender its cwnd, of a receiver its rate.
    trend: Series,
    rate: Series,
    retransmitted: u64,
    timeouts: u64,
}

impl PerfPanels {
    pub(super) fn new(test: &Test, peer: SocketAddr) -> PerfPanels {
        PerfPanels {
            test: test.clone(),
            peer,
            sends: test.direction == Direction::Up,
            last: Interval::default(),
            bytes: 0,
            streams: vec![Stream::default(); usize::from(test.streams)],
            rate: Series::default(),
            cwnd: Series::default(),
            rtt_ms: Series::default(),
            retransmitted_per_s: Series::default(),
        }
    }

    fn progress(&self) -> f64 {
        match self.test.limit {
            Limit::TimeMs(ms) => self.last.to_us as f64 / 1e3 / (ms + self.test.omit_ms) as f64,
            Limit::Bytes(bytes) => self.bytes as f64 / bytes.max(1) as f64,
        }
    }

    fn charts(&self) -> Vec<Chart> {
        let rate = Chart::new("rate", &self.rate, 4, bits, Tone::Rate);
        if !self.sends {
            return vec![rate];
        }
        let cwnd = |bytes: f64| size(bytes as u64);
        vec![
            rate,
            Chart::new("cwnd", &self.cwnd, 1, cwnd, Tone::Window),
            Chart::new("RTT", &self.rtt_ms, 1, scaled::ms, Tone::Queue),
            Chart::new("sent again", &self.retransmitted_per_s, 4, scaled::per_s, Tone::Signal),
        ]
    }

    fn row(&self, index: usize, now: &StreamFigures, stream: &Stream) -> Row {
        let mut cells = vec![index.to_string(), bits(stream.rate.recent_mean(4))];
        if self.sends {
            let rtt = now.rtt_us.map_or("-".to_owned(), |us| format!("{:.1}", us as f64 / 1e3));
            cells.extend([
                size(now.cwnd_bytes),
                rtt,
                stream.retransmitted.to_string(),
                stream.timeouts.to_string(),
                size(now.in_flight_bytes),
            ]);
        }
        Row { cells, trend: stream.trend.values() }
    }

    fn table(&self) -> Table {
        let (columns, trend) = match self.sends {
            true => (
                vec!["connection", "rate", "cwnd", "RTT ms", "sent again", "RTOs", "in flight"],
                "cwnd over time",
            ),
            false => (vec!["connection", "rate"], "rate over time"),
        };
        let rows = self.last.streams.iter().zip(&self.streams).enumerate();
        Table {
            name: "connections".to_owned(),
            columns,
            trend: Some(trend),
            rows: rows.map(|(index, (now, stream))| self.row(index, now, stream)).collect(),
        }
    }
}

impl Panels<Interval> for PerfPanels {
    fn take(&mut self, interval: Interval) {
        let span_us = interval.to_us - interval.from_us;
        let rate = |bytes| bit_per_s(bytes, span_us).unwrap_or_default();
        self.bytes += interval.bytes();
        self.rate.push(rate(interval.bytes()));
        self.cwnd.push(sum(&interval.streams, |stream| stream.cwnd_bytes) as f64);
        self.rtt_ms.push(interval.rtt_ms().unwrap_or_default());
        let again = sum(&interval.streams, |stream| stream.retransmitted_segments);
        self.retransmitted_per_s.push(again as f64 * 1e6 / span_us.max(1) as f64);
        for (stream, now) in self.streams.iter_mut().zip(&interval.streams) {
            stream.rate.push(rate(now.bytes));
            stream.trend.push(if self.sends { now.cwnd_bytes as f64 } else { rate(now.bytes) });
            stream.retransmitted += now.retransmitted_segments;
            stream.timeouts += now.timeouts;
        }
        self.last = interval;
    }

    fn screen(&self) -> Screen {
        let direction = if self.sends { "to" } else { "from" };
        let mut facts = vec![
            format!("{:.0} s", self.last.to_us as f64 / 1e6),
            size(self.bytes),
            self.test.controller.clone(),
        ];
        if self.last.omitted {
            facts.insert(1, "(omitted)".to_owned());
        }
        Screen {
            title: format!("windlass tou perf: {direction} {}", self.peer),
            facts,
            progress: Some(self.progress()),
            charts: self.charts(),
            tables: vec![self.table()],
            ..Screen::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panels(direction: Direction) -> PerfPanels {
        let test = Test::new(direction, 2, Limit::TimeMs(4000), 1000, "cubic".to_owned());
        let test = test.expect("within the limits");
        PerfPanels::new(&test, SocketAddr::from(([10, 0, 0, 2], 7000)))
    }

    fn interval(from_us: u64, bytes: u64) -> Interval {
        let stream = StreamFigures {
            bytes,
            cwnd_bytes: 20_000,
            rtt_us: Some(30_000),
            retransmitted_segments: 2,
            ..StreamFigures::default()
        };
        let streams = vec![stream, StreamFigures { bytes: 0, ..stream }];
        Interval { from_us, to_us: from_us + 500_000, streams, omitted: false }
    }

    #[test]
    fn a_sender_shows_rate_window_and_losses_of_each_connection() {
        let mut panels = panels(Direction::Up);
        panels.take(interval(0, 125_000));
        panels.take(interval(500_000, 375_000));
        let screen = panels.screen();
        let latest: Vec<String> =
            screen.charts.iter().map(|chart| (chart.format)(chart.latest)).collect();
        assert_eq!(latest, ["4.00 Mbit/s", "40.00 kB", "30.0 ms", "8.0/s"]);
        assert_eq!(screen.charts[0].values, [2e6, 6e6]);
        let cells = &screen.tables[0].rows[0].cells;
        assert_eq!(cells[..], ["0", "4.00 Mbit/s", "20.00 kB", "30.0", "4", "0", "0 B"]);
        assert_eq!(screen.tables[0].columns.len(), cells.len());
        assert_eq!(screen.progress, Some(0.2), "a second of five, the omitted one among them");
        assert_eq!(screen.facts, ["1 s", "500.00 kB", "cubic"]);
    }

    #[test]
    fn a_receiver_shows_rates_alone() {
        let mut panels = panels(Direction::Down);
        panels.take(interval(0, 125_000));
        let screen = panels.screen();
        assert_eq!(screen.charts.len(), 1);
        assert_eq!(screen.tables[0].rows[0].cells, ["0", "2.00 Mbit/s"]);
        assert_eq!(screen.tables[0].rows[0].trend, [2e6]);
        assert!(screen.title.contains("from 10.0.0.2:7000"));
    }
}
