//! A NAT between two TUN devices of a Linux router.
//!
//! The router sends the packets of its inner hosts to the inner device and those for the external
//! addresses to the outer one; [`Driver`] translates them and writes them to the other device, from
//! which the router forwards them.

use crate::{Nat, Side, Stats};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use windlass_base::Time;
use windlass_namespace::Device;

/// Larger than any IP packet.
const PACKET_BYTES_MAX: usize = 65_536;
/// Packets read from one device before the other one is served.
const BATCH_PACKETS: usize = 32;

/// A thread that runs a NAT. It ends when the value is dropped.
pub struct Driver {
    nat: Arc<Mutex<Nat>>,
    /// The thread stops when this end is closed.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Driver {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system has no file descriptor or thread left.
    pub fn start(nat: Nat, inside: Device, outside: Device) -> io::Result<Driver> {
        let nat = Arc::new(Mutex::new(nat));
        let (stop, stopped) = UnixStream::pair()?;
        let shared = Arc::clone(&nat);
        let body = move || run(&shared, &inside, &outside, &stopped);
        let thread = thread::Builder::new().name("nat".to_owned()).spawn(body)?;
        Ok(Driver { nat, stop: Some(stop), thread: Some(thread) })
    }

    /// Lets the NAT forget its bindings, see [`Nat::reboot`].
    pub fn reboot(&self) {
        lock(&self.nat).reboot();
    }

    /// The counters.
    pub fn stats(&self) -> Stats {
        lock(&self.nat).stats()
    }

    /// Stops the thread.
    ///
    /// # Errors
    ///
    /// The error that ended the thread before: a device no longer exists.
    pub fn stop(mut self) -> io::Result<()> {
        self.stop.take();
        self.thread.take().map_or(Ok(()), join)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stop.take();
        // Only `stop` can report an error.
        let _ = self.thread.take().map(join);
    }
}

fn join(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread of the NAT panicked")))
}

fn lock(nat: &Mutex<Nat>) -> MutexGuard<'_, Nat> {
    nat.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(nat: &Mutex<Nat>, inside: &Device, outside: &Device, stop: &UnixStream) -> io::Result<()> {
    let start = Instant::now();
    let now = || Time::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut buffer = vec![0; PACKET_BYTES_MAX];
    loop {
        let mut fds = [
            PollFd::new(stop.as_fd(), PollFlags::POLLIN),
            PollFd::new(inside.as_fd(), PollFlags::POLLIN),
            PollFd::new(outside.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds[0].any().unwrap_or(true) {
            return Ok(());
        }
        for (from, device) in [(Side::Inside, inside), (Side::Outside, outside)] {
            for _ in 0..BATCH_PACKETS {
                let Some(len) = receive(device, &mut buffer)? else { break };
                let packet = &mut buffer[..len];
                let to = match lock(nat).handle_packet(now(), from, packet) {
                    Ok(Side::Inside) => inside,
                    Ok(Side::Outside) => outside,
                    Err(_) => continue,
                };
                // The kernel refuses packets while the device is down: they are lost.
                let _ = to.write(packet);
            }
        }
    }
}

/// The length of the next packet; `None` if there is none.
fn receive(device: &Device, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match device.read(buffer) {
        Ok(len) => Ok(Some(len)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_stops_it_learns_why_the_thread_had_ended() {
        let end = |how: fn() -> io::Result<()>| join(thread::spawn(how));
        assert!(end(|| Ok(())).is_ok());
        let gone = end(|| Err(ErrorKind::NotFound.into())).expect_err("a device is gone");
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        let panicked = end(|| panic!("a fault")).expect_err("it panicked");
        assert!(panicked.to_string().contains("panicked"), "{panicked}");
    }
}
