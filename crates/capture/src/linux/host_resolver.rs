//! Answers from the name servers of this host.

use crate::dns::is_answer_to;
use crate::far::{Reply, Resolver};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PORT: u16 = 53;
/// How long a server may take for an answer, and how often each is asked: as in resolv.conf(5).
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const ROUNDS: usize = 2;
/// Queries that are asked at once, and those that wait for their turn.
const THREADS: usize = 16;
const WAITING_MAX: usize = 256;
/// The TC bit in the third byte of a message (RFC 1035 section 4.1.1).
const TRUNCATED: u8 = 0x02;

/// Asks the name servers of this host, on threads of its own.
#[derive(Debug)]
pub struct HostResolver {
    queries: SyncSender<(Vec<u8>, Reply)>,
}

impl HostResolver {
    /// A resolver that asks the name servers in /etc/resolv.conf. It reads the file for each query: a
    /// host that changes its network gets other name servers.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or no thread can be started.
    pub fn new() -> io::Result<HostResolver> {
        system_servers()?;
        HostResolver::start(|| system_servers().unwrap_or_default())
    }

    /// A resolver that asks these name servers, each if the one before it does not answer.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub fn with_servers(servers: Vec<SocketAddr>) -> io::Result<HostResolver> {
        HostResolver::start(move || servers.clone())
    }

    fn start(
        servers: impl Fn() -> Vec<SocketAddr> + Clone + Send + 'static,
    ) -> io::Result<HostResolver> {
        let (queries, waiting) = sync_channel(WAITING_MAX);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..THREADS {
            let (waiting, servers) = (Arc::clone(&waiting), servers.clone());
            thread::Builder::new()
                .name("windlass-dns".to_owned())
                .spawn(move || serve(&waiting, &servers))?;
        }
        Ok(HostResolver { queries })
    }
}

impl Resolver for HostResolver {
    fn resolve(&mut self, query: &[u8], reply: Reply) {
        // Where too many wait, the reply is dropped: a server failure.
        let (Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) =
            self.queries.try_send((query.to_vec(), reply));
    }
}

/// Answers queries until the resolver is dropped.
fn serve(waiting: &Mutex<Receiver<(Vec<u8>, Reply)>>, servers: &impl Fn() -> Vec<SocketAddr>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((query, reply)) = next else { return };
        if let Ok(answer) = ask(&servers(), &query) {
            reply.send(answer);
        }
    }
}

fn system_servers() -> io::Result<Vec<SocketAddr>> {
    Ok(servers(&fs::read_to_string("/etc/resolv.conf")?))
}

/// The name servers of a resolv.conf(5), in their order; without any, the one on this host.
fn servers(resolv_conf: &str) -> Vec<SocketAddr> {
    let address = |line: &str| {
        let mut words = line.split_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and(words.next())?;
        // A zone names an interface of this host; the kernel finds it for all but link-local ones.
        address.split('%').next()?.parse().ok().map(|ip: IpAddr| SocketAddr::new(ip, PORT))
    };
    let found: Vec<SocketAddr> = resolv_conf.lines().filter_map(address).collect();
    if found.is_empty() { vec![(Ipv4Addr::LOCALHOST, PORT).into()] } else { found }
}

/// Asks name servers one after the other for the answer to a DNS message, and waits for it. An answer
/// that is cut over UDP is fetched over TCP.
///
/// # Errors
///
/// No server answers.
pub fn ask(servers: &[SocketAddr], query: &[u8]) -> io::Result<Vec<u8>> {
    let mut last = io::Error::new(ErrorKind::NotFound, "no name server");
    for server in servers.iter().cycle().take(servers.len() * ROUNDS) {
        match ask_one(*server, query) {
            Ok(answer) => return Ok(answer),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn ask_one(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let answer = ask_over_udp(server, query)?;
    let cut = answer.get(2).is_some_and(|flags| flags & TRUNCATED != 0);
    if cut { ask_over_tcp(server, query).or(Ok(answer)) } else { Ok(answer) }
}

fn ask_over_udp(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // A port that the system chooses at random for each query: an answer is hard to forge.
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.send(query)?;
    let deadline = Instant::now() + ANSWER_WITHIN;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let len = match socket.recv(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            result => result?,
        };
        if is_answer_to(&buffer[..len], query) {
            return Ok(buffer[..len].to_vec());
        }
    }
}

fn ask_over_tcp(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, ANSWER_WITHIN)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    let len = u16::try_from(query.len()).map_err(|_| ErrorKind::InvalidInput)?;
    stream.write_all(&[&len.to_be_bytes(), query].concat())?;
    let mut len = [0; 2];
    stream.read_exact(&mut len)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(len))];
    stream.read_exact(&mut answer)?;
    is_answer_to(&answer, query).then_some(answer).ok_or_else(|| ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_read_in_their_order() {
        let text = "# a comment\nsearch example.org\nnameserver 192.0.2.1\n\
                    nameserver\t2001:db8::1%eth0 # trailing\nnameserver junk\noptions edns0\n";
        let expected = ["192.0.2.1:53", "[2001:db8::1]:53"].map(|one| one.parse().expect("valid"));
        assert_eq!(servers(text), expected);
        assert_eq!(servers("").len(), 1);
    }
}
