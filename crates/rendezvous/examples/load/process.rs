//! Measurements of the server process: CPU time, memory and counters, from /proc and from its
//! metrics.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Ticks per second of the times in /proc (USER_HZ).
const TICKS_PER_S: f64 = 100.0;

/// CPU time of a process, in seconds.
pub(crate) fn cpu_s(pid: u32) -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, which may contain anything, is in parentheses.
    let (_, rest) = stat.rsplit_once(") ").ok_or("no name in stat")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |at: usize| -> Result<f64, Box<dyn Error>> {
        Ok(fields.get(at).ok_or("a short stat")?.parse()?)
    };
    Ok((ticks(11)? + ticks(12)?) / TICKS_PER_S)
}

/// Resident memory of a process.
pub(crate) fn resident_mib(pid: u32) -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

/// The page of metrics.
pub(crate) fn metrics(at: SocketAddr) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(at)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    Ok(page)
}

/// The value of a metric.
pub(crate) fn value(page: &str, name: &str) -> Result<f64, Box<dyn Error>> {
    let mut lines = page.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines.find(|(found, _)| *found == name).ok_or("no such metric")?;
    Ok(value.parse()?)
}
