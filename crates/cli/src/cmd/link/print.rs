//! The output of a link: the log, live figures and the summary.

use super::live::ShownPath;
use crate::envelope::Document;
use crate::failure::Failure;
use crate::output_file::OutputFile;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path as FilePath;
use std::sync::Arc;
use windlass_base::{Distribution, Sketch, Span, Time};
use windlass_link::linux::{Attendant, Carrier};
use windlass_link::{Direction, LinkConfig, PathConfig, PathStats};

/// The first line of the log.
const LOG_HEADER: &str = "time_s,port,direction,queue_packets,average_queue,queue_bytes,arrived,\
    marked,dropped,lost,duplicated,corrupted,delivered,delivered_bytes,policed";
/// Time between live figures.
const LIVE_INTERVAL: Span = Span::from_secs(1);

/// How live figures are shown.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum LiveFigures {
    No,
    Text,
    Json,
}

/// Looks at a link at work, and reports.
pub(super) struct Report {
    seed: u64,
    paths: Vec<Reported>,
    log: Option<Log>,
    live: LiveFigures,
    next_live: Time,
}

/// A path that is reported: any that does something to packets.
struct Reported {
    name: String,
    port: usize,
    direction: Direction,
    /// Bytes delivered at the last live figures.
    delivered_bytes: u64,
}

struct Log {
    file: OutputFile,
    interval: Span,
    next: Time,
}

impl Report {
    /// A report on a link. The log's file is made here, and must not exist.
    pub(super) fn new(
        link: &LinkConfig,
        log: Option<(&FilePath, Span)>,
        live: LiveFigures,
    ) -> Result<Report, Failure> {
        let log = log.map(|(path, interval)| Log::create(path, interval)).transpose()?;
        Ok(Report { seed: link.seed, paths: reported(link), log, live, next_live: Time::ZERO })
    }

    /// The paths that are reported, for a view.
    pub(super) fn shown_paths(&self, link: &LinkConfig) -> Arc<[ShownPath]> {
        let shown = |path: &Reported| {
            let port = &link.ports[path.port];
            let config = match path.direction {
                Direction::Up => &port.up,
                Direction::Down => &port.down,
            };
            ShownPath::new(path.port, &path.name, path.direction, config)
        };
        self.paths.iter().map(shown).collect()
    }

    /// The summary of a link that has ended.
    pub(super) fn summary(&self, carrier: &Carrier) -> Document<Value> {
        self.figures("link.summary", carrier, |_, _| Value::Null)
    }

    /// Writes what is left of the log.
    pub(super) fn finish(&mut self, carrier: &Carrier) -> Result<(), Failure> {
        let Some(mut log) = self.log.take() else { return Ok(()) };
        log.write(carrier.now(), &self.paths, carrier)
            .and_then(|()| log.file.finish())
            .map_err(|error| Failure::io("writing the log", &error))
    }

    fn figures(
        &self,
        kind: &'static str,
        carrier: &Carrier,
        rate: impl Fn(&Reported, &PathStats) -> Value,
    ) -> Document<Value> {
        let paths: Vec<Value> = self
            .paths
            .iter()
            .map(|path| {
                let stats = path.stats(carrier);
                let mut figures = path_figures(path, &stats);
                let delays = path.delays(carrier).distribution();
                figures["queue_delay_ms"] = delays.map_or(Value::Null, in_ms);
                let rate = rate(path, &stats);
                if !rate.is_null() {
                    figures["bit_per_s"] = rate;
                }
                figures
            })
            .collect();
        let late = |per_mille| carrier.lateness().quantile(per_mille).map(Span::as_millis_f64);
        let body = json!({
            "seed": self.seed,
            "time_s": carrier.now().as_secs_f64(),
            "paths": paths,
            "unroutable": carrier.network().stats().unroutable,
            "refused": carrier.refused(),
            "late_ms": {
                "p50": late(500),
                "p99": late(990),
                "max": carrier.lateness().max().map(Span::as_millis_f64),
            },
        });
        Document::new(kind, body)
    }

    fn live_json(&self, carrier: &Carrier) -> Document<Value> {
        self.figures("link.live", carrier, |path, stats| {
            let bytes = stats.delivered_bytes - path.delivered_bytes;
            json!(bytes as f64 * 8.0 / LIVE_INTERVAL.as_secs_f64())
        })
    }

