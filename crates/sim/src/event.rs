//! The queue of pending events. The event loop (`run`) takes the next one; hosts, channels,
//! middleboxes and UDP sources schedule them.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use windlass_base::Time;

/// An event of a simulation. Each kind names its source by an index.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet in a channel's pipe reaches the far end.
    Arrival { channel: u32 },
    /// A packet that a channel held back reaches the far end.
    Late { slot: u32 },
    /// An endpoint's timer; stale unless the endpoint is still armed for this very time.
    Timer { endpoint: u32 },
    /// A TCP application acts: it starts, stops, or opens its next connection.
    App { flow: u32 },
    /// A UDP source sends its next packet.
    Udp { source: u32 },
    /// A node's middleboxes want to be called.
    Middlebox { chain: u32 },
    /// An end of a flow of endpoints starts, stops, or has a timer that is due; stale unless one of them is.
    Endpoint { end: u32 },
}

/// A pending event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct PendingEvent {
    time: Time,
    /// Orders events of the same time; the smaller value comes first. The top 40 bits are smaller the
    /// longer before its time the event was set, up to 18 minutes; the low 24 bits are the order of
    /// insertion.
    tie: u64,
    /// From the top 3 bits of kind, 32 of index.
    event: u64,
}

/// Number of different orders: insertions between two renumberings.
pub(crate) const ORDERS: u64 = 1 << ORDER_BITS;
const ORDER_BITS: u32 = 24;
const LONGEST: u64 = u64::MAX >> ORDER_BITS;
const KIND_SHIFT: u32 = 32;

impl PendingEvent {
    /// Behind all others.
    const NONE: PendingEvent = PendingEvent { time: Time::MAX, tie: u64::MAX, event: u64::MAX };

    fn new(time: Time, since: Time, order: u64, event: Event) -> PendingEvent {
        let (kind, index): (u64, u32) = match event {
            Event::Arrival { channel } => (0, channel),
            Event::Late { slot } => (1, slot),
            Event::Timer { endpoint } => (2, endpoint),
            Event::App { flow } => (3, flow),
            Event::Udp { source } => (4, source),
            Event::Middlebox { chain } => (5, chain),
            Event::Endpoint { end } => (6, end),
        };
        let notice = time.saturating_since(since).as_nanos().min(LONGEST);
        let tie = (LONGEST - notice) << ORDER_BITS | order;
        PendingEvent { time, tie, event: kind << KIND_SHIFT | u64::from(index) }
    }

    fn with_order(self, order: u64) -> PendingEvent {
        PendingEvent { tie: self.tie >> ORDER_BITS << ORDER_BITS | order, ..self }
    }

    fn order(self) -> u32 {
        (self.tie & (ORDERS - 1)) as u32
    }

    /// The sort key of events. One number compares faster than two.
    fn sort_key(&self) -> u128 {
        u128::from(self.time.as_nanos()) << 64 | u128::from(self.tie)
    }

    #[inline]
    fn is_before(&self, other: &PendingEvent) -> bool {
        self.sort_key() < other.sort_key()
    }

    fn event(self) -> Event {
        let index = self.event as u32;
        match (self.event >> KIND_SHIFT) & 7 {
            0 => Event::Arrival { channel: index },
            1 => Event::Late { slot: index },
            2 => Event::Timer { endpoint: index },
            3 => Event::App { flow: index },
            4 => Event::Udp { source: index },
            5 => Event::Middlebox { chain: index },
            _ => Event::Endpoint { end: index },
        }
    }
}

impl Ord for PendingEvent {
    fn cmp(&self, other: &PendingEvent) -> Ordering {
        self.sort_key().cmp(&other.sort_key())
    }
}

