//! The trace of a sender's connections: samples, at regular times.

use crate::failure::Failure;
use crate::output_file::OutputFile;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use windlass_tou_perf::StreamFigures;

const HEADER: &str = "time_s,stream,cwnd_bytes,ssthresh_bytes,srtt_ms,in_flight_bytes,acked_bytes,\
    retransmitted_segments,inflation_bytes";

/// A file that waits for its samples.
pub(super) struct Trace {
    file: OutputFile,
    interval: Duration,
}

/// Samples are being taken.
pub(super) struct Tracing {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<()>>,
}

impl Trace {
    /// Makes the file, which must not exist.
    pub(super) fn create(path: &Path, interval: Duration) -> Result<Trace, Failure> {
        let refuse = |error| Failure::Input(format!("--trace {}: {error}", path.display()));
        let mut file = OutputFile::create_new(path).map_err(refuse)?;
        writeln!(file, "{HEADER}").map_err(refuse)?;
        Ok(Trace { file, interval })
    }

    /// Samples connections from now on. `samplers` return the present figures of each.
    pub(super) fn begin(
        mut self,
        samplers: Vec<impl Fn() -> StreamFigures + Send + 'static>,
    ) -> Tracing {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let start = Instant::now();
            let mut next = start;
            loop {
                let last = stopped.load(Ordering::Relaxed);
                self.sample(start.elapsed(), &samplers)?;
                if last {
                    return self.file.finish();
                }
                // A sample that comes late does not move those after it, unless it missed some.
                next = (next + self.interval).max(Instant::now());
                thread::park_timeout(next.saturating_duration_since(Instant::now()));
            }
        });
        Tracing { stop, thread }
    }

    fn sample(
        &mut self,
        time: Duration,
        samplers: &[impl Fn() -> StreamFigures],
    ) -> io::Result<()> {
        for (index, sampler) in samplers.iter().enumerate() {
            let now = sampler();
            let ssthresh = now.ssthresh_bytes.map_or_else(String::new, |bytes| bytes.to_string());
            let srtt = now.rtt_us.map_or_else(String::new, |us| (us as f64 / 1e3).to_string());
            writeln!(
                self.file,
                "{}.{:09},{index},{},{ssthresh},{srtt},{},{},{},{}",
                time.as_secs(),
                time.subsec_nanos(),
                now.cwnd_bytes,
                now.in_flight_bytes,
                now.bytes,
                now.retransmitted_segments,
                now.inflation_bytes,
            )?;
        }
        Ok(())
    }
}

impl Tracing {
    /// Takes a last sample and writes what is left.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        let written = self.thread.join().unwrap_or_else(|_| Err(io::Error::other("it ended")));
        written.map_err(|error| Failure::io("writing the trace", &error))
    }
}
