//! The ports of a link.

use ipnet::IpNet;
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

#[cfg(test)]
mod tests {
    use super::*;

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
