use ipnet::IpNet;
use std::ops::RangeInclusive;

/// What both ends of a connection are held against when it opens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Networks with one of its ends.
    pub networks: Vec<IpNet>,
    /// The port it is opened to.
    pub ports: Vec<RangeInclusive<u16>>,
}

/// Which connections are taken on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// If there are networks: one end is in one. If there are ports: it is opened to one.
    pub allow: Rules,
    /// Neither end is in one of these networks, the port it is opened to not among these. Between an allowed and
    /// a denied network the longer prefix does not count: what is denied is denied.
    pub deny: Rules,
}
