//! Many connections to one server port, at the same time or one after the other.
//!
//! - `many hold ADDRESS CONNECTIONS ACTIVE SECONDS` is a server. It accepts CONNECTIONS and measures
//!   the memory of an idle one. Then it reads from the ACTIVE ones, and measures their throughput and
//!   fairness (Jain's index). `many fill`, with the same arguments, is its client.
//! - `many accept ADDRESS TRANSPORT CONNECTIONS` is a server for short connections. `many open`, with
//!   the same arguments, is its client. Each uses eight threads. TRANSPORT is `tou` or `tcp`.
//!
//! Servers print `ready`, and then results as JSON. `benches/tou.py --connections` runs this program.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use windlass_tou::{Options, TouListener, TouStream};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Threads at each end that open or close connections.
const WORKERS: usize = 8;
/// Size of the send and receive buffers in bytes.
const BUFFER: u64 = 256 << 10;
/// Bytes written and read in one call.
const BLOCK: usize = 64 << 10;
/// How long a server stays after the measurement.
const GRACE: Duration = Duration::from_secs(1);
/// Descriptors needed in addition to those of connections.
const DESCRIPTORS_MORE: u64 = 100;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["hold", address, connections, active, seconds] => {
            hold(address, &Many::new(connections, active, seconds)?)
        }
        ["fill", address, connections, active, seconds] => {
            fill(address, &Many::new(connections, active, seconds)?)
        }
        ["accept", address, transport, connections] => {
            accept(address.parse()?, transport, connections.parse()?)
        }
        ["open", address, transport, connections] => {
            open(address.parse()?, transport, connections.parse()?)
        }
        _ => Err("expected hold, fill, accept or open, with what they take".into()),
    }
}

/// The arguments of `hold` and `fill`.
struct Many {
    connections: usize,
    active: usize,
    time: Duration,
}

impl Many {
    fn new(connections: &str, active: &str, seconds: &str) -> Result<Many> {
        Ok(Many {
            connections: connections.parse()?,
            active: active.parse()?,
            time: Duration::from_secs_f64(seconds.parse()?),
        })
    }

    fn options(&self) -> Options {
        Options {
            backlog: self.connections,
            send_buffer: BUFFER,
            receive_buffer: BUFFER,
            ..Options::default()
        }
    }
}

fn hold(address: &str, many: &Many) -> Result<()> {
    let listener = TouListener::bind_with(address, &many.options())?;
    println!("ready");
    let before = resident_bytes()?;
    let accepted = (0..many.connections).map(|_| Ok(listener.accept()?.0));
    let mut streams = accepted.collect::<io::Result<Vec<_>>>()?;
    let idle = resident_bytes()? - before;
    // The client begins when it has a byte from each connection.
    for stream in &mut streams {
        stream.write_all(b"!")?;
    }
    let used = resident_bytes()? - before;
    let mut bytes = vec![0; many.connections];
    let mut block = vec![0; BLOCK];
    serve(&streams, many.time, |index, stream, waker| {
        let taken = stream.poll_read(waker, &mut block);
        if let Poll::Ready(Ok(taken)) = taken {
            bytes[index] += taken;
        }
        taken
    })?;
    bytes.retain(|bytes| *bytes > 0);
    println!(
        "{{\"idle_bytes\": {}, \"used_bytes\": {}, \"active\": {}, \"bytes\": {}, \
         \"fairness_index\": {:.4}}}",
        idle / many.connections as u64,
        used / many.connections as u64,
        bytes.len(),
        bytes.iter().sum::<usize>(),
        fairness_index(&bytes, many.active),
    );
    // The client began a little later, and should not see resets.
    thread::sleep(GRACE);
    Ok(())
}

fn fill(address: &str, many: &Many) -> Result<()> {
    allow_descriptors(many.connections as u64)?;
    let options = many.options();
    let opened = (0..many.connections).map(|_| TouStream::connect_with(address, &options));
    let mut streams = opened.collect::<io::Result<Vec<_>>>()?;
    for stream in &mut streams {
        stream.read_exact(&mut [0])?;
    }
    let block = vec![7; BLOCK];
    let active = &streams[..many.active];
    let again = |stream: &TouStream| Ok(stream.info()?.stats.retransmitted_segments);
    serve(active, many.time, |_, stream, waker| stream.poll_write(waker, &block))?;
    let again = active.iter().map(again).sum::<io::Result<u64>>()?;
    println!("{{\"retransmitted\": {again}}}");
    Ok(())
}