impl PartialOrd for PendingEvent {
    fn partial_cmp(&self, other: &PendingEvent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The place of an event among all others.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventKey {
    pub(crate) time: Time,
    /// As that of a pending event: how long before its time it was set, and the order of insertion.
    pub(crate) tie: u64,
}

impl EventKey {
    /// Behind all others.
    pub(crate) const NONE: EventKey = EventKey { time: Time::MAX, tie: u64::MAX };

    /// Time, and how long before it the event was set: all but the order of insertion, as one number.
    #[inline]
    pub(crate) fn without_order(self) -> u128 {
        u128::from(self.time.as_nanos()) << 64 | u128::from(self.tie | (ORDERS - 1))
    }

    /// The order of insertion.
    pub(crate) fn order(self) -> u32 {
        (self.tie & (ORDERS - 1)) as u32
    }
}

/// Pending events in order of time; events of the same time in the order of the times at which they
/// were set, then in order of insertion. Setting time and insertion order differ only for events set
/// during an early delivery, which processes a packet at a later time than the present event's.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    /// Arrivals, which are most events: a channel has at most one pending.
    arrivals: Tournament,
    others: Heap,
    /// The order of the next insertion.
    next_order: u64,
    now: Time,
}

impl EventQueue {
    /// Allocates the slot for the arrivals of a channel.
    pub(crate) fn add_arrival_slot(&mut self) -> ArrivalSlot {
        self.arrivals.add_slot()
    }

    /// The current time: that of the last event taken, or of [`EventQueue::go_to`].
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Sets the current time to that of an early delivery, until the next event is taken.
    pub(crate) fn go_to(&mut self, time: Time) {
        self.now = time;
    }

    /// Schedules any event but an arrival.
    pub(crate) fn schedule(&mut self, time: Time, event: Event) {
        debug_assert!(!matches!(event, Event::Arrival { .. }), "arrivals have slots");
        let entry = self.entry(time, self.now, event);
        self.others.push(entry);
    }

    /// Sets the time of a channel's next arrival, and since when it has been the next. It stays in the
    /// channel's slot until [`EventQueue::set_arrival`] or [`EventQueue::clear_arrival`].
    pub(crate) fn set_arrival(&mut self, slot: ArrivalSlot, time: Time, since: Time, channel: u32) {
        let entry = self.entry(time, since, Event::Arrival { channel });
        self.arrivals.set(slot, entry);
    }

    /// Clears the slot of a channel that expects no arrival.
    pub(crate) fn clear_arrival(&mut self, slot: ArrivalSlot) {
        self.arrivals.set(slot, PendingEvent::NONE);
    }

    fn entry(&mut self, time: Time, since: Time, event: Event) -> PendingEvent {
        if self.next_order == ORDERS {
            self.renumber();
        }
        self.next_order += 1;
        PendingEvent::new(time, since, self.next_order - 1, event)
    }

    /// Takes the next event, if it is due no later than `end`. An arrival stays in its slot until the
    /// channel sets or clears it.
    #[inline]
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, Event)> {
        let (arrival, other) = (self.arrivals.first(), self.others.first());
        if arrival.is_before(&other) {
            if arrival.time > end {
                return None;
            }
            self.now = arrival.time;
            let channel = arrival.event as u32;
            return Some((arrival.time, Event::Arrival { channel }));
        }
        if other == PendingEvent::NONE || other.time > end {
            return None;
        }
        self.now = other.time;
        self.others.remove_first();
        Some((other.time, other.event()))
    }

    /// Time and tie of the next event, which order it among the events of all parts of a run.
    pub(crate) fn next_key(&self) -> Option<EventKey> {
        let first = earlier(self.arrivals.first(), self.others.first());
        (first != PendingEvent::NONE).then_some(EventKey { time: first.time, tie: first.tie })
    }

    /// Takes the next event, if it is due before `until` and no later than `end`.
    #[inline]
    pub(crate) fn pop_before(&mut self, until: Time, end: Time) -> Option<(EventKey, Event)> {
        let (arrival, other) = (self.arrivals.first(), self.others.first());
        let first = if arrival.is_before(&other) { arrival } else { other };
        if first.time >= until || first.time > end {
            return None;
        }
        self.now = first.time;
        let event = first.event();
        if !matches!(event, Event::Arrival { .. }) {
            self.others.remove_first();
        }
        Some((EventKey { time: first.time, tie: first.tie }, event))
    }

