//! The interfaces in the network namespace of the calling thread, by rtnetlink.

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkLayerType, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's index of it.
    pub index: u32,
    /// Whether its packets begin with an Ethernet header. On ppp, tun and wireguard they begin with
    /// the IP header.
    pub ethernet: bool,
    /// Whether it is up.
    pub up: bool,
}

impl Interface {
    /// Finds an interface by its name.
    pub fn find(name: &str) -> Option<Interface> {
        let mut question = LinkMessage::default();
        question.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        let answers = ask(question, NLM_F_REQUEST).ok()?;
        answers.into_iter().next()
    }

    /// Lists all interfaces.
    ///
    /// # Errors
    ///
    /// The netlink request fails.
    pub fn all() -> io::Result<Vec<Interface>> {
        ask(LinkMessage::default(), NLM_F_REQUEST | NLM_F_DUMP)
    }

    fn new(link: &LinkMessage) -> Option<Interface> {
        let name = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.clone()),
            _ => None,
        })?;
        Some(Interface {
            name,
            index: link.header.index,
            // A loopback device has an Ethernet header too.
            ethernet: matches!(
                link.header.link_layer_type,
                LinkLayerType::Ether | LinkLayerType::Loopback
            ),
            up: link.header.flags.contains(LinkFlags::Up),
        })
    }
}

/// RTMGRP_LINK of rtnetlink(7).
const LINKS: u32 = 1;

/// A watch on interfaces: its descriptor becomes readable when one appears, disappears or changes.
#[derive(Debug)]
pub struct Changes(Socket);

impl Changes {
    /// Starts the watch; earlier changes do not show.
    ///
    /// # Errors
    ///
    /// The netlink socket cannot be opened or bound.
    pub fn new() -> io::Result<Changes> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, LINKS))?;
        socket.set_non_blocking(true)?;
        Ok(Changes(socket))
    }

    /// Discards the pending notifications: the descriptor is readable again only after a further
    /// change.
    pub fn forget(&self) {
        // After an overflow (ENOBUFS) the notifications that remain make it readable again.
        while self.0.recv_from_full().is_ok() {}
    }
}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn ask(question: LinkMessage, flags: u16) -> io::Result<Vec<Interface>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    let question = RouteNetlinkMessage::GetLink(question);
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut found = Vec::new();
    loop {
        let (answer, _) = socket.recv_from_full()?;
        if read(&answer, &mut found)? || flags & NLM_F_DUMP != NLM_F_DUMP {
            return Ok(found);
        }
    }
}

/// Appends the interfaces in a datagram of messages to `found`. True if it was the last datagram.
fn read(mut datagram: &[u8], found: &mut Vec<Interface>) -> io::Result<bool> {
    while !datagram.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(datagram)
            .map_err(|error| io::Error::other(error.to_string()))?;
        match message.payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                found.extend(Interface::new(&link));
            }
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => return Err(error.to_io()),
            _ => {}
        }
        let length = (message.header.length as usize).next_multiple_of(4);
        datagram = datagram.get(length.max(16)..).unwrap_or_default();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_among_all_and_found_by_its_name() {
        let all = Interface::all().expect("an answer");
        let lo = all.iter().find(|interface| interface.name == "lo").expect("always there");
        assert_eq!((lo.index, lo.ethernet), (1, true));
        assert_eq!(Interface::find("lo").as_ref(), Some(lo));
        assert_eq!(Interface::find("no-such-device"), None);
    }
}
