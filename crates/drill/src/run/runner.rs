//! The state of a script that runs, and its clock.

use super::connection::Connections;
use super::due::{Pending, seconds};
use super::outcome::{Captured, Divergence, Entry, Line, Run, Side, Verdict};
use crate::call::Fd;
use crate::packet::{self, Packet};
use crate::script::Position;
use crate::script::code::Variables;
use crate::subject::{Host, Unsupported};
use crate::{Plan, Settings};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use windlass_base::{Span, Time};

/// More packets than any script has: a subject that sends more does not stop.
const PACKETS_MAX: usize = 1_000_000;

/// Why a script ends before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The subject lacks something.
    Skip(String),
    /// The subject did something else.
    Diverge(Box<Divergence>),
}

impl From<Unsupported> for Stop {
    fn from(reason: Unsupported) -> Stop {
        Stop::Skip(reason.0)
    }
}

/// A packet that the subject sent.
#[derive(Debug)]
pub(super) struct Sent {
    /// When, by the subject's clock.
    pub(super) at: Time,
    pub(super) packet: Packet,
}

pub(super) struct Runner<'a> {
    pub(super) plan: &'a Plan,
    pub(super) host: Box<dyn Host>,
    /// The time of the first event, by the subject's clock.
    pub(super) start: Time,
    pub(super) connections: Connections,
    /// Packets of the subject that no event has taken.
    pub(super) sent: VecDeque<Sent>,
    /// The call that has not returned.
    pub(super) pending: Option<Pending>,
    /// The script's descriptors that are open, with the subject's.
    pub(super) fds: BTreeMap<i32, Fd>,
    /// The script's descriptors of files.
    pub(super) files: BTreeSet<i32>,
    /// The data of `epoll_ctl` by the script's descriptors of the instance and of the socket.
    pub(super) epoll_data: BTreeMap<(i32, i32), i64>,
    pub(super) variables: Variables,
    /// The time of the event before, and whether it was an inbound packet.
    pub(super) before: Option<(i64, bool)>,
    entries: Vec<Entry>,
    packets: Vec<Captured>,
    pub(super) printed: Vec<String>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(plan: &'a Plan, host: Box<dyn Host>) -> Runner<'a> {
        Runner {
            plan,
            host,
            start: Time::ZERO,
            connections: Connections::new(&plan.settings.setup),
            sent: VecDeque::new(),
            pending: None,
            fds: BTreeMap::new(),
            files: BTreeSet::new(),
            epoll_data: BTreeMap::new(),
            variables: Variables::default(),
            before: None,
            entries: Vec::new(),
            packets: Vec::new(),
            printed: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Run {
        let ended = self.script();
        let verdict = match ended {
            Ok(()) => Verdict::Passed,
            Err(Stop::Skip(reason)) => Verdict::Skipped(reason),
            Err(Stop::Diverge(divergence)) => Verdict::Failed(divergence),
        };
        let left = std::mem::take(&mut self.sent);
        let left = left.iter().map(|sent| self.outbound_entry(sent)).collect();
        let elapsed = self.host.now().saturating_since(self.start);
        Run {
            verdict,
            entries: self.entries,
            left,
            packets: self.packets,
            printed: self.printed,
            elapsed,
        }
    }

    fn script(&mut self) -> Result<(), Stop> {
        let script = &self.plan.script;
        if let Some(init) = &script.init {
            self.commands(init)?;
        }
        self.take_in()?;
        // Packets that left while the host was set up belong to no connection.
        self.sent.clear();
        self.start = self.host.now();
        for event in &script.events {
            self.event(event)?;
        }
        self.finish_pending()?;
        match &script.cleanup {
            Some(cleanup) => self.commands(cleanup),
            None => Ok(()),
        }
    }

    pub(super) fn settings(&self) -> &'a Settings {
        &self.plan.settings
    }

    /// The time since the first event, in nanoseconds.
    pub(super) fn now(&self) -> i64 {
        self.since_start(self.host.now())
    }

    pub(super) fn since_start(&self, at: Time) -> i64 {
        (i128::from(at.as_nanos()) - i128::from(self.start.as_nanos())) as i64
    }

    /// A time of the script by the subject's clock.
    pub(super) fn by_clock(&self, at: i64) -> Time {
        self.start + Span::from_nanos(at.max(0) as u64)
    }

    /// Takes what the subject has sent, and the end of the call that was open.
    pub(super) fn take_in(&mut self) -> Result<(), Stop> {
        while let Some((at, bytes)) = self.host.transmit() {
            let parsed = packet::parse(&bytes);
            self.packets.push(Captured { at, inbound: false, bytes });
            // Other packets, as IPv6's router solicitations with their own headers, are in the capture alone.
            if let Ok(packet) = parsed {
                self.sent.push_back(Sent { at, packet });
            }
            if self.packets.len() > PACKETS_MAX {
                return Err(Stop::Skip(format!("it sends more than {PACKETS_MAX} packets")));
            }
        }
        match self.pending.is_some().then(|| self.host.returned()).flatten() {
            Some((at, value)) => self.returned(at, &value),
            None => Ok(()),
        }
    }

    /// Lets time pass until then, or until something happens.
    pub(super) fn wait_until(&mut self, at: i64) -> Result<(), Stop> {
        self.take_in()?;
        while self.now() < at {
            self.host.wait(self.by_clock(at));
            self.take_in()?;
        }
        Ok(())
    }

    /// Gives the subject a packet, which a device put together from segments of `mss` bytes.
    pub(super) fn receive(&mut self, bytes: Vec<u8>, mss: Option<u16>) {
        match mss {
            Some(mss) => self.host.receive_coalesced(&bytes, mss),
            None => self.host.receive(&bytes),
        }
        self.packets.push(Captured { at: self.host.now(), inbound: true, bytes });
    }

    pub(super) fn enter(&mut self, at: i64, side: Side, text: impl Into<String>) {
        let at = Span::from_nanos(at.max(0) as u64);
        self.entries.push(Entry { at, side, text: text.into() });
    }

    /// A packet of the subject as an entry, in the numbers of the script where it belongs to its connection.
    pub(super) fn outbound_entry(&self, sent: &Sent) -> Entry {
        let packet = self.connections.in_script_numbers(&sent.packet);
        let at = Span::from_nanos(self.since_start(sent.at).max(0) as u64);
        Entry { at, side: Side::Outbound, text: format!("> {packet}") }
    }
}

/// Something else than the script says, with both sides.
pub(super) fn diverged(
    position: Position,
    summary: impl Into<String>,
    expected: Vec<Line>,
    actual: Vec<Line>,
) -> Stop {
    Stop::Diverge(Box::new(Divergence { position, summary: summary.into(), expected, actual }))
}

/// A line with a time of the script in nanoseconds.
pub(super) fn line(at: i64, text: impl Into<String>) -> Line {
    Line { at: seconds(at), text: text.into() }
}

/// A line without a time.
pub(super) fn plain(text: impl Into<String>) -> Line {
    Line { at: String::new(), text: text.into() }
}
