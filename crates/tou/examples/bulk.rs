//! One stream at full speed: `bulk receive ADDRESS BUFFER` and `bulk send ADDRESS BUFFER SECONDS`.
//! BUFFER is the size of the send and receive buffers in KiB. With `--secure` as the last word of
//! both, the stream is encrypted; that needs the feature `secure`.
//!
//! The receiver prints `ready` when it listens. At the end it prints the bytes received and the
//! seconds between the first and the last of them. The sender prints its retransmissions. Both print
//! JSON, with the CPU time of the process. `benches/tou.py` runs this program.

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};
use windlass_tou::{Options, TouListener, TouStream};

/// Bytes per write and read.
const BLOCK: usize = 256 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let mut words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let is_secure = words.pop_if(|word| *word == "--secure").is_some();
    match words[..] {
        ["receive", address, buffer] => {
            let listener = TouListener::bind_with(address, &options(buffer)?)?;
            println!("ready");
            let (stream, _) = listener.accept()?;
            let connection = stream.clone();
            if is_secure {
                receive(secure::accept(stream)?)?
            } else {
                receive(stream)?
            }
            // An encrypted stream ends before the FIN, and the sender waits for the ACK of that. A
            // reset behind it is none of this measurement: all data has arrived.
            let _ = io::copy(&mut &connection, &mut io::sink());
            Ok(())
        }
        ["send", address, buffer, seconds] => {
            let time = Duration::from_secs_f64(seconds.parse()?);
            let stream = TouStream::connect_with(address, &options(buffer)?)?;
            let connection = stream.clone();
            if is_secure {
                let stream = secure::connect(stream)?;
                send(&stream, time)?;
                stream.finish(None)?;
            } else {
                send(&stream, time)?;
                stream.finish(None)?;
            }
            report(&connection)
        }
        _ => Err("expected receive ADDRESS BUFFER, or send ADDRESS BUFFER SECONDS".into()),
    }
}

fn options(buffer: &str) -> Result<Options, Box<dyn Error>> {
    let bytes = buffer.parse::<u64>()? << 10;
    Ok(Options { send_buffer: bytes, receive_buffer: bytes, ..Options::default() })
}

fn receive(mut stream: impl Read) -> Result<(), Box<dyn Error>> {
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

fn send(mut stream: impl Write, time: Duration) -> io::Result<()> {
    let block = vec![7; BLOCK];
    let start = Instant::now();
    while start.elapsed() < time {
        stream.write_all(&block)?;
    }
    Ok(())
}

fn report(connection: &TouStream) -> Result<(), Box<dyn Error>> {
    let (stats, cpu_s) = (connection.info()?.stats, cpu_s());
    println!(
        "{{\"retransmitted\": {}, \"fast_retransmits\": {}, \"timeouts\": {}, \
         \"tail_probes\": {}, \"cpu_s\": {cpu_s:.6}}}",
        stats.retransmitted_segments, stats.fast_retransmits, stats.timeouts, stats.tail_probes
    );
    Ok(())
}

#[cfg(feature = "secure")]
mod secure {
    use std::io;
    use windlass_tou::TouStream;
    use windlass_tou::secure::{Allow, Identity, SecretKey, SecureStream};

    /// A key that everyone knows, for measurements only.
    fn identity() -> Identity {
        Identity::new(&SecretKey::from_seed([7; 32]))
    }

    pub(crate) fn accept(stream: TouStream) -> io::Result<SecureStream> {
        let own = identity();
        SecureStream::accept(stream, &own, &Allow::keys([own.public_key()]))
    }

    pub(crate) fn connect(stream: TouStream) -> io::Result<SecureStream> {
        let own = identity();
        SecureStream::connect(stream, &own, own.public_key())
    }
}

#[cfg(not(feature = "secure"))]
mod secure {
    use std::io::{Error, ErrorKind, Result};
    use windlass_tou::TouStream;

    fn missing() -> Error {
        Error::new(ErrorKind::Unsupported, "--secure needs the feature secure")
    }

    pub(crate) fn accept(_: TouStream) -> Result<TouStream> {
        Err(missing())
    }

    pub(crate) fn connect(_: TouStream) -> Result<TouStream> {
        Err(missing())
    }
}

/// User and system time of all threads, in seconds.
fn cpu_s() -> f64 {
    let taken = clock_gettime(ClockId::ProcessCPUTime);
    taken.tv_sec as f64 + taken.tv_nsec as f64 * 1e-9
}
