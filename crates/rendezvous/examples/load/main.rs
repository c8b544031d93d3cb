//! Measures a rendezvous under load: memory and CPU time with many registered hosts, and how long
//! introductions take, with and without a flood of junk.
//!
//! ```sh
//! cargo run --release -p windlass-rendezvous --features daemon --example load -- [HOSTS] [SECONDS] [JUNK]
//! ```
//!
//! HOSTS registered hosts (10000), each with a socket of its own; SECONDS per measurement (60); JUNK
//! datagrams a second in the second measurement (100000). The server is a process of its own. Prints
//! a table in Markdown.
//!
//! `streams [HOSTS] [SECONDS]` measures with hosts over TLS (10000, 600).
//!
//! `full [KEYS]` instead fills the table of registrations (100000) and measures what requests cost then.

mod full;
mod hosts;
mod junk;
mod process;
mod streams;

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hosts::Hosts;
use streams::Streams;
use windlass_identity::SecretKey;
use windlass_rendezvous::daemon::{Daemon, Options, serve_metrics};

/// Introductions a second while measuring.
const INTRODUCTIONS_PER_S: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "serve") {
        return serve();
    }
    if arguments.first().is_some_and(|first| first == "full") {
        let keys = arguments.get(1).map_or(Ok(100_000), |text| text.parse())?;
        return full::measure(keys).ok_or_else(|| "the server did not answer".into());
    }
    let number = |at: usize, default: u32| match arguments.get(at) {
        Some(text) => text.parse(),
        None => Ok(default),
    };
    if arguments.first().is_some_and(|first| first == "streams") {
        let (hosts, seconds) = (number(1, 10_000)?, number(2, 600)?);
        return measure_streams(hosts, Duration::from_secs(seconds.into()));
    }
    let (hosts, seconds, junk) = (number(0, 10_000)?, number(1, 60)?, number(2, 100_000)?);
    measure(hosts, Duration::from_secs(seconds.into()), junk)
}

/// The server, until its standard input ends.
fn serve() -> Result<(), Box<dyn Error>> {
    let any: SocketAddr = "127.0.0.1:0".parse()?;
    let mut options = Options::new(SecretKey::generate()?, vec![any]);
    options.relay = None;
    options.tls = vec![any];
    let mut daemon = Daemon::bind(options)?;
    let metrics = serve_metrics(any, daemon.handle())?;
    let addresses = daemon.addresses();
    println!("{} {} {metrics}", addresses.udp[0], addresses.tls[0]);
    let handle = daemon.handle();
    thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        handle.stop();
    });
    Ok(daemon.run(|| ())?)
}

struct Server {
    child: Child,
    address: SocketAddr,
    tls: SocketAddr,
    metrics: SocketAddr,
}

impl Server {
    fn start() -> Result<Server, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let mut parsed = line.split_whitespace().map(str::parse::<SocketAddr>);
        let mut next = || parsed.next().ok_or("no addresses");
        let (address, tls, metrics) = (next()??, next()??, next()??);
        Ok(Server { child, address, tls, metrics })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn measure(count: u32, time: Duration, junk: u32) -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    let pid = server.child.id();
    let empty = process::resident_mib(pid)?;
    let start = Instant::now();
    let mut hosts = Hosts::start(count, server.address)?;
    hosts.register()?;
    eprintln!("{count} hosts registered in {:.1} s", start.elapsed().as_secs_f64());
    println!(
        "| load | hosts | keep-alives/s | junk/s received | CPU | resident | introductions | answered | median | 99 % | longest |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    println!("| none | 0 | 0 | 0 | | {empty:.0} MiB | | | | | |");
    for (name, rate) in [("hosts", 0), ("hosts and junk", junk)] {
        let stop = Arc::new(AtomicBool::new(false));
        let flood = (rate > 0).then(|| {
            let (stop, to) = (Arc::clone(&stop), server.address);
            thread::spawn(move || junk::flood(to, rate, &stop))
        });
        let before = Sample::take(&server)?;
        hosts.serve(time, INTRODUCTIONS_PER_S)?;
        let after = Sample::take(&server)?;
        stop.store(true, Ordering::Relaxed);
        if let Some(flood) = flood {
            let sent = flood.join().map_err(|_| "the flood failed")??;
            eprintln!("{sent} datagrams of junk sent");
        }
        let elapsed = (after.at - before.at).as_secs_f64();
        let per_s = |get: fn(&Sample) -> f64| (get(&after) - get(&before)) / elapsed;
        let latencies = hosts.take_latencies();
        println!(
            "| {name} | {count} | {:.0} | {:.0} | {:.1} % | {:.0} MiB | {} | {} | {:.2} ms | {:.2} ms | {:.2} ms |",
            per_s(|sample| sample.kept),
            per_s(|sample| sample.received) - per_s(|sample| sample.kept),
            100.0 * per_s(|sample| sample.cpu_s),
            process::resident_mib(pid)?,
            latencies.asked,
            latencies.answered(),
            latencies.quantile_ms(0.5),
            latencies.quantile_ms(0.99),
            latencies.quantile_ms(1.0),
        );
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Memory and CPU time of the server with hosts over TLS.
fn measure_streams(count: u32, time: Duration) -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    let pid = server.child.id();
    let empty = process::resident_mib(pid)?;
    let start = Instant::now();
    let mut streams = Streams::start(count, server.tls)?;
    let (elapsed, cpu_s) = (start.elapsed().as_secs_f64(), process::cpu_s(pid)?);
    println!("{count} hosts registered in {elapsed:.1} s, {cpu_s:.1} s of them CPU time");
    let before = Sample::take(&server)?;
    streams.serve(time)?;
    let after = Sample::take(&server)?;
    let seconds = (after.at - before.at).as_secs_f64();
    let (cpu, kept) = (after.cpu_s - before.cpu_s, after.kept - before.kept);
    let page = process::metrics(server.metrics)?;
    println!("| streams | registered | keep-alives/s | CPU | empty | resident |");
    println!("|---|---|---|---|---|---|");
    println!(
        "| {:.0} | {:.0} | {:.0} | {:.2} % | {empty:.0} MiB | {:.0} MiB |",
        process::value(&page, "windlass_rendezvous_streams")?,
        process::value(&page, "windlass_rendezvous_registrations")?,
        kept / seconds,
        100.0 * cpu / seconds,
        process::resident_mib(pid)?,
    );
    Ok(())
}

/// The server's counters at one time.
struct Sample {
    at: Instant,
    cpu_s: f64,
    kept: f64,
    received: f64,
}

impl Sample {
    fn take(server: &Server) -> Result<Sample, Box<dyn Error>> {
        let page = process::metrics(server.metrics)?;
        let value = |name: &str| process::value(&page, name);
        Ok(Sample {
            at: Instant::now(),
            cpu_s: process::cpu_s(server.child.id())?,
            kept: value("windlass_rendezvous_kept_total")?,
            received: value("windlass_rendezvous_received_total")?,
        })
    }
}
