//! The I/O thread, which receives on all ports and runs their timers.

use super::buffers::Buffers;
use super::inline_receive::LastInlinePoll;
use super::poller::{self, POLLED_MAX, Polled, Poller, Readiness, Registry, Rest};
use super::reusable_ports::{Binding, ReusablePorts};
use slab::Slab;
use std::io;
use std::net::UdpSocket;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use windlass_base::{Deadlines, Time};

/// The longest sleep of the thread while a port is suspended.
const SUSPENDED_WAIT_MAX: Duration = Duration::from_millis(1);

/// A port, as the reactor uses it.
pub(super) trait ReactorPort: AsRef<UdpSocket> + Send + Sync + Sized + 'static {
    /// The process's reactor, while it has ports.
    fn current() -> MutexGuard<'static, Option<Arc<Reactor<Self>>>>;

    /// The socket has datagrams.
    fn handle_readable(&self, buffers: &mut Buffers);

    /// The socket accepts datagrams again.
    fn handle_writable(&self);

    /// The socket has ICMP reports.
    fn handle_error(&self);

    /// The deadline `entered` has passed.
    fn handle_timeout(&self, entered: Time);

    /// Ends the registration with the reactor if the port is unused. Returns whether it did.
    fn retire_if_unused(&self) -> bool;
}

/// Time since the first port was bound.
pub(crate) fn now() -> Time {
    static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let elapsed = ORIGIN.elapsed();
    Time::from_nanos(elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos()))
}

/// State shared between the I/O thread and the users of its ports.
pub(super) struct Reactor<Port> {
    registry: Registry,
    ports: Mutex<PortTable<Port>>,
    /// The lock lets one thread receive at a time.
    buffers: Mutex<Buffers>,
}

/// Identifies a port of the reactor. A key is never used for a second port.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PortKey {
    index: usize,
    serial: u64,
}

struct PortTable<Port> {
    entries: Slab<RegisteredPort<Port>>,
    next_serial: u64,
    deadlines: Deadlines<PortKey>,
    /// When the sleeping thread wakes up by itself; `None` while it is awake.
    sleeps_until: Option<Time>,
    /// At least one port is suspended while the thread sleeps.
    suspends_some: bool,
    finished: Vec<PortKey>,
    reusable: ReusablePorts<PortKey>,
}

struct RegisteredPort<Port> {
    serial: u64,
    port: Arc<Port>,
    last_poll: Arc<LastInlinePoll>,
    /// The port waits until its socket accepts datagrams again.
    wants_writable: bool,
}

impl PortKey {
    /// The thread waits for this port with poll, not with epoll.
    pub(super) fn is_polled(self) -> bool {
        self.index < POLLED_MAX
    }
}

impl<Port> PortTable<Port> {
    fn entry(&mut self, key: PortKey) -> Option<&mut RegisteredPort<Port>> {
        self.entries.get_mut(key.index).filter(|entry| entry.serial == key.serial)
    }

    /// The ports that the thread waits for with poll.
    fn polled(&self) -> impl Iterator<Item = Polled<Port>> {
        let now = now();
        let polled = move |(index, entry): (usize, &RegisteredPort<Port>)| Polled {
            index,
            port: Arc::clone(&entry.port),
            suspended: entry.last_poll.is_recent(now),
            wants_writable: entry.wants_writable,
        };
        self.entries.iter().take_while(|(index, _)| *index < POLLED_MAX).map(polled)
    }
}

