//! Targets as users write them: a service of a peer, and a local port that leads there.

use crate::value::Local;
use std::net::{Ipv4Addr, SocketAddr};
use windlass_forward::protocol::{Request, is_service_name, parse_host_port};

/// `SERVICE@PEER` or `HOST:PORT@PEER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FarTarget {
    pub(crate) request: Request,
    /// A key or a configured name.
    pub(crate) peer: String,
}

/// `[ADDRESS:]PORT=SERVICE@PEER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) listen: SocketAddr,
    pub(crate) to: FarTarget,
}

impl FarTarget {
    pub(crate) fn parse(text: &str) -> Result<FarTarget, String> {
        let expected = "expected SERVICE@PEER, such as ssh@laptop";
        let (what, peer) = text.rsplit_once('@').ok_or(expected)?;
        if peer.is_empty() {
            return Err(expected.to_owned());
        }
        let request = match parse_host_port(what) {
            Some((host, port)) => Request::Connect { host, port },
            None if is_service_name(what) => Request::Service(what.to_owned()),
            None => return Err(format!("{what:?} is neither a service nor HOST:PORT")),
        };
        Ok(FarTarget { request, peer: peer.to_owned() })
    }
}

impl Mapping {
    pub(crate) fn parse(text: &str) -> Result<Mapping, String> {
        let expected = "expected [ADDRESS:]PORT=SERVICE@PEER, such as 2222=ssh@laptop";
        let (listen, to) = text.split_once('=').ok_or(expected)?;
        Ok(Mapping { listen: parse_listen(listen)?, to: FarTarget::parse(to)? })
    }
}

/// A TCP port to listen at: of 127.0.0.1 unless an address is given. Whoever reaches the port reaches
/// the service.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let Local { address, port } = Local::parse(text)?;
    Ok(SocketAddr::new(address.unwrap_or(Ipv4Addr::LOCALHOST.into()), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_names_a_port_a_service_and_a_peer() {
        let mapping = Mapping::parse("2222=ssh@laptop").expect("a mapping");
        assert_eq!(mapping.listen.to_string(), "127.0.0.1:2222");
        assert_eq!(mapping.to.request, Request::Service("ssh".into()));
        assert_eq!(mapping.to.peer, "laptop");
        let mapping = Mapping::parse("[::1]:80=[2001:db8::1]:443@laptop").expect("a mapping");
        assert_eq!(mapping.listen.to_string(), "[::1]:80");
        assert_eq!(mapping.to.request.to_string(), "[2001:db8::1]:443");
    }

    #[test]
    fn errors_say_what_is_expected() {
        let error = |text: &str| Mapping::parse(text).expect_err("no mapping");
        assert!(error("2222").contains("such as 2222=ssh@laptop"));
        assert!(error("x=ssh@laptop").contains("expected PORT"));
        assert!(error("2222=ssh").contains("expected SERVICE@PEER"));
        assert!(error("2222=ssh@").contains("expected SERVICE@PEER"));
        assert!(error("2222=s h@laptop").contains("neither a service nor HOST:PORT"));
    }
}
