//! Calls that begin, block and return.

use super::calls::{self, Prepared};
use super::due::{Due, Pending, nanos};
use super::outcome::Side;
use super::runner::{Runner, Stop, diverged, line, plain};
use crate::call::{BLOCKED_AT_MOST, Call, Fd, Return};
use crate::script::{CallSpec, Event, Position};
use windlass_base::Time;

/// How long a call of the script waits for one that blocks.
const PATIENCE_NS: i64 = 1_000_000_000;

impl Runner<'_> {
    /// Begins a call. One that does not block has returned when this does.
    pub(super) fn call(&mut self, event: &Event, spec: &CallSpec, due: &Due) -> Result<(), Stop> {
        self.finish_pending()?;
        self.wait_for(event.position, due, "call")?;
        let end = spec.end.map(|end| {
            let at = due.origin + nanos(end);
            Due {
                from: at,
                until: at,
                any: false,
                tolerance: self.tolerance(at, Some(due.from)),
                origin: 0,
            }
        });
        let at = self.now();
        let live = |fd: i32| {
            self.fds.get(&fd).copied().ok_or_else(|| format!("the descriptor {fd} is not open"))
        };
        let prepared = calls::prepare(spec, &live).map_err(|fault| {
            diverged(
                event.position,
                fault.clone(),
                vec![line(due.from, event.source.clone())],
                vec![plain(fault)],
            )
        })?;
        let text = calls::text(spec);
        match prepared {
            Prepared::Unsupported(what) => Err(Stop::Skip(what)),
            Prepared::File => {
                self.enter(at, Side::Program, text);
                self.opened_file(event.position, spec)
            }
            Prepared::CloseFile(fd) if self.files.remove(&fd) => {
                self.enter(at, Side::Program, text);
                Ok(())
            }
            Prepared::CloseFile(fd) => {
                let call = Call::Close { fd: live(fd).unwrap_or(Fd(-1)) };
                self.begin(event.position, spec, end, at, &call)
            }
            Prepared::Call(call) => self.begin(event.position, spec, end, at, &call),
        }
    }

    fn begin(
        &mut self,
        position: Position,
        spec: &CallSpec,
        end: Option<Due>,
        at: i64,
        call: &Call,
    ) -> Result<(), Stop> {
        self.before_call(spec, call);
        self.enter(at, Side::Program, calls::text(spec));
        self.pending = Some(Pending { position, spec: spec.clone(), end });
        self.host.begin(call)?;
        self.take_in()?;
        if end.is_some() {
            return Ok(());
        }
        let last = at.saturating_add(BLOCKED_AT_MOST.as_nanos() as i64);
        while self.pending.is_some() {
            if self.now() >= last {
                return Err(self.blocks(position, spec, at));
            }
            self.host.wait(self.by_clock(last));
            self.take_in()?;
        }
        Ok(())
    }

    fn blocks(&self, position: Position, spec: &CallSpec, at: i64) -> Stop {
        let expected = vec![line(at, calls::text(spec))];
        let actual = vec![line(self.now(), format!("{} has not returned", spec.name))];
        diverged(position, format!("{} blocks", spec.name), expected, actual)
    }

    /// Waits for the call that blocks.
    pub(super) fn finish_pending(&mut self) -> Result<(), Stop> {
        let last = self.now() + PATIENCE_NS;
        self.take_in()?;
        while let Some(pending) = &self.pending {
            if self.now() >= last {
                let (position, spec) = (pending.position, pending.spec.clone());
                return Err(self.blocks(position, &spec, last - PATIENCE_NS));
            }
            self.host.wait(self.by_clock(last));
            self.take_in()?;
        }
        Ok(())
    }

    /// Tells the connections of a call before it returns.
    fn before_call(&mut self, spec: &CallSpec, call: &Call) {
        let connects = matches!(call, Call::Connect { .. } | Call::SendMessage { .. })
            || spec.name == "sendto";
        if let Some(fd) = calls::descriptor(spec).filter(|_| connects) {
            self.connections.connecting(fd);
        }
        if let Call::Disconnect { .. } = call {
            calls::descriptor(spec).into_iter().for_each(|fd| self.connections.disconnected(fd));
        }
        if let Some((key, data)) = calls::epoll_data(spec) {
            self.epoll_data.insert(key, data);
        }
    }

    /// Compares the end of a call with the script's.
    pub(super) fn returned(&mut self, at: Time, value: &Return) -> Result<(), Stop> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let at = self.since_start(at);
        let Pending { position, spec, end } = pending;
        let expected = || vec![line(end.map_or(at, |end| end.from), calls::text(&spec))];
        let view = calls::View {
            fds: &self.fds,
            epoll_data: &self.epoll_data,
            tolerance_ns: nanos(self.settings().tolerance),
            start: self.start,
            now: self.host.now(),
        };
        let fault =
            calls::value_fault(&spec, value).or_else(|| calls::outcome_fault(&spec, value, &view));
        if let Some(fault) = fault {
            let seen =
                vec![line(at, format!("{} returned {}", spec.name, calls::returned_text(value)))];
            return Err(diverged(position, fault, expected(), seen));
        }
        if let Some(fault) = end.and_then(|end| end.fault(at)) {
            let seen =
                vec![line(at, format!("{} returned {}", spec.name, calls::returned_text(value)))];
            return Err(diverged(
                position,
                format!("{} returned: {fault}", spec.name),
                expected(),
                seen,
            ));
        }
        if end.is_some() {
            self.enter(
                at,
                Side::Returned,
                format!("{} returned {}", spec.name, calls::returned_text(value)),
            );
        }
        self.after_call(position, &spec, value)
    }

    /// Tells descriptors and connections of a call that succeeded.
    fn after_call(
        &mut self,
        position: Position,
        spec: &CallSpec,
        value: &Return,
    ) -> Result<(), Stop> {
        let Ok(live) = value.value else { return Ok(()) };
        let own = calls::descriptor(spec);
        match spec.name.as_str() {
            "socket" | "accept" | "accept4" | "epoll_create" => {
                let fd = self.new_descriptor(position, spec)?;
                self.fds.insert(fd, Fd(live as i32));
                match spec.name.as_str() {
                    "socket" => self.connections.opened(fd),
                    "epoll_create" => {}
                    _ if self.connections.accepted(fd) => {}
                    _ => {
                        let expected = vec![plain(calls::text(spec))];
                        let seen = vec![plain("a connection that the script did not open")];
                        return Err(diverged(
                            position,
                            "accept returned a strange connection",
                            expected,
                            seen,
                        ));
                    }
                }
            }
            "listen" => own.into_iter().for_each(|fd| self.connections.listening(fd)),
            "close" => drop(own.and_then(|fd| self.fds.remove(&fd))),
            _ => {}
        }
        Ok(())
    }

    /// The descriptor that a call returns in the script; it must be a new one.
    fn new_descriptor(&self, position: Position, spec: &CallSpec) -> Result<i32, Stop> {
        let fd = calls::result(spec).unwrap_or(-1);
        let fd = i32::try_from(fd).unwrap_or(-1);
        // As in packetdrill, an accepted connection may take the number of another one.
        let is_open = self.fds.contains_key(&fd) && !spec.name.starts_with("accept");
        if fd < 0 || is_open || self.files.contains(&fd) {
            let summary = format!("the script has the descriptor {fd} already");
            return Err(diverged(position, summary, vec![plain(calls::text(spec))], vec![]));
        }
        Ok(fd)
    }

    /// `open`: the subject has no files; `sendfile` takes zeros.
    fn opened_file(&mut self, position: Position, spec: &CallSpec) -> Result<(), Stop> {
        let fd = self.new_descriptor(position, spec)?;
        self.files.insert(fd);
        Ok(())
    }
}
