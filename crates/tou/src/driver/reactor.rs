//! The thread that receives and keeps the timers of all ports.

use super::buffers::Buffers;
use super::port::Port;
use super::resting::{Kind, Resting};
use super::sleep::{NEAR, Near, Ready, Sleep};
use super::streak::Looked;
use crate::endpoint::Deadlines;
use mio::unix::SourceFd;
use mio::{Interest, Poll, Registry, Token};
use slab::Slab;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use windlass_base::Time;

/// How long the thread sleeps at most while it overlooks a port.
const OVERLOOKED: Duration = Duration::from_millis(1);
const WAKE: Token = Token(usize::MAX);

/// The one there is, while there are ports.
static CURRENT: Mutex<Option<Arc<Reactor>>> = Mutex::new(None);

/// Nanoseconds since the first port was made.
pub(crate) fn now() -> Time {
    static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let elapsed = ORIGIN.elapsed();
    Time::from_nanos(elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos()))
}

/// What the thread shares with whoever uses its ports.
pub(super) struct Reactor {
    registry: Registry,
    waker: mio::Waker,
    ports: Mutex<Ports>,
    /// One thread at a time receives.
    buffers: Mutex<Buffers>,
}

/// Names a port.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    index: usize,
    serial: u64,
}

#[derive(Default)]
struct Ports {
    entries: Slab<Entry>,
    next_serial: u64,
    deadlines: Deadlines<Key>,
    /// When the thread wakes up by itself; `None` while it is awake.
    sleeps_until: Option<Time>,
    /// It sleeps without looking at all of them.
    overlooks: bool,
    finished: Vec<Key>,
    resting: Resting<Key>,
}

struct Entry {
    serial: u64,
    port: Arc<Port>,
    looked: Arc<Looked>,
    /// It is told when its socket takes datagrams again.
    waits_for_room: bool,
}

impl Key {
    /// Poll waits for it.
    pub(super) fn is_near(self) -> bool {
        self.index < NEAR
    }
}

impl Ports {
    fn entry(&mut self, key: Key) -> Option<&mut Entry> {
        self.entries.get_mut(key.index).filter(|entry| entry.serial == key.serial)
    }

    /// Those that epoll does not know.
    fn near(&self) -> impl Iterator<Item = Near> {
        let now = now();
        let near = move |(index, entry): (usize, &Entry)| Near {
            index,
            port: Arc::clone(&entry.port),
            overlooked: entry.looked.recently(now),
            waits_for_room: entry.waits_for_room,
        };
        self.entries.iter().take_while(|(index, _)| *index < NEAR).map(near)
    }
}

impl Reactor {
    /// Adds a port, and begins the thread for the first one.
    pub(super) fn add(port: &Arc<Port>, looked: Arc<Looked>) -> io::Result<(Arc<Reactor>, Key)> {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        let reactor = match &*current {
            Some(reactor) => Arc::clone(reactor),
            None => Reactor::begin()?,
        };
        let mut ports = reactor.lock();
        let serial = ports.next_serial;
        ports.next_serial += 1;
        let entry = Entry { serial, port: Arc::clone(port), looked, waits_for_room: false };
        let index = ports.entries.insert(entry);
        if index < NEAR {
            reactor.wake_if_asleep(ports);
        } else {
            let fd = port.as_raw_fd();
            let mut source = SourceFd(&fd);
            let registered =
                reactor.registry.register(&mut source, Token(index), Interest::READABLE);
            if let Err(error) = registered {
                ports.entries.remove(index);
                return Err(error);
            }
            drop(ports);
        }
        *current = Some(Arc::clone(&reactor));
        Ok((reactor, Key { index, serial }))
    }

    /// The ports there are.
    pub(super) fn ports() -> Vec<Arc<Port>> {
        let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let ports = |reactor: Arc<Reactor>| {
            reactor.lock().entries.iter().map(|(_, entry)| Arc::clone(&entry.port)).collect()
        };
        current.map(ports).unwrap_or_default()
    }

    /// A port whose connection is in TIME-WAIT and which nobody uses.
    pub(super) fn add_resting(&self, now: Time, kind: Kind, key: Key) {
        self.lock().resting.add(now, kind, key);
    }

    /// A port to use again.
    pub(super) fn take_rested(kind: Kind, urgently: bool) -> Option<Arc<Port>> {
        let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let mut ports = current.lock();
        let key = ports.resting.take(now(), kind, urgently)?;
        ports.entry(key).map(|entry| Arc::clone(&entry.port))
    }

    fn begin() -> io::Result<Arc<Reactor>> {
        let poll = Poll::new()?;
        let reactor = Arc::new(Reactor {
            registry: poll.registry().try_clone()?,
            waker: mio::Waker::new(poll.registry(), WAKE)?,
            ports: Mutex::default(),
            buffers: Mutex::new(Buffers::new()),
        });
        let own = Arc::clone(&reactor);
        thread::Builder::new().name("tou".into()).spawn(move || own.run(poll))?;
        Ok(reactor)
    }

