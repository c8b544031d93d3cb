//! What the kernel says of an interface in the namespace of the calling thread.

use super::Error;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkLayerType, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

pub(super) struct Interface {
    pub(super) index: u32,
    pub(super) ethernet: bool,
}

impl Interface {
    pub(super) fn find(name: &str) -> Result<Interface, Error> {
        let missing = |_| Error::NoInterface(name.to_owned());
        match ask(name).map_err(missing)? {
            Some(link) => Ok(Interface {
                index: link.header.index,
                // A loopback device has an Ethernet header too.
                ethernet: matches!(
                    link.header.link_layer_type,
                    LinkLayerType::Ether | LinkLayerType::Loopback
                ),
            }),
            None => Err(Error::NoInterface(name.to_owned())),
        }
    }
}

fn ask(name: &str) -> io::Result<Option<LinkMessage>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut question = LinkMessage::default();
    question.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let question = RouteNetlinkMessage::GetLink(question);
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| io::Error::other(error.to_string()))?;
    match answer.payload {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Ok(Some(link)),
        _ => Ok(None),
    }
}
