//! A connection that checks its fast paths against the general path.

use crate::cc::ControllerFactory;
use crate::config::OptionUse;
use crate::conn::{Accepted, Connection, Error, Event, Run};
use crate::{Ecn, Observer, Segment, Time, TraceEvent};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Deref;

/// After the first [`CALLS_ALL_COMPARED`] calls, one in [`CALLS_BETWEEN_COMPARISONS`] compares the states: printing
/// them is slow.
const CALLS_ALL_COMPARED: u64 = 100;
const CALLS_BETWEEN_COMPARISONS: u64 = 50;

/// Two connections with the same configuration and the same input: one takes its fast paths, the
/// other never does. Every call asserts that both return the same value and reach the same state.
///
/// It dereferences to the one with fast paths, for getters.
pub(super) struct Compared {
    fast: Connection,
    general: Connection,
    calls: u64,
    /// The last call returned a run that [`Run::is_last`] calls the last.
    done: bool,
}

impl Compared {
    /// `make` is called twice and must return equal connections.
    pub(super) fn new(make: impl Fn() -> Connection) -> Compared {
        Compared { fast: make(), general: make().without_fast_paths(), calls: 0, done: false }
    }

    /// For a test that makes thousands of calls: only one in [`CALLS_BETWEEN_COMPARISONS`] compares
    /// the states, from now on.
    pub(super) fn compare_seldom(&mut self) {
        self.calls += CALLS_ALL_COMPARED;
    }

    #[track_caller]
    fn call<T: PartialEq + core::fmt::Debug>(
        &mut self,
        mut call: impl FnMut(&mut Connection) -> T,
    ) -> T {
        let (fast, general) = (call(&mut self.fast), call(&mut self.general));
        assert_eq!(
            fast, general,
            "the fast paths (left) return another value than the general one"
        );
        self.done = false;
        self.calls += 1;
        if self.calls <= CALLS_ALL_COMPARED || self.calls.is_multiple_of(CALLS_BETWEEN_COMPARISONS)
        {
            self.compare_states();
        }
        fast
    }

    #[track_caller]
    fn compare_states(&self) {
        let (fast, general) = (state(&self.fast), state(&self.general));
        if fast != general {
            let differs = fast.bytes().zip(general.bytes()).position(|(a, b)| a != b).unwrap_or(0);
            let near = |text: &str| {
                let from = differs.saturating_sub(200);
                String::from(&text[from..(differs + 60).min(text.len())])
            };
            panic!(
                "the states differ:\n  with fast paths: {}\n  without: {}",
                near(&fast),
                near(&general)
            );
        }
    }

    /// As [`Compared::call`], of a method that has an observer: both must report the same events.
    #[track_caller]
    fn observed<T: PartialEq + core::fmt::Debug, O: Observer>(
        &mut self,
        now: Time,
        observer: &mut O,
        mut call: impl FnMut(&mut Connection, &mut Recorder<O>) -> T,
    ) -> T {
        let (value, events) = self.call(|connection| {
            let mut recorder = Recorder(Vec::new(), PhantomData);
            (call(connection, &mut recorder), recorder.0)
        });
        events.into_iter().for_each(|event| observer.observe(now, event));
        value
    }

    #[track_caller]
    pub(super) fn handle_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        ecn: Ecn,
        observer: &mut impl Observer,
    ) -> Accepted {
        self.observed(now, observer, |connection, recorder| {
            connection.handle_segment(now, segment, ecn, recorder)
        })
    }

    #[track_caller]
    pub(super) fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) {
        self.observed(now, observer, |connection, recorder| {
            connection.handle_timeout(now, recorder);
        });
    }

    #[track_caller]
    pub(super) fn poll_transmit(
        &mut self,
        now: Time,
        max: u32,
        observer: &mut impl Observer,
    ) -> Option<Run> {
        let done = self.done;
        let run = self.observed(now, observer, |connection, recorder| {
            connection.poll_transmit(now, max, recorder)
        });
        assert!(!done || run.is_none(), "{run:?} follows a run that was the last");
        self.done = run.is_some_and(|run| run.is_last);
        run
    }

    #[track_caller]
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.call(Connection::poll_event)
    }

    #[track_caller]
    pub(super) fn write(&mut self, bytes: u64) -> Result<u64, Error> {
        self.call(|connection| connection.write(bytes))
    }

    #[track_caller]
    pub(super) fn write_endlessly(&mut self) -> Result<(), Error> {
        self.call(Connection::write_endlessly)
    }

    #[track_caller]
    pub(super) fn read(&mut self, bytes: u64) -> Result<u64, Error> {
        self.call(|connection| connection.read(bytes))
    }

    #[track_caller]
    pub(super) fn discard_incoming(&mut self) {
        self.call(Connection::discard_incoming);
    }

    #[track_caller]
    pub(super) fn close(&mut self, now: Time) {
        self.call(|connection| connection.close(now));
    }

    #[track_caller]
    pub(super) fn abort(&mut self) {
        self.call(Connection::abort);
    }

    #[track_caller]
    pub(super) fn set_congestion(&mut self, congestion: Arc<dyn ControllerFactory>) {
        self.call(|connection| connection.set_congestion(Arc::clone(&congestion)));
    }

    #[track_caller]
    pub(super) fn fail_opening(&mut self, error: Error) {
        self.call(|connection| connection.fail_opening(error));
    }

    #[track_caller]
    pub(super) fn path_restored(&mut self, now: Time) {
        self.call(|connection| connection.path_restored(now));
    }

    #[track_caller]
    pub(super) fn path_replaced(&mut self, now: Time) {
        self.call(|connection| connection.path_replaced(now));
    }

    #[track_caller]
    pub(super) fn limit_window(&mut self, bytes: u64) {
        self.call(|connection| connection.limit_window(bytes));
    }

    #[track_caller]
    pub(super) fn limit_buffers(&mut self, send: u64, receive: u64) {
        self.call(|connection| connection.limit_buffers(send, receive));
    }

    #[track_caller]
    pub(super) fn set_accurate_option(&mut self, option: OptionUse) {
        self.call(|connection| connection.set_accurate_option(option));
    }

    #[track_caller]
    pub(super) fn set_mss(&mut self, mss: u32) {
        self.call(|connection| connection.set_mss(mss));
    }

    #[track_caller]
    pub(super) fn path_probe(&mut self, now: Time, len: u32) -> Option<Segment> {
        self.call(|connection| connection.path_probe(now, len))
    }
}

impl Deref for Compared {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.fast
    }
}

/// Keeps events for an observer of the type `O`; keeps none if that one ignores them.
struct Recorder<O>(Vec<TraceEvent>, PhantomData<O>);

impl<O: Observer> Observer for Recorder<O> {
    const ENABLED: bool = O::ENABLED;

    fn observe(&mut self, _now: Time, event: TraceEvent) {
        self.0.push(event);
    }
}

/// All fields of a connection as text, except the switch of the fast paths.
fn state(connection: &Connection) -> String {
    let mut text = format!("{connection:?}");
    text.truncate(text.rfind("fast_paths: ").expect("the last field"));
    text
}
