//! The sessions of an endpoint: which tags it accepts datagrams for, and what their connections do
//! when the path changes.

use super::{Endpoint, Slot};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use windlass_base::Time;
use windlass_qlog::Path;
use windlass_tcp::Error;
use windlass_tou_wire::SessionPeer;

/// The sessions that are open, and whether the endpoint serves anything else.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: BTreeSet<u32>,
    /// The paths of the sessions that have one, for the logs of their connections.
    paths: BTreeMap<u32, Path>,
    /// Segments outside of sessions are dropped without an answer.
    exclusive: bool,
}

impl Sessions {
    /// The path of the session that `peer` belongs to.
    pub(super) fn path_of(&self, peer: &SocketAddr) -> Option<&Path> {
        self.paths.get(&SessionPeer::of(peer)?.tag)
    }

    /// Whether a segment from `peer` may reach a connection or the listener.
    pub(super) fn admits(&self, peer: &SocketAddr) -> bool {
        match SessionPeer::of(peer) {
            Some(session) => self.open.contains(&session.tag),
            None => !self.exclusive,
        }
    }
}

impl<Data: Default> Endpoint<Data> {
    /// Accepts datagrams of the session `tag` from now on. False if it is open already.
    pub fn open_session(&mut self, tag: u32) -> bool {
        self.sessions.open.insert(tag)
    }

    /// Whether the session `tag` is open.
    #[cfg(test)]
    pub(super) fn has_session(&self, tag: u32) -> bool {
        self.sessions.open.contains(&tag)
    }

    /// From now on, serves connections of sessions only: nothing else gets an answer.
    pub fn serve_sessions_only(&mut self) {
        self.sessions.exclusive = true;
    }

    /// Ends the session `tag`. Its connections fail with `error`.
    pub fn close_session(&mut self, tag: u32, error: Error) {
        self.sessions.paths.remove(&tag);
        if self.sessions.open.remove(&tag) {
            for key in self.keys_of(tag) {
                self.slots[key].stream.connection_mut().fail(error);
                self.touch(key);
            }
        }
    }

    /// The datagrams of the session `tag` take another path from now on. Its connections search the
    /// path's MTU again, and send what is missing at once, instead of waiting for a timer that the
    /// old path's losses have backed off (RFC 6069 §3 has the reasons).
    pub fn path_changed(&mut self, now: Time, tag: u32) {
        for key in self.keys_of(tag) {
            self.slots[key].restart_path(now);
            self.touch(key);
        }
    }

    /// The path of the session `tag` is another one than before. Its connections begin congestion
    /// control anew (RFC 9000 §9.4). [`Endpoint::path_changed`] or [`Endpoint::path_found`] follows.
    pub fn path_replaced(&mut self, now: Time, tag: u32) {
        for key in self.keys_of(tag) {
            self.slots[key].stream.connection_mut().path_replaced(now);
            self.touch(key);
        }
    }

    /// The session `tag` has a path, and had none before: what its connections sent meanwhile is lost.
    /// As [`Endpoint::path_changed`], but they all send it again at once.
    pub fn path_found(&mut self, now: Time, tag: u32) {
        for key in self.keys_of(tag) {
            self.slots[key].stream.connection_mut().retry_at_once(now);
        }
        self.path_changed(now, tag);
    }

    /// Notes the path of the session `tag` in the logs of its connections; `None`: there is none.
    #[cfg(feature = "session")]
    pub(crate) fn note_path(&mut self, now: Time, tag: u32, path: Option<Path>) {
        match path {
            Some(path) => self.sessions.paths.insert(tag, path),
            None => self.sessions.paths.remove(&tag),
        };
        for key in self.keys_of(tag) {
            if let Some(log) = &mut self.slots[key].log {
                log.path_updated(now, path.as_ref());
            }
        }
    }

    /// The number of connections of the session `tag`.
    pub fn session_len(&self, tag: u32) -> usize {
        self.keys_of(tag).len()
    }

    fn keys_of(&self, tag: u32) -> Vec<usize> {
        let of_session = |slot: &Slot<Data>| {
            SessionPeer::of(&slot.addresses.peer).is_some_and(|session| session.tag == tag)
        };
        self.slots.iter().filter(|(_, slot)| of_session(slot)).map(|(key, _)| key).collect()
    }
}

impl<Data> Slot<Data> {
    fn restart_path(&mut self, now: Time) {
        let connection = self.stream.connection_mut();
        if let Some(path_mtu) = &mut self.path_mtu {
            path_mtu.restart(connection);
        }
        connection.path_restored(now);
    }
}