/// The waker of one stream, which puts the stream's index into a queue.
struct Ready {
    index: usize,
    queue: mpsc::Sender<usize>,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        // Fails only when the measurement is over.
        let _ = self.queue.send(self.index);
    }
}

/// Serves all streams in turns, for `time`.
fn serve(
    streams: &[TouStream],
    time: Duration,
    mut go_on: impl FnMut(usize, &TouStream, &Waker) -> Poll<io::Result<usize>>,
) -> Result<()> {
    let (queue, ready) = mpsc::channel();
    let waker = |index| Waker::from(Arc::new(Ready { index, queue: queue.clone() }));
    let wakers: Vec<_> = (0..streams.len()).map(waker).collect();
    for index in 0..streams.len() {
        queue.send(index)?;
    }
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let Ok(index) = ready.recv_timeout(left) else { break };
        match go_on(index, &streams[index], &wakers[index]) {
            Poll::Ready(Ok(1..)) => queue.send(index)?,
            Poll::Ready(Err(error)) => return Err(error.into()),
            Poll::Ready(Ok(0)) | Poll::Pending => {}
        }
    }
    Ok(())
}

/// Jain's fairness index of `count` shares. Missing shares count as zero.
fn fairness_index(shares: &[usize], count: usize) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    sum * sum / (squares * count as f64)
}

fn resident_bytes() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split(' ').nth(1).ok_or("no figure in statm")?.parse()?;
    Ok(pages * rustix::param::page_size() as u64)
}

fn allow_descriptors(connections: u64) -> Result<()> {
    let wanted = connections + DESCRIPTORS_MORE;
    let limit = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if enough(limit.current) {
        return Ok(());
    }
    let maximum = if enough(limit.maximum) { limit.maximum } else { Some(wanted) };
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })?)
}

fn accept(address: SocketAddr, transport: &str, connections: usize) -> Result<()> {
    let (done, count) = mpsc::channel();
    if transport == "tcp" {
        let listener = TcpListener::bind(address)?;
        accept_all(move || Ok(listener.accept()?.0), &done);
    } else {
        let listener = TouListener::bind(address)?;
        accept_all(move || Ok(listener.accept()?.0), &done);
    }
    println!("ready");
    for closed in count.iter().take(connections) {
        closed?;
    }
    println!("{{\"connections\": {connections}}}");
    Ok(())
}

/// In each thread: accepts a connection, reads to its end, closes it, and continues with the next.
fn accept_all<Stream: Read>(
    accept: impl Fn() -> io::Result<Stream> + Send + Sync + 'static,
    done: &mpsc::Sender<io::Result<()>>,
) {
    let accept = Arc::new(accept);
    for _ in 0..WORKERS {
        let (accept, done) = (Arc::clone(&accept), done.clone());
        thread::spawn(move || {
            loop {
                let closed = accept().and_then(|mut stream| read_to_end(&mut stream));
                if done.send(closed).is_err() {
                    return;
                }
            }
        });
    }
}

fn read_to_end(stream: &mut impl Read) -> io::Result<()> {
    while stream.read(&mut [0; 16])? > 0 {}
    Ok(())
}

fn open(address: SocketAddr, transport: &str, connections: usize) -> Result<()> {
    allow_descriptors(connections as u64)?;
    let start = Instant::now();
    if transport == "tcp" {
        open_all(connections, || {
            let mut stream = TcpStream::connect(address)?;
            stream.shutdown(Shutdown::Write)?;
            read_to_end(&mut stream)
        })?;
    } else {
        open_all(connections, || {
            let mut stream = TouStream::connect(address)?;
            stream.shutdown(Shutdown::Write)?;
            read_to_end(&mut stream)
        })?;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{{\"connections\": {connections}, \"seconds\": {seconds:.6}}}");
    Ok(())
}

/// Each thread opens and closes its part of the connections.
fn open_all(connections: usize, once: impl Fn() -> io::Result<()> + Sync) -> Result<()> {
    thread::scope(|scope| {
        let parts = (0..WORKERS).map(|worker| {
            let (count, once) = ((connections + worker) / WORKERS, &once);
            scope.spawn(move || (0..count).try_for_each(|_| once()))
        });
        for part in parts.collect::<Vec<_>>() {
            part.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}