impl<Port: ReactorPort> Reactor<Port> {
    /// Adds a port. Starts the thread with the first one.
    pub(super) fn add(
        port: &Arc<Port>,
        last_poll: Arc<LastInlinePoll>,
    ) -> io::Result<(Arc<Reactor<Port>>, PortKey)> {
        let mut current = Port::current();
        let reactor = match &*current {
            Some(reactor) => Arc::clone(reactor),
            None => Reactor::start()?,
        };
        let mut ports = reactor.lock();
        let serial = ports.next_serial;
        ports.next_serial += 1;
        let entry =
            RegisteredPort { serial, port: Arc::clone(port), last_poll, wants_writable: false };
        let index = ports.entries.insert(entry);
        if index < POLLED_MAX {
            // The thread lists the first ports anew at each wait.
            reactor.wake_if_asleep(ports);
        } else {
            if let Err(error) = reactor.registry.add((**port).as_ref(), index) {
                ports.entries.remove(index);
                return Err(error);
            }
            drop(ports);
        }
        *current = Some(Arc::clone(&reactor));
        Ok((reactor, PortKey { index, serial }))
    }

    /// All ports of the process.
    pub(super) fn ports() -> Vec<Arc<Port>> {
        let current = Port::current().clone();
        let ports = |reactor: Arc<Reactor<Port>>| {
            reactor.lock().entries.iter().map(|(_, entry)| Arc::clone(&entry.port)).collect()
        };
        current.map(ports).unwrap_or_default()
    }

    /// Offers a port for reuse: it has no user, and its connection is in TIME-WAIT.
    pub(super) fn add_reusable(&self, now: Time, binding: Binding, key: PortKey) {
        self.lock().reusable.add(now, binding, key);
    }

    /// Takes a reusable port with this binding, if there is one.
    pub(super) fn take_reusable(binding: Binding, urgent: bool) -> Option<Arc<Port>> {
        let current = Port::current().clone()?;
        let mut ports = current.lock();
        let key = ports.reusable.take(now(), binding, urgent)?;
        ports.entry(key).map(|entry| Arc::clone(&entry.port))
    }

    fn start() -> io::Result<Arc<Reactor<Port>>> {
        let (registry, rest) = poller::rest()?;
        let reactor = Arc::new(Reactor {
            registry,
            ports: Mutex::new(PortTable {
                entries: Slab::new(),
                next_serial: 0,
                deadlines: Deadlines::default(),
                sleeps_until: None,
                suspends_some: false,
                finished: Vec::new(),
                reusable: ReusablePorts::default(),
            }),
            buffers: Mutex::new(Buffers::new()),
        });
        let own = Arc::clone(&reactor);
        thread::Builder::new().name("tou".into()).spawn(move || own.run(rest))?;
        Ok(reactor)
    }

    fn lock(&self) -> MutexGuard<'_, PortTable<Port>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules the port's timer at `wanted`. `entered` is its earliest entry so far, and is updated.
    pub(super) fn wake_at(&self, entered: &mut Option<Time>, wanted: Option<Time>, key: PortKey) {
        let Some(time) = wanted else { return };
        if entered.is_some_and(|entered| entered <= time) {
            return;
        }
        let mut ports = self.lock();
        ports.deadlines.schedule(entered, wanted, key);
        if ports.sleeps_until.is_some_and(|until| time < until) {
            self.wake_if_asleep(ports);
        }
    }

    /// Wakes the thread once, however many callers ask for it: awake, it checks all ports.
    fn wake_if_asleep(&self, mut ports: MutexGuard<'_, PortTable<Port>>) {
        if ports.sleeps_until.take().is_some() {
            drop(ports);
            self.wake();
        }
    }

    /// Starts or stops waiting until the port's socket accepts datagrams again.
    pub(super) fn set_wants_writable(&self, port: &Port, key: PortKey, waits: bool) {
        if key.index < POLLED_MAX {
            let mut ports = self.lock();
            if let Some(entry) = ports.entry(key) {
                entry.wants_writable = waits;
            }
            if waits {
                self.wake_if_asleep(ports);
            }
            return;
        }
        // If this fails, the next timeout sends again.
        let _ = self.registry.set_wants_writable(port.as_ref(), key.index, waits);
    }

    /// The port is unused and can be removed.
    pub(super) fn finished(&self, key: PortKey) {
        self.lock().finished.push(key);
        self.wake();
    }