    fn lock(&self) -> MutexGuard<'_, Ports> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the port at `wanted`. `entered` is the earliest time that it is to be woken at so far.
    pub(super) fn wake_at(&self, entered: &mut Option<Time>, wanted: Option<Time>, key: Key) {
        let Some(time) = wanted else { return };
        if entered.is_some_and(|entered| entered <= time) {
            return;
        }
        let mut ports = self.lock();
        ports.deadlines.enter(entered, wanted, key);
        if ports.sleeps_until.is_some_and(|until| time < until) {
            self.wake_if_asleep(ports);
        }
    }

    /// Once is enough: it looks at all of them.
    fn wake_if_asleep(&self, mut ports: MutexGuard<'_, Ports>) {
        if ports.sleeps_until.take().is_some() {
            drop(ports);
            self.wake();
        }
    }

    /// The port is told, or not any more, when its socket takes datagrams again.
    pub(super) fn set_waits_for_room(&self, port: &Port, key: Key, waits: bool) {
        if key.index < NEAR {
            let mut ports = self.lock();
            if let Some(entry) = ports.entry(key) {
                entry.waits_for_room = waits;
            }
            if waits {
                self.wake_if_asleep(ports);
            }
            return;
        }
        let mut interest = Interest::READABLE;
        if waits {
            interest |= Interest::WRITABLE;
        }
        let fd = port.as_raw_fd();
        // Without it the next timeout sends again.
        let _ = self.registry.reregister(&mut SourceFd(&fd), Token(key.index), interest);
    }

    /// Nobody needs the port any more.
    pub(super) fn finished(&self, key: Key) {
        self.lock().finished.push(key);
        self.wake();
    }

    /// Room to receive, unless somebody does just now.
    pub(super) fn idle_buffers(&self) -> Option<MutexGuard<'_, Buffers>> {
        self.buffers.try_lock().ok()
    }

    /// No port is to be overlooked any more.
    pub(super) fn watch_all(&self) {
        let ports = self.lock();
        if ports.overlooks {
            self.wake_if_asleep(ports);
        }
    }

    fn wake(&self) {
        // A full pipe wakes it as well.
        let _ = self.waker.wake();
    }

    fn run(self: Arc<Reactor>, far: Poll) {
        let mut sleep = Sleep::new(far);
        loop {
            self.remove_finished();
            if self.ends() {
                return;
            }
            let timeout = self.fall_asleep(&mut sleep.near);
            let woken = sleep.sleep(timeout);
            self.lock().sleeps_until = None;
            // No descriptor of its own any more: there is nothing that it could do.
            let Ok(ready) = woken else { return };
            for ready in ready {
                self.handle(*ready);
            }
            self.expire();
        }
    }

    fn handle(&self, ready: Ready) {
        let port = self.lock().entries.get(ready.index).map(|entry| Arc::clone(&entry.port));
        let Some(port) = port else { return };
        if ready.writable {
            port.handle_writable();
        }
        if ready.readable || ready.error {
            port.receive(&mut self.buffers.lock().unwrap_or_else(PoisonError::into_inner));
        }
        // They wait in a queue of their own, and one that comes later is an event again.
        if ready.error {
            port.take_errors();
        }
    }

    fn expire(&self) {
        loop {
            let mut ports = self.lock();
            let Some((entered, key)) = ports.deadlines.pop(now()) else { return };
            let port = ports.entry(key).map(|entry| Arc::clone(&entry.port));
            drop(ports);
            if let Some(port) = port {
                port.handle_timeout(entered);
            }
        }
    }

    /// What to wait for by poll, and for how long.
    fn fall_asleep(&self, near: &mut Vec<Near>) -> Option<Duration> {
        let mut ports = self.lock();
        near.clear();
        near.extend(ports.near());
        if !ports.finished.is_empty() {
            return Some(Duration::ZERO);
        }
        ports.overlooks = near.iter().any(|near| near.overlooked);
        let next = ports.deadlines.next();
        ports.sleeps_until = Some(next.unwrap_or(Time::MAX));
        let left = next.map(|next| Duration::from_nanos(next.saturating_since(now()).as_nanos()));
        if ports.overlooks {
            return Some(left.map_or(OVERLOOKED, |left| left.min(OVERLOOKED)));
        }
        left
    }

    fn remove_finished(&self) {
        let mut ports = self.lock();
        let finished = std::mem::take(&mut ports.finished);
        for key in finished {
            // Told twice, or used again meanwhile.
            let Some(entry) = ports.entry(key) else { continue };
            let port = Arc::clone(&entry.port);
            drop(ports);
            let is_over = port.leave_if_over();
            ports = self.lock();
            if is_over {
                ports.resting.forget(key);
                let entry = ports.entries.remove(key.index);
                if key.index >= NEAR {
                    let fd = entry.port.as_raw_fd();
                    let _ = self.registry.deregister(&mut SourceFd(&fd));
                }
            }
        }
    }

    /// True when there is no port left; the next one begins another thread.
    fn ends(&self) -> bool {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = self.lock().entries.is_empty();
        // One whose first port could not be added never was the current one.
        if empty && current.as_ref().is_some_and(|current| ptr::eq(&**current, self)) {
            *current = None;
        }
        empty
    }
}
