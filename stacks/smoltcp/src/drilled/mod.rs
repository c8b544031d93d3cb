//! smoltcp as a subject of the drill: a host with sockets, in virtual time.

mod calls;
mod numbers;
mod sockets;

use crate::stack::{Control, Stack};
use calls::Open;
use numbers::VARIABLES;
use sockets::Sockets;
use std::collections::{BTreeMap, VecDeque};
use windlass_base::{Span, Time};
use windlass_drill::{Call, Fd, Host, Return, Setup, Subject, Unsupported};

/// smoltcp with one of its controllers for every socket. A script may choose another.
#[derive(Copy, Clone, Debug)]
pub struct Drilled {
    /// The controller.
    pub control: Control,
}

impl Subject for Drilled {
    fn name(&self) -> String {
        format!("smoltcp {}", self.control)
    }

    fn start(&self, setup: &Setup) -> Result<Box<dyn Host>, Unsupported> {
        if setup.mapped {
            return Err(Unsupported("it has no IPv4 addresses on IPv6 sockets".to_owned()));
        }
        let now = Time::ZERO;
        let host = crate::stack::Host {
            address: setup.local,
            prefix_len: setup.prefix_len,
            mtu: setup.mtu as usize,
        };
        let stack = Stack::new(&host, 1, now);
        Ok(Box::new(SmoltcpHost {
            machine: Machine { now, stack, sockets: Sockets::new(self.control, setup) },
            left: VecDeque::new(),
            open: None,
            returned: None,
        }))
    }
}

/// The stack with its program's sockets.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) now: Time,
    pub(crate) stack: Stack,
    pub(crate) sockets: Sockets,
}

#[derive(Debug)]
struct SmoltcpHost {
    machine: Machine,
    left: VecDeque<(Time, Vec<u8>)>,
    open: Option<Open>,
    returned: Option<(Time, Return)>,
}

impl SmoltcpHost {
    /// Does what is due, and goes on with the open call.
    fn proceed(&mut self) -> Result<(), Unsupported> {
        self.poll();
        let Some(mut open) = self.open.take() else { return Ok(()) };
        match open.proceed(&mut self.machine)? {
            Some(returned) => self.returned = Some((self.machine.now, returned)),
            None => self.open = Some(open),
        }
        self.poll();
        Ok(())
    }

    fn poll(&mut self) {
        let machine = &mut self.machine;
        machine.stack.poll(machine.now);
        while let Some(packet) = machine.stack.transmit() {
            self.left.push_back((machine.now, packet));
        }
    }

    /// As [`SmoltcpHost::proceed`], for a call that was begun: what it lacks was said then.
    fn go_on(&mut self) {
        self.proceed().unwrap_or_default();
    }

    fn has_news(&self) -> bool {
        self.returned.is_some() || !self.left.is_empty()
    }
}

impl Host for SmoltcpHost {
    fn now(&self) -> Time {
        self.machine.now
    }

    fn wait(&mut self, until: Time) -> Time {
        while !self.has_news() && self.machine.now < until {
            let timers = [self.machine.stack.wakes_at(), self.open.as_ref().and_then(Open::until)];
            let next = timers.into_iter().flatten().min().unwrap_or(until);
            // smoltcp counts in microseconds; a timer that is overdue does not stop the clock.
            let soon = self.machine.now + Span::from_micros(1);
            self.machine.now = next.max(soon).min(until);
            self.go_on();
        }
        self.machine.now
    }

    fn receive(&mut self, packet: &[u8]) {
        self.machine.stack.receive(packet.to_vec());
        self.go_on();
    }

    fn transmit(&mut self) -> Option<(Time, Vec<u8>)> {
        self.left.pop_front()
    }

    fn begin(&mut self, call: &Call) -> Result<(), Unsupported> {
        self.open = Some(Open::new(call.clone(), self.machine.now));
        self.proceed()
    }

    fn returned(&mut self) -> Option<(Time, Return)> {
        self.returned.take()
    }

    /// It has no variables. Those that scripts set by habit change nothing, so that the packets decide.
    fn set(&mut self, sysctl: &str, value: &str) -> Result<(), Unsupported> {
        let name = sysctl.rsplit('.').next().unwrap_or(sysctl);
        let asks_for_ecn = name == "tcp_ecn" && !matches!(value.trim(), "0" | "2");
        if asks_for_ecn || !VARIABLES.contains(&name) {
            return Err(Unsupported(format!("smoltcp has no {sysctl} = {value}")));
        }
        Ok(())
    }

    fn info(&mut self, fd: Fd) -> Result<BTreeMap<String, i64>, Unsupported> {
        self.machine.info(fd)
    }
}

#[cfg(test)]
mod tests;