    /// The receive buffers, unless another thread is receiving.
    pub(super) fn idle_buffers(&self) -> Option<MutexGuard<'_, Buffers>> {
        self.buffers.try_lock().ok()
    }

    /// Ends all suspensions: the thread waits for datagrams of every port again.
    pub(super) fn resume_all(&self) {
        let ports = self.lock();
        if ports.suspends_some {
            self.wake_if_asleep(ports);
        }
    }

    fn wake(&self) {
        // An error means that the thread has a wake-up pending.
        let _ = self.registry.wake();
    }

    fn run(self: Arc<Self>, rest: Rest) {
        let mut poller = Poller::new(rest);
        loop {
            self.remove_finished();
            if self.ends() {
                return;
            }
            let timeout = self.prepare_wait(&mut poller.polled);
            let woken = poller.wait(timeout);
            self.lock().sleeps_until = None;
            // Waiting fails only without the thread's own descriptors, and then nothing can be done.
            let Ok(ready) = woken else { return };
            for ready in ready {
                self.handle(*ready);
            }
            self.expire();
        }
    }

    fn handle(&self, ready: Readiness) {
        let port = self.lock().entries.get(ready.index).map(|entry| Arc::clone(&entry.port));
        let Some(port) = port else { return };
        if ready.writable {
            port.handle_writable();
        }
        if ready.readable || ready.error {
            port.handle_readable(&mut self.buffers.lock().unwrap_or_else(PoisonError::into_inner));
        }
        // ICMP reports have their own queue. One that arrives later is a new event.
        if ready.error {
            port.handle_error();
        }
    }

    fn expire(&self) {
        loop {
            let mut ports = self.lock();
            let Some((entered, key)) = ports.deadlines.pop(now()) else { return };
            let port = ports.entry(key).map(|entry| Arc::clone(&entry.port));
            // A port locks itself before this table, so it is called without the table's lock.
            drop(ports);
            if let Some(port) = port {
                port.handle_timeout(entered);
            }
        }
    }

    /// Fills in the ports to wait for with poll. Returns the longest time to wait.
    fn prepare_wait(&self, polled: &mut Vec<Polled<Port>>) -> Option<Duration> {
        let mut ports = self.lock();
        polled.clear();
        polled.extend(ports.polled());
        if !ports.finished.is_empty() {
            return Some(Duration::ZERO);
        }
        ports.suspends_some = polled.iter().any(|polled| polled.suspended);
        let next = ports.deadlines.next();
        ports.sleeps_until = Some(next.unwrap_or(Time::MAX));
        let left = next.map(|next| Duration::from_nanos(next.saturating_since(now()).as_nanos()));
        if ports.suspends_some {
            return Some(left.map_or(SUSPENDED_WAIT_MAX, |left| left.min(SUSPENDED_WAIT_MAX)));
        }
        left
    }

    fn remove_finished(&self) {
        let mut ports = self.lock();
        let finished = std::mem::take(&mut ports.finished);
        for key in finished {
            // Skip a port that was reported twice or is in use again.
            let Some(entry) = ports.entry(key) else { continue };
            let port = Arc::clone(&entry.port);
            drop(ports);
            // Without the table's lock, as in `expire`.
            let is_unused = port.retire_if_unused();
            ports = self.lock();
            if is_unused {
                ports.reusable.forget(key);
                let entry = ports.entries.remove(key.index);
                if key.index >= POLLED_MAX {
                    let _ = self.registry.remove((*entry.port).as_ref());
                }
            }
        }
    }

    /// True when no port is left. The next port starts another thread.
    fn ends(&self) -> bool {
        let mut current = Port::current();
        let empty = self.lock().entries.is_empty();
        // A reactor whose first port could not be added never became the current one.
        if empty && current.as_ref().is_some_and(|current| ptr::eq(&**current, self)) {
            *current = None;
        }
        empty
    }
}
