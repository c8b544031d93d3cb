//! One stream at full speed: `bulk receive ADDRESS BUFFER` and `bulk send ADDRESS BUFFER SECONDS`.
//! BUFFER is the size of the send and receive buffers in KiB.
//!
//! The receiver prints `ready` when it listens. At the end it prints the bytes received and the
//! seconds between the first and the last of them. The sender prints its retransmissions. Both print
//! JSON, with the CPU time of the process. `benches/tou.py` runs this program.

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use windlass_tou::{Options, TouListener, TouStream};

/// Bytes per write and read.
const BLOCK: usize = 256 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["receive", address, buffer] => receive(address, &options(buffer)?),
        ["send", address, buffer, seconds] => {
            send(address, &options(buffer)?, Duration::from_secs_f64(seconds.parse()?))
        }
        _ => Err("expected receive ADDRESS BUFFER, or send ADDRESS BUFFER SECONDS".into()),
    }
}

fn options(buffer: &str) -> Result<Options, Box<dyn Error>> {
    let bytes = buffer.parse::<u64>()? << 10;
    Ok(Options { send_buffer: bytes, receive_buffer: bytes, ..Options::default() })
}

fn receive(address: &str, options: &Options) -> Result<(), Box<dyn Error>> {
    let listener = TouListener::bind_with(address, options)?;
    println!("ready");
    let (mut stream, _) = listener.accept()?;
    let mut block = vec![0; BLOCK];
    let mut bytes = stream.read(&mut block)? as u64;
    let first = Instant::now();
    let mut last = first;
    loop {
        match stream.read(&mut block)? {
            0 => break,
            taken => bytes += taken as u64,
        }
        last = Instant::now();
    }
    let seconds = last.duration_since(first).as_secs_f64();
    let cpu_s = cpu_s();
    println!("{{\"bytes\": {bytes}, \"seconds\": {seconds:.6}, \"cpu_s\": {cpu_s:.6}}}");
    Ok(())
}

fn send(address: &str, options: &Options, time: Duration) -> Result<(), Box<dyn Error>> {
    let mut stream = TouStream::connect_with(address, options)?;
    let block = vec![7; BLOCK];
    let start = Instant::now();
    while start.elapsed() < time {
        stream.write_all(&block)?;
    }
    stream.finish(None)?;
    let (stats, cpu_s) = (stream.info()?.stats, cpu_s());
    println!(
        "{{\"retransmitted\": {}, \"fast_retransmits\": {}, \"timeouts\": {}, \
         \"tail_probes\": {}, \"cpu_s\": {cpu_s:.6}}}",
        stats.retransmitted_segments, stats.fast_retransmits, stats.timeouts, stats.tail_probes
    );
    Ok(())
}

/// User and system time of all threads, in seconds.
fn cpu_s() -> f64 {
    let taken = clock_gettime(ClockId::ProcessCPUTime);
    taken.tv_sec as f64 + taken.tv_nsec as f64 * 1e-9
}
