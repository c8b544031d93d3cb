//! Windlass's own engine as a subject: a host with sockets around it, in process and in virtual time.
//!
//! [`Engine`] starts hosts. A host ([`machine`]) has sockets ([`socket`]) and connections ([`link`]); the program's
//! calls ([`calls`], [`options`], [`readiness`]) work on both, and packets ([`wire`]) pass between the connections and
//! the script. The engine leaves some decisions to its carrier, which the host takes as Linux does: when
//! writes are held back and end records ([`queue`]), how many segments a packet has ([`link`], [`burst`]), how a closed
//! socket answers, and the host's variables ([`sysctl`]).

mod abi;
mod burst;
mod calls;
mod chrono;
mod config;
mod controller;
mod info;
mod link;
mod machine;
mod options;
mod queue;
mod readiness;
mod socket;
mod sysctl;
#[cfg(test)]
mod tests;
mod wire;

pub use sysctl::{ROWS, Row};

use crate::call::{Call, Fd, Return};
use crate::subject::{Host, Setup, Subject, Unsupported};
use calls::Open;
use machine::Machine;
use std::collections::BTreeMap;
use windlass_base::{Span, Time};

/// The engine with the options of Linux.
#[derive(Copy, Clone, Debug, Default)]
pub struct Engine;

impl Subject for Engine {
    fn name(&self) -> String {
        "engine (linux)".to_owned()
    }

    fn start(&self, setup: &Setup) -> Result<Box<dyn Host>, Unsupported> {
        let machine = Machine::new(setup.clone());
        Ok(Box::new(EngineHost { machine, open: None, returned: None }))
    }
}

/// A host and the call that its program is in.
#[derive(Debug)]
struct EngineHost {
    machine: Machine,
    open: Option<Open>,
    returned: Option<(Time, Return)>,
}

impl EngineHost {
    /// Goes on with the open call.
    fn proceed(&mut self) -> Result<(), Unsupported> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        match open.proceed(&mut self.machine)? {
            Some(returned) => self.returned = Some((self.machine.now, returned)),
            None => self.open = Some(open),
        }
        Ok(())
    }

    /// As [`EngineHost::proceed`], for a call that was begun: what it lacks was said then.
    fn go_on(&mut self) {
        // A call that blocks does not turn out to be missing later.
        self.proceed().unwrap_or_default();
    }

    fn has_news(&self) -> bool {
        self.returned.is_some() || !self.machine.sent.is_empty()
    }
}

impl Host for EngineHost {
    fn now(&self) -> Time {
        self.machine.now
    }

    fn wait(&mut self, until: Time) -> Time {
        while !self.has_news() && self.machine.now < until {
            let timers = [self.machine.wakes_at(), self.open.as_ref().and_then(|open| open.until)];
            let next = timers.into_iter().flatten().min().unwrap_or(until);
            // A timer that is overdue does not stop the clock.
            self.machine.now = next.max(self.machine.now + Span::from_nanos(1)).min(until);
            self.machine.wake();
            self.go_on();
        }
        self.machine.now
    }

    fn receive(&mut self, packet: &[u8]) {
        self.machine.receive(packet);
        self.go_on();
    }

    fn transmit(&mut self) -> Option<(Time, Vec<u8>)> {
        self.machine.sent.pop_front()
    }

    fn begin(&mut self, call: &Call) -> Result<(), Unsupported> {
        self.open = Some(Open::new(call.clone(), self.machine.now));
        self.proceed()
    }

    fn returned(&mut self) -> Option<(Time, Return)> {
        self.returned.take()
    }

    fn set(&mut self, sysctl: &str, value: &str) -> Result<(), Unsupported> {
        self.machine.settings.set(sysctl, value)?;
        self.machine.heed_settings();
        Ok(())
    }

    fn info(&mut self, fd: Fd) -> Result<BTreeMap<String, i64>, Unsupported> {
        self.machine.info(fd)
    }
}