    /// The order of the next insertion.
    pub(crate) fn next_order(&self) -> u32 {
        self.next_order as u32
    }

    /// Takes an order without an insertion.
    pub(crate) fn take_order(&mut self) -> u32 {
        self.next_order += 1;
        self.next_order as u32 - 1
    }

    /// As [`EventQueue::set_arrival`], with an order that was given elsewhere.
    pub(crate) fn set_ordered_arrival(
        &mut self,
        slot: ArrivalSlot,
        time: Time,
        since: Time,
        order: u32,
        channel: u32,
    ) {
        let entry = PendingEvent::new(time, since, order.into(), Event::Arrival { channel });
        self.arrivals.set(slot, entry);
    }

    /// Changes the orders of all pending events, which must keep their order; `next` is that of the next
    /// insertion.
    pub(crate) fn change_orders(&mut self, change: impl Fn(u32) -> u32, next: u32) {
        let changed = |old: PendingEvent| match old == PendingEvent::NONE {
            true => old,
            false => old.with_order(change(old.order()).into()),
        };
        self.arrivals.map(changed);
        self.others.map(changed);
        self.next_order = next.into();
    }

    /// The orders of all pending events.
    pub(crate) fn orders(&self) -> impl Iterator<Item = u32> + '_ {
        self.arrivals.pending().chain(self.others.pending()).map(PendingEvent::order)
    }

    /// Gives the pending events, whose order stays, the first orders.
    #[cold]
    fn renumber(&mut self) {
        let mut pending: Vec<PendingEvent> =
            self.arrivals.pending().chain(self.others.pending()).collect();
        pending.sort_unstable();
        self.next_order = pending.len() as u64;
        let renumbered = |old: PendingEvent| match pending.binary_search(&old) {
            Ok(order) => old.with_order(order as u64),
            Err(_) => old,
        };
        self.arrivals.map(renumbered);
        self.others.map(renumbered);
    }
}

/// The slot of a channel's pending arrival in the tournament.
#[derive(Copy, Clone, Debug)]
pub(crate) struct ArrivalSlot(u32);

/// The pending arrival of each channel, and which of them comes first: a complete tree of groups of
/// four; the earliest member of each group is a member of a group above. A change costs three
/// comparisons a level, without branches to predict.
#[derive(Debug)]
struct Tournament {
    /// The root's group at 0; the groups below the members of group n from 4n + 1 on. The last level
    /// holds the slots.
    groups: Vec<[PendingEvent; GROUP]>,
    /// Where the last level begins.
    last_level: usize,
    first: PendingEvent,
    /// Number of allocated slots.
    used: u32,
}

/// Entries of a group.
const GROUP: usize = 4;

impl Default for Tournament {
    fn default() -> Tournament {
        let groups = vec![[PendingEvent::NONE; GROUP]];
        Tournament { groups, last_level: 0, first: PendingEvent::NONE, used: 0 }
    }
}

impl Tournament {
    fn add_slot(&mut self) -> ArrivalSlot {
        if self.used as usize == self.groups[self.last_level..].len() * GROUP {
            self.grow();
        }
        self.used += 1;
        ArrivalSlot(self.used - 1)
    }

    /// Adds a level and moves the slots to it.
    fn grow(&mut self) {
        let slots: Vec<PendingEvent> = self.slots().collect();
        self.last_level = self.groups.len();
        self.groups = vec![[PendingEvent::NONE; GROUP]; self.groups.len() * GROUP + 1];
        for (slot, entry) in (0..).zip(slots) {
            self.set(ArrivalSlot(slot), entry);
        }
    }

    #[inline]
    fn first(&self) -> PendingEvent {
        self.first
    }

