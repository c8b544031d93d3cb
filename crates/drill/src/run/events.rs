//! Events and their times.

use super::due::{Due, nanos};
use super::outcome::Side;
use super::runner::{Runner, Stop, diverged, line, plain};
use crate::constants::CODE;
use crate::script::code::{Code, Failure};
use crate::script::{Action, Body, Direction, Event, Position, When};

impl Runner<'_> {
    pub(super) fn event(&mut self, event: &Event) -> Result<(), Stop> {
        self.take_in()?;
        let inbound = matches!(&event.action, Action::Packet(packet) if packet.direction == Direction::Inbound);
        let due = self.due(event.when, inbound);
        match &event.action {
            Action::Packet(packet) if inbound => {
                self.wait_for(event.position, &due, "inbound packet")?;
                self.inject(event, packet)?;
            }
            Action::Packet(packet) => match &packet.body {
                Body::Tcp(tcp) => self.expect_segment(event, packet, tcp, &due)?,
                Body::Udp(_) => return Err(Stop::Skip("UDP packets are not supported".to_owned())),
                Body::Icmp(_) => {
                    return Err(Stop::Skip("outbound ICMP messages are not supported".to_owned()));
                }
            },
            Action::Call(call) => self.call(event, call, &due)?,
            Action::Commands(commands) => {
                self.wait_for(event.position, &due, "command")?;
                self.commands(commands)?;
            }
            Action::Code(code) => {
                self.wait_for(event.position, &due, "code")?;
                self.code(event.position, code)?;
            }
        }
        self.before = Some((due.from, inbound));
        Ok(())
    }

    /// When an event is due. Consecutive inbound packets count from each other's times; what follows anything else
    /// counts from now.
    fn due(&self, when: When, inbound: bool) -> Due {
        let origin = match self.before {
            Some((before, true)) if inbound => before,
            _ => self.now(),
        };
        let (origin, from, until) = match when {
            When::At(at) => (0, nanos(at), nanos(at)),
            When::Between(from, until) => (0, nanos(from), nanos(until)),
            When::After(after) => (origin, origin + nanos(after), origin + nanos(after)),
            When::AfterBetween(from, until) => {
                (origin, origin + nanos(from), origin + nanos(until))
            }
            When::Any => (origin, origin, origin),
        };
        let tolerance = self.tolerance(from, self.before.map(|(before, _)| before));
        Due { from, until, any: when == When::Any, tolerance, origin }
    }

    /// How far something at `at` may be off that counts from the event at `before`.
    pub(super) fn tolerance(&self, at: i64, before: Option<i64>) -> i64 {
        let part =
            before.map_or(0.0, |before| (at - before) as f64 * self.settings().tolerance_ratio);
        nanos(self.settings().tolerance).max(part as i64)
    }

    /// Waits until an event is due. A clock that runs by itself may be late.
    pub(super) fn wait_for(
        &mut self,
        position: Position,
        due: &Due,
        what: &str,
    ) -> Result<(), Stop> {
        self.wait_until(due.from)?;
        match due.fault(self.now()).filter(|_| self.before.is_some()) {
            Some(fault) => Err(diverged(
                position,
                format!("{what} too late: {fault}"),
                vec![line(due.from, what)],
                vec![line(self.now(), what)],
            )),
            None => Ok(()),
        }
    }

    fn code(&mut self, position: Position, code: &Code) -> Result<(), Stop> {
        let fd = self.connections.under_test().and_then(|connection| connection.fd);
        let fd = fd.and_then(|fd| self.fds.get(&fd).copied()).ok_or_else(|| {
            let expected = vec![plain("code about the socket under test")];
            diverged(position, "no socket for code", expected, vec![plain("it has no descriptor")])
        })?;
        let mut names = self.host.info(fd)?;
        names.extend(CODE.iter().map(|&(name, value)| (name.to_owned(), value)));
        let at = self.now();
        match self.variables.run(code, &names) {
            Ok(printed) => {
                let texts: Vec<&str> =
                    code.statements.iter().map(|statement| statement.text.as_str()).collect();
                self.enter(at, Side::Program, format!("%{{ {} }}%", texts.join("; ")));
                self.printed.extend(printed);
                Ok(())
            }
            Err(Failure::Unknown { name }) => Err(Stop::Skip(format!("it has no {name}"))),
            Err(Failure::Error { position, message }) => Err(diverged(
                position,
                format!("code: {message}"),
                vec![plain("a value")],
                vec![plain(message)],
            )),
            Err(Failure::Assertion { position, text, values, message }) => {
                let values: Vec<String> =
                    values.iter().map(|(name, value)| format!("{name} = {value:#}")).collect();
                let shown = message.map_or(String::new(), |message| format!(" ({message})"));
                let summary = format!("assertion failed{shown}");
                Err(diverged(
                    position,
                    summary,
                    vec![line(at, text)],
                    vec![line(at, values.join(", "))],
                ))
            }
        }
    }
}
