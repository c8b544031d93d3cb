//! A connection by its ends, and the bytes that it carries.

use nix::sys::socket::{setsockopt, sockopt::Linger};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;
use windlass_testbed::{PATIENCE, wait_until};

const BLOCK: usize = 1 << 14;

/// A connection by its ends.
pub(crate) struct Connection {
    pub host: TcpStream,
    pub far: TcpStream,
    /// Bytes that have arrived at the far host, and at the served host.
    received: [AtomicU64; 2],
}

impl Connection {
    pub(crate) fn new(host: TcpStream, far: TcpStream) -> Connection {
        Connection { host, far, received: Default::default() }
    }

    /// Waits until `bytes` more have arrived at the far host (`up`) or at the served host. The link of
    /// a test carries 2.5 MB/s.
    pub(crate) fn wait_for_bytes(&self, up: bool, bytes: u64) {
        let received = || self.counter(up).load(Ordering::Relaxed);
        let goal = received() + bytes;
        wait_until("data arrives", || received() >= goal);
    }

    fn counter(&self, up: bool) -> &AtomicU64 {
        &self.received[usize::from(!up)]
    }

    /// Sends while `during` runs, upwards or downwards, and checks every byte.
    pub(crate) fn while_sending<T>(&self, up: bool, during: impl FnOnce() -> T) -> T {
        let (from, to) = if up { (&self.host, &self.far) } else { (&self.far, &self.host) };
        // Dropped by a panic too, so that the writer ends.
        let (stop, stopped) = channel::<()>();
        let going_on = move |_| match stopped.try_recv() {
            Err(TryRecvError::Empty) => BLOCK,
            _ => 0,
        };
        thread::scope(|scope| {
            let reader = scope.spawn(|| check_all(to, self.counter(up)));
            let writer = scope.spawn(|| write_all(from, going_on));
            let result = during();
            drop(stop);
            let sent = writer.join().expect("no panic");
            assert_eq!(reader.join().expect("no panic"), sent, "bytes received");
            result
        })
    }

    /// The far host sends without end; the served host reads so many bytes and closes its socket.
    pub(crate) fn reset_by_host_during_a_download(self, bytes: u64) {
        let Connection { mut host, mut far, .. } = self;
        thread::scope(|scope| {
            scope.spawn(move || {
                far.set_write_timeout(Some(PATIENCE)).expect("a socket");
                // Until the reset arrives.
                while far.write_all(&pattern(0, BLOCK)).is_ok() {}
            });
            let mut block = vec![0; BLOCK];
            let mut got = 0;
            while got < bytes {
                got += host.read(&mut block).expect("data") as u64;
            }
            drop(host);
        });
    }

    /// One end sends without end, upwards or downwards; after so many bytes one end aborts.
    pub(crate) fn abort_while_sending(self, up: bool, by_host: bool, bytes: u64) {
        let Connection { host, far, .. } = self;
        let ended = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(if by_host { &host } else { &far }, Linger, &ended).expect("a socket");
        let (mut from, mut to) = if up { (host, far) } else { (far, host) };
        let sender_aborts = up == by_host;
        from.set_write_timeout(Some(PATIENCE)).expect("a socket");
        to.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (stop, stopped) = channel::<()>();
        thread::scope(move |scope| {
            scope.spawn(move || {
                let goes_on = || stopped.try_recv() == Err(TryRecvError::Empty);
                while goes_on() && from.write_all(&pattern(0, BLOCK)).is_ok() {}
            });
            let mut block = vec![0; BLOCK];
            let mut got = 0;
            while got < bytes {
                got += to.read(&mut block).expect("data") as u64;
            }
            if sender_aborts {
                stop.send(()).expect("the sender is there");
                // Reads on, so that the sender comes to its end.
                while to.read(&mut block).is_ok_and(|bytes| bytes > 0) {}
            }
            drop(to);
        });
    }

    /// Sends so many bytes upwards and checks each; calls `meanwhile` every few milliseconds.
    pub(crate) fn send(&self, bytes: u64, meanwhile: impl FnMut()) {
        self.send_in_writes_of(BLOCK, bytes, meanwhile);
    }

    /// The same, by so many bytes a write, at most [`BLOCK`].
    pub(crate) fn send_in_writes_of(&self, write: usize, bytes: u64, mut meanwhile: impl FnMut()) {
        let left = move |sent: u64| (bytes - sent).min(write as u64) as usize;
        thread::scope(|scope| {
            let reader = scope.spawn(|| check_all(&self.far, self.counter(true)));
            scope.spawn(|| write_all(&self.host, left));
            while !reader.is_finished() {
                meanwhile();
                thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(reader.join().expect("no panic"), bytes, "bytes received");
        });
    }
}

/// So many bytes of the stream from `at` on; no two blocks are the same. Made by whole words, and not more
/// of them than that: on an emulated machine the pattern would take longer than the write.
fn pattern(at: u64, bytes: usize) -> Vec<u8> {
    let before = (at % 8) as usize;
    let words = at / 8..(at + bytes as u64).div_ceil(8);
    let mut pattern = Vec::with_capacity(bytes + 16);
    for i in words {
        pattern.extend_from_slice(&i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_ne_bytes());
    }
    pattern.drain(..before);
    pattern.truncate(bytes);
    pattern
}

/// `more` says how many bytes are next after those sent, at most [`BLOCK`]; 0: no more.
fn write_all(mut stream: &TcpStream, more: impl Fn(u64) -> usize) -> u64 {
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
    let mut sent = 0;
    loop {
        let next = more(sent);
        if next == 0 {
            stream.shutdown(Shutdown::Write).expect("closes");
            return sent;
        }
        stream.write_all(&pattern(sent, next)).expect("sends");
        sent += next as u64;
    }
}

fn check_all(mut stream: &TcpStream, received: &AtomicU64) -> u64 {
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut got = 0;
    let mut block = vec![0; BLOCK];
    loop {
        let mut filled = 0;
        while filled < BLOCK {
            match stream.read(&mut block[filled..]) {
                // A read with a time limit ends with any signal (signal(7)).
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("no data in time: {error}"),
                Ok(0) => break,
                Ok(bytes) => {
                    filled += bytes;
                    received.fetch_add(bytes as u64, Ordering::Relaxed);
                }
            }
        }
        assert!(block[..filled] == pattern(got, filled), "the stream differs after {got} bytes");
        got += filled as u64;
        if filled < BLOCK {
            return got;
        }
    }
}