    #[inline(always)]
    fn set(&mut self, slot: ArrivalSlot, PendingEvent { time, tie, event }: PendingEvent) {
        self.set_numbers(slot, time, tie, event);
    }

    /// Takes the numbers one by one. Loading a whole entry just after storing its fields is slow.
    #[inline(never)]
    fn set_numbers(&mut self, slot: ArrivalSlot, mut time: Time, mut tie: u64, mut event: u64) {
        let mut group = self.last_level + slot.0 as usize / GROUP;
        let mut member = slot.0 as usize % GROUP;
        loop {
            let members = &mut self.groups[group];
            members[member] = PendingEvent { time, tie, event };
            PendingEvent { time, tie, event } = earliest(members);
            if group == 0 {
                break;
            }
            (group, member) = ((group - 1) / GROUP, (group - 1) % GROUP);
        }
        self.first = PendingEvent { time, tie, event };
    }

    /// All slots of the leaves, those without an event included.
    fn slots(&self) -> impl Iterator<Item = PendingEvent> + '_ {
        self.groups[self.last_level..].as_flattened().iter().copied()
    }

    fn pending(&self) -> impl Iterator<Item = PendingEvent> + '_ {
        self.slots().filter(|entry| *entry != PendingEvent::NONE)
    }

    /// Changes all entries in a way that keeps their order.
    fn map(&mut self, change: impl Fn(PendingEvent) -> PendingEvent) {
        for entry in self.groups.as_flattened_mut() {
            *entry = change(*entry);
        }
        self.first = change(self.first);
    }
}

#[inline]
fn earliest(&[a, b, c, d]: &[PendingEvent; GROUP]) -> PendingEvent {
    earlier(earlier(a, b), earlier(c, d))
}

#[inline]
fn earlier(a: PendingEvent, b: PendingEvent) -> PendingEvent {
    let second = b.is_before(&a);
    PendingEvent {
        time: select_unpredictable(second, b.time, a.time),
        tie: select_unpredictable(second, b.tie, a.tie),
        event: select_unpredictable(second, b.event, a.event),
    }
}

/// Children of a node of the heap: four are half as deep as two.
const ARITY: usize = 4;

/// Events without a slot: all but arrivals.
#[derive(Debug, Default)]
struct Heap {
    entries: Vec<PendingEvent>,
}

impl Heap {
    #[inline]
    fn first(&self) -> PendingEvent {
        self.entries.first().copied().unwrap_or(PendingEvent::NONE)
    }

