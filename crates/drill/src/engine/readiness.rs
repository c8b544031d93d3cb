//! `poll` and `epoll`: which descriptors are ready (`tcp_poll`).

use super::abi::{errno, event, misc};
use super::link::Link;
use super::machine::Machine;
use super::socket::{Descriptor, Kind};
use super::sysctl::Settings;
use crate::call::{Fd, Outcome, Return};
use crate::subject::Unsupported;
use windlass_tcp::State;

impl Machine {
    /// The events of a descriptor; `None` if there is none.
    fn events(&self, fd: Fd) -> Option<u32> {
        let Descriptor::Socket(socket) = self.descriptors.get(&fd)? else { return Some(0) };
        Some(match &socket.kind {
            Kind::Fresh => event::OUT | event::WRNORM | event::HUP,
            Kind::Failed { .. } => event::OUT | event::WRNORM | event::HUP | event::ERR,
            Kind::Listener(listener) if listener.ready.is_empty() => 0,
            Kind::Listener(_) => event::IN | event::RDNORM,
            Kind::Connected(id) => {
                self.links.get(id).map_or(event::HUP, |link| events_of(link, &self.settings))
            }
        })
    }

    pub(super) fn poll(&self, fds: &[(Fd, i16)], expired: bool) -> Option<Return> {
        const NVAL: i16 = 0x20;
        let always = event::ERR | event::HUP;
        let found: Vec<i16> = fds
            .iter()
            .map(|(fd, asked)| match self.events(*fd) {
                Some(events) => (events & (*asked as u16 as u32 | always)) as i16,
                None => NVAL,
            })
            .collect();
        let ready = found.iter().filter(|events| **events != 0).count();
        (ready > 0 || expired)
            .then_some(Return { value: Ok(ready as i64), outcome: Outcome::Polled(found) })
    }

    pub(super) fn epoll_control(
        &mut self,
        epoll: Fd,
        operation: i32,
        fd: Fd,
        events: u32,
    ) -> Result<Result<i64, i32>, Unsupported> {
        if operation != misc::CTL_DEL && events & event::EDGE != 0 {
            return Err(Unsupported("the engine's host lacks edge-triggered epoll".to_owned()));
        }
        if !self.descriptors.contains_key(&fd) {
            return Ok(Err(errno::EBADF));
        }
        let Some(Descriptor::Epoll(instance)) = self.descriptors.get_mut(&epoll) else {
            return Ok(Err(errno::EINVAL));
        };
        let at = instance.watched.iter().position(|(watched, _)| *watched == fd);
        Ok(match (operation, at) {
            (misc::CTL_ADD, None) => {
                instance.watched.push((fd, events));
                Ok(0)
            }
            (misc::CTL_ADD, Some(_)) => Err(errno::EEXIST),
            (misc::CTL_MOD, Some(at)) => {
                instance.watched[at].1 = events;
                Ok(0)
            }
            (misc::CTL_DEL, Some(at)) => {
                instance.watched.remove(at);
                Ok(0)
            }
            (misc::CTL_MOD | misc::CTL_DEL, None) => Err(errno::ENOENT),
            _ => Err(errno::EINVAL),
        })
    }

    pub(super) fn epoll_wait(&mut self, epoll: Fd, most: usize, expired: bool) -> Option<Return> {
        let Some(Descriptor::Epoll(instance)) = self.descriptors.get(&epoll) else {
            return Some(Return::error(errno::EINVAL));
        };
        let always = event::ERR | event::HUP;
        let ready = |(fd, asked): &(Fd, u32)| {
            // An event of one shot that has been reported is not asked for any more.
            let asked = if *asked == event::ONE_SHOT { return None } else { *asked | always };
            let events = self.events(*fd)? & asked;
            (events != 0).then_some((events, *fd))
        };
        let found: Vec<(u32, Fd)> = instance.watched.iter().filter_map(ready).take(most).collect();
        if found.is_empty() && !expired {
            return None;
        }
        if let Some(Descriptor::Epoll(instance)) = self.descriptors.get_mut(&epoll) {
            for (fd, events) in &mut instance.watched {
                if *events & event::ONE_SHOT != 0 && found.iter().any(|(_, ready)| ready == fd) {
                    *events = event::ONE_SHOT;
                }
            }
        }
        let count = found.len() as i64;
        Some(Return { value: Ok(count), outcome: Outcome::Events(found) })
    }

    /// A descriptor is closed, so no epoll instance watches it any more.
    pub(super) fn unwatch(&mut self, closed: Fd) {
        for descriptor in self.descriptors.values_mut() {
            if let Descriptor::Epoll(instance) = descriptor {
                instance.watched.retain(|(fd, _)| *fd != closed);
            }
        }
    }
}

fn events_of(link: &Link, settings: &Settings) -> u32 {
    let connection = &link.connection;
    let state = connection.state();
    let over = state == State::Closed;
    let no_more_in = connection.peer_closed() || link.reads_nothing || over;
    let no_more_out = !connection.can_write() || link.queue.fin;
    let mut events = 0;
    if over || (no_more_in && no_more_out) {
        events |= event::HUP;
    }
    if no_more_in {
        events |= event::IN | event::RDNORM | event::RDHUP;
    }
    if link.error.is_some() {
        events |= event::ERR;
    }
    if matches!(state, State::SynSent | State::SynReceived) {
        return events;
    }
    if connection.readable() > 0 {
        events |= event::IN | event::RDNORM;
    }
    if no_more_out || link.has_room(link.options.send_buffer(settings), true) {
        events |= event::OUT | event::WRNORM;
    }
    events
}
