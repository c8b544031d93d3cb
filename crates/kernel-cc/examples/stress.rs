//! Loads and unloads New-ECN as often as asked while connections that chose it go on sending
//! through this machine's loopback interface; then counts what is left in the kernel.
//!
//!     cargo run --release -p windlass-kernel-cc --example stress -- 1000
//!
//! Needs root. Exit status 1 if anything is left, a connection ended or the kernel warned.

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use windlass_kernel_cc::{Name, Parameters, load, unload};

/// Connections that are alive at a time, each from another load.
const ALIVE: usize = 8;
/// After this long nothing more is freed.
const GRACE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1000);
    match run(rounds) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(rounds: u32) -> Result<bool, Box<dyn Error>> {
    let name: Name = format!("ws{}", std::process::id()).parse()?;
    // The first time mounts the BPF file system, which brings programs of its own.
    load(&name, &Parameters::default())?;
    unload(&name)?;
    thread::sleep(Duration::from_secs(1));
    let (before, log_before, start) = (count(), kernel_log().len(), Instant::now());
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (peer, mut alive, mut broken) = (listener.local_addr()?, Vec::new(), 0);
    let mut most = before;
    for round in 1..=rounds {
        load(&name, &Parameters::default())?;
        alive.push(Traffic::start(&listener, peer, &name)?);
        most = most.max(count());
        unload(&name)?;
        // All of them now use a controller that is no longer registered.
        broken += alive.iter().filter(|traffic| !traffic.goes_on()).count();
        if alive.len() == ALIVE || round == rounds {
            alive.drain(..).for_each(Traffic::stop);
        }
    }
    let took = start.elapsed();
    let after = count_when_freed(before);
    let warnings = warnings_since(log_before);
    println!("{rounds} rounds in {:.1} s", took.as_secs_f64());
    println!("programs, maps, links before: {before:?}, at most: {most:?}, after: {after:?}");
    println!("connections broken: {broken}; kernel warnings: {}", warnings.len());
    warnings.iter().for_each(|line| println!("  {line}"));
    Ok(broken == 0 && warnings.is_empty() && after == before)
}

/// A connection through loopback with a sender and a receiver that never pause.
struct Traffic {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
}

impl Traffic {
    fn start(listener: &TcpListener, peer: SocketAddr, name: &Name) -> std::io::Result<Traffic> {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
        sockopt::set_tcp_congestion(&socket, name.as_str())?;
        rustix::net::connect(&socket, &peer)?;
        let mut sender = TcpStream::from(socket);
        let (mut receiver, _) = listener.accept()?;
        let stop = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicU64::new(0));
        let (stopped, count) = (stop.clone(), received.clone());
        thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) && sender.write_all(&[0; 8192]).is_ok() {
                // Some traffic, not all that this machine can do.
                thread::sleep(Duration::from_micros(500));
            }
        });
        thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(bytes @ 1..) = receiver.read(&mut buffer) {
                count.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        });
        Ok(Traffic { stop, received })
    }

    /// Waits for more bytes; false if none come.
    fn goes_on(&self) -> bool {
        let (before, deadline) = (self.received.load(Ordering::Relaxed), Instant::now() + GRACE);
        while self.received.load(Ordering::Relaxed) == before {
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_micros(200));
        }
        true
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// BPF programs, maps and links in the kernel.
fn count() -> [usize; 3] {
    let programs = ProgInfoIter::default().count();
    [programs, MapInfoIter::default().count(), LinkInfoIter::default().count()]
}

/// The count once it has come down to `before`, or at the deadline: the kernel frees unused objects
/// with a delay.
fn count_when_freed(before: [usize; 3]) -> [usize; 3] {
    let deadline = Instant::now() + GRACE;
    while count() != before && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(100));
    }
    count()
}

/// The kernel's log, line by line; empty where it may not be read.
fn kernel_log() -> Vec<String> {
    let output = Command::new("dmesg").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().map(str::to_owned).collect()
}

fn warnings_since(lines: usize) -> Vec<String> {
    const SIGNS: [&str; 5] = ["WARNING", "BUG", "Oops", "Call Trace", "refcount"];
    let new = kernel_log().into_iter().skip(lines);
    new.filter(|line| SIGNS.iter().any(|sign| line.contains(sign))).collect()
}
