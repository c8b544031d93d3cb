//! One stream as fast as it goes: `bulk receive ADDRESS` and `bulk send ADDRESS SECONDS`.
//!
//! Each end prints bytes, seconds and its CPU time.

use std::error::Error;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use windlass_tou::{Options, TouListener, TouStream};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let megabytes = std::env::var("BUFFER").ok().and_then(|text| text.parse::<f64>().ok());
    let bytes = (megabytes.unwrap_or(4.0) * 1048576.0) as u64;
    let options = Options { send_buffer: bytes, ..Options::default() };
    match words[..] {
        ["receive", address] => receive(address, &options),
        ["send", address, seconds] => send(address, seconds.parse()?, &options),
        _ => Err("expected receive ADDRESS, or send ADDRESS SECONDS".into()),
    }
}

fn receive(address: &str, options: &Options) -> Result<(), Box<dyn Error>> {
    let listener = TouListener::bind_with(address, options)?;
    let (mut stream, _) = listener.accept()?;
    let (mut block, mut bytes) = (vec![0; 256 << 10], 0);
    let start = Instant::now();
    loop {
        match stream.read(&mut block)? {
            0 => break,
            taken => bytes += taken as u64,
        }
    }
    tell(bytes, start.elapsed());
    Ok(())
}

fn send(address: &str, seconds: f64, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut stream = TouStream::connect_with(address, options)?;
    let block = vec![7; 256 << 10];
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed().as_secs_f64() < seconds {
        stream.write_all(&block)?;
        bytes += block.len() as u64;
    }
    stream.finish(None)?;
    tell(bytes, start.elapsed());
    let info = stream.info()?;
    println!("{info:?}");
    Ok(())
}

fn tell(bytes: u64, elapsed: Duration) {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let cpu = cpu.tv_sec as f64 + cpu.tv_nsec as f64 * 1e-9;
    let seconds = elapsed.as_secs_f64();
    println!(
        "{bytes} bytes, {seconds:.3} s, {:.2} Gbit/s, CPU {cpu:.3} s, {:.3} s/GB",
        bytes as f64 * 8e-9 / seconds,
        cpu / (bytes as f64 / 1e9)
    );
}
