//! The ports of a link.

use ipnet::{IpNet, Ipv4Net};
use windlass_base::address::parse_interface;

/// A value of `--port`: the device, its namespace and address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PortArg {
    pub name: String,
    pub namespace: Option<String>,
    pub address: Option<IpNet>,
}

/// `NAME[@NAMESPACE][=ADDRESS/PREFIX]`.
pub(crate) fn parse_port(text: &str) -> Result<PortArg, String> {
    let (place, address) = match text.split_once('=') {
        Some((place, address)) => (place, Some(parse_interface(address)?)),
        None => (text, None),
    };
    let (name, namespace) = match place.split_once('@') {
        Some((name, namespace)) => (name, Some(namespace.to_owned())),
        None => (place, None),
    };
    if name.is_empty() {
        return Err("expected the name of a device first".to_owned());
    }
    Ok(PortArg { name: name.to_owned(), namespace, address })
}

/// The longest prefix of a block: network, outside, inside, broadcast.
const BLOCK_PREFIX_MAX: u8 = 30;

/// A network of unicast addresses without bits behind its prefix.
pub(crate) fn parse_block(text: &str) -> Result<Ipv4Net, String> {
    let expected = |why: &str| format!("expected a network such as 10.200.0.0/20{why}");
    let IpNet::V4(block) = parse_interface(text)? else { return Err(expected(", of IPv4")) };
    if block != block.trunc() {
        return Err(expected(&format!("; {text} is an address in {}", block.trunc())));
    }
    if !(8..=BLOCK_PREFIX_MAX).contains(&block.prefix_len()) {
        return Err(expected(&format!(", with a prefix from 8 to {BLOCK_PREFIX_MAX}")));
    }
    let first = block.network();
    let [high, ..] = first.octets();
    if first.is_loopback() || first.is_link_local() || high == 0 || high >= 224 {
        return Err(expected(", of unicast addresses"));
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_a_network_of_four_addresses_or_more() {
        for text in ["10.200.0.0/20", "192.168.77.4/30", "100.64.0.0/10"] {
            assert_eq!(parse_block(text).expect("a block").to_string(), text);
        }
        for text in ["10.200.0.1/20", "10.0.0.0", "10.0.0.0/31", "0.0.0.0/0", "127.0.0.0/8"] {
            assert!(parse_block(text).is_err(), "{text}");
        }
        for text in ["224.0.0.0/8", "240.0.0.0/8", "0.0.0.0/8", "169.254.0.0/16", "fd00::/64", ""] {
            assert!(parse_block(text).is_err(), "{text}");
        }
        let error = parse_block("10.200.0.1/20").expect_err("bits behind the prefix");
        assert!(error.ends_with("10.200.0.1/20 is an address in 10.200.0.0/20"), "{error}");
    }

    #[test]
    fn ports() {
        let port = parse_port("a@left=10.0.0.1/24").expect("a port");
        let address = "10.0.0.1/24".parse().ok();
        assert_eq!(port, PortArg { name: "a".into(), namespace: Some("left".into()), address });
        assert!(parse_port("a=10.0.0.1").is_err(), "no prefix");
        assert!(parse_port("a=010.0.0.1/24").is_err_and(|why| why.contains("octal")));
        assert!(parse_port("@left").is_err(), "no name");
    }
}