    fn live_text(&self, now: Time, carrier: &Carrier) -> String {
        let line = |path: &Reported| {
            let stats = path.stats(carrier);
            let mbit = (stats.delivered_bytes - path.delivered_bytes) as f64 * 8.0 / 1e6;
            let policed = match stats.policed {
                0 => String::new(),
                count => format!("  policed {count}"),
            };
            let delays = path.delays(carrier);
            let delay = |per_mille| delays.quantile(per_mille).unwrap_or_default().as_millis_f64();
            let (median, high) = (delay(500), delay(990));
            format!(
                "{:8.1} s  {:>10} {:4}  {mbit:9.3} Mbit/s  queue {:4}, ms p50 {median:.1} p99 {high:.1}  marked {}  dropped {}{policed}  lost {}",
                now.as_secs_f64(),
                path.name,
                path.direction.name(),
                stats.queue_packets,
                stats.queue.marked,
                stats.queue.dropped(),
                stats.lost,
            )
        };
        self.paths.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn look_live(&mut self, now: Time, carrier: &Carrier) -> io::Result<()> {
        if self.live == LiveFigures::No || now < self.next_live {
            return Ok(());
        }
        self.next_live = now + LIVE_INTERVAL;
        let text = match self.live {
            LiveFigures::Json => self.live_json(carrier).line(),
            LiveFigures::Text | LiveFigures::No => self.live_text(now, carrier),
        };
        for path in &mut self.paths {
            path.delivered_bytes = path.stats(carrier).delivered_bytes;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush())
    }
}

impl Attendant for Report {
    fn next_look(&self) -> Time {
        let log = self.log.as_ref().map_or(Time::MAX, |log| log.next);
        if self.live == LiveFigures::No { log } else { log.min(self.next_live) }
    }

    fn look(&mut self, now: Time, carrier: &Carrier) -> io::Result<()> {
        if let Some(log) = &mut self.log
            && log.next <= now
        {
            // A look that comes late does not move those after it, unless it missed some.
            log.next = (log.next + log.interval).max(now);
            log.write(now, &self.paths, carrier)?;
        }
        self.look_live(now, carrier)
    }
}

impl Log {
    fn create(path: &FilePath, interval: Span) -> Result<Log, Failure> {
        let refuse = |error| Failure::Input(format!("--log {}: {error}", path.display()));
        if interval.is_zero() {
            return Err(Failure::Input("--log-interval: expected a time above zero".into()));
        }
        let mut file = OutputFile::create_new(path).map_err(refuse)?;
        writeln!(file, "{LOG_HEADER}").map_err(refuse)?;
        Ok(Log { file, interval, next: Time::ZERO })
    }

    fn write(&mut self, now: Time, paths: &[Reported], carrier: &Carrier) -> io::Result<()> {
        for path in paths {
            let stats = path.stats(carrier);
            let average = carrier.network().average_packets(path.port, path.direction);
            writeln!(
                self.file,
                "{}.{:09},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                now.as_nanos() / 1_000_000_000,
                now.as_nanos() % 1_000_000_000,
                path.name,
                path.direction.name(),
                stats.queue_packets,
                average.map_or_else(String::new, |average| average.to_string()),
                stats.queue_bytes,
                stats.queue.offered,
                stats.queue.marked,
                stats.queue.dropped(),
                stats.lost,
                stats.duplicated,
                stats.corrupted,
                stats.delivered,
                stats.delivered_bytes,
                stats.policed,
            )?;
        }
        Ok(())
    }
}

impl Reported {
    fn delays<'a>(&self, carrier: &'a Carrier) -> &'a Sketch {
        carrier.network().queue_delays(self.port, self.direction)
    }

    fn stats(&self, carrier: &Carrier) -> PathStats {
        carrier.network().path_stats(self.port, self.direction)
    }
}

/// The paths that do something; all of them, if none does.
fn reported(link: &LinkConfig) -> Vec<Reported> {
    let all = |plain_too: bool| {
        let of_port = move |(port, config): (usize, &windlass_link::PortConfig)| {
            [(Direction::Up, config.up.clone()), (Direction::Down, config.down.clone())]
                .into_iter()
                .filter(move |(_, path)| plain_too || *path != PathConfig::default())
                .map(|(direction, _)| Reported {
                    name: config.name.clone(),
                    port,
                    direction,
                    delivered_bytes: 0,
                })
                .collect::<Vec<_>>()
        };
        link.ports.iter().enumerate().flat_map(of_port).collect::<Vec<_>>()
    };
    let paths = all(false);
    if paths.is_empty() { all(true) } else { paths }
}

fn in_ms(distribution: Distribution) -> Value {
    distribution.named_ms().into_iter().collect()
}

fn path_figures(path: &Reported, stats: &PathStats) -> Value {
    json!({
        "port": path.name,
        "direction": path.direction.name(),
        "queue_packets": stats.queue_packets,
        "arrived": stats.queue.offered,
        "arrived_bytes": stats.queue.offered_bytes,
        "marked": stats.queue.marked,
        "already_ce": stats.queue.already_ce,
        "dropped": {
            "full": stats.queue.dropped_full,
            "early": stats.queue.dropped_early,
            "above_max": stats.queue.dropped_above_max,
            "sojourn": stats.queue.dropped_sojourn,
        },
        "policed": stats.policed,
        "lost": stats.lost,
        "duplicated": stats.duplicated,
        "corrupted": stats.corrupted,
        "delivered": stats.delivered,
        "delivered_bytes": stats.delivered_bytes,
    })
}