    fn pending(&self) -> impl Iterator<Item = PendingEvent> + '_ {
        self.entries.iter().copied()
    }

    /// Changes all entries in a way that keeps their order.
    fn map(&mut self, change: impl Fn(PendingEvent) -> PendingEvent) {
        for entry in &mut self.entries {
            *entry = change(*entry);
        }
    }

    fn push(&mut self, entry: PendingEvent) {
        let mut hole = self.entries.len();
        self.entries.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.entries[parent].is_before(&entry) {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = entry;
    }

    fn remove_first(&mut self) {
        let Some(last) = self.entries.pop() else { return };
        if self.entries.is_empty() {
            return;
        }
        let mut hole = 0;
        while let Some((place, child)) = self.first_child(hole)
            && child.is_before(&last)
        {
            self.entries[hole] = child;
            hole = place;
        }
        self.entries[hole] = last;
    }

    /// The child of `parent` that comes first, and its index.
    fn first_child(&self, parent: usize) -> Option<(usize, PendingEvent)> {
        let begin = parent * ARITY + 1;
        let children = self.entries.get(begin..)?;
        let children = children.iter().take(ARITY).copied();
        (begin..).zip(children).min_by_key(|&(_, child)| child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::{Rng, Span};

    /// Channels get their slots as they come.
    fn add(queue: &mut EventQueue, time: Time, event: Event) {
        let Event::Arrival { channel } = event else { return queue.schedule(time, event) };
        while queue.arrivals.used <= channel {
            queue.add_arrival_slot();
        }
        queue.set_arrival(ArrivalSlot(channel), time, queue.now(), channel);
    }

    fn take(queue: &mut EventQueue) -> Option<(Time, Event)> {
        let next = queue.pop(Time::MAX);
        if let Some((_, Event::Arrival { channel })) = next {
            queue.clear_arrival(ArrivalSlot(channel));
        }
        next
    }

    /// Schedules and pops at random, and compares with a sorted list.
    #[test]
    fn events_come_in_order_of_time_then_of_insertion() {
        const CHANNELS: u32 = 21;
        let mut rng = Rng::new(5);
        let mut queue = EventQueue::default();
        let mut expected: Vec<(Time, u32, Event)> = Vec::new();
        for n in 0..5_000 {
            let time = queue.now() + Span::from_nanos(rng.below(50));
            let arrival = Event::Arrival { channel: rng.below(CHANNELS.into()) as u32 };
            let is_pending = expected.iter().any(|(_, _, event)| *event == arrival);
            let event = if is_pending { Event::App { flow: n } } else { arrival };
            add(&mut queue, time, event);
            expected.push((time, n, event));
            if rng.chance(0.7) {
                expected.sort_by_key(|&(time, order, _)| (time, order));
                let (time, _, event) = expected.remove(0);
                assert_eq!(take(&mut queue), Some((time, event)));
            }
        }
        expected.sort_by_key(|&(time, order, _)| (time, order));
        for (time, _, event) in expected {
            assert_eq!(take(&mut queue), Some((time, event)));
        }
        assert_eq!(take(&mut queue), None);
    }

    #[test]
    fn events_keep_their_order_when_orders_run_out() {
        let mut queue = EventQueue { next_order: ORDERS - 3, ..EventQueue::default() };
        let now = Time::from_nanos(7);
        let events = |n| [Event::App { flow: n }, Event::Arrival { channel: n }];
        for event in (0..10).flat_map(events) {
            add(&mut queue, now, event);
        }
        let order: Vec<_> = std::iter::from_fn(|| take(&mut queue)).collect();
        let expected: Vec<_> = (0..10).flat_map(events).map(|event| (now, event)).collect();
        assert_eq!(order, expected);
        assert!(queue.next_order < 40);
    }

    #[test]
    fn events_come_out_as_they_went_in() {
        let events = [
            Event::Arrival { channel: u32::MAX },
            Event::Late { slot: 1 },
            Event::Timer { endpoint: 1 << 31 },
            Event::App { flow: 0 },
            Event::Udp { source: 9 },
            Event::Udp { source: 3 },
            Event::Middlebox { chain: u32::MAX },
        ];
        let time = Time::from_nanos(u64::MAX - 1);
        for event in events {
            let entry = PendingEvent::new(time, Time::ZERO, ORDERS - 1, event);
            assert_eq!((entry.time, entry.event()), (time, event));
        }
    }

    #[test]
    fn an_event_set_ahead_stands_behind_those_set_before_its_time() {
        let (early, late, due) = (Time::from_nanos(3), Time::from_nanos(8), Time::from_nanos(9));
        let mut queue = EventQueue::default();
        queue.go_to(late);
        queue.schedule(due, Event::App { flow: 1 });
        queue.go_to(early);
        queue.schedule(due, Event::App { flow: 0 });
        add(&mut queue, due, Event::Arrival { channel: 0 });
        let order: Vec<_> =
            std::iter::from_fn(|| take(&mut queue)).map(|(_, event)| event).collect();
        let [first, last] = [0, 1].map(|flow| Event::App { flow });
        assert_eq!(order, [first, Event::Arrival { channel: 0 }, last]);
    }

    #[test]
    fn events_after_the_end_stay() {
        let mut queue = EventQueue::default();
        queue.schedule(Time::from_nanos(10), Event::Udp { source: 0 });
        assert_eq!(queue.pop(Time::from_nanos(9)), None);
        assert!(queue.pop(Time::from_nanos(10)).is_some());
    }
}
