//! Private addresses for nested links: blocks of 100.64.0.0/10 (RFC 6598), as mahimahi has them.
//!
//! Each link has a block. The first two addresses belong to the link's outside and inside; nested links
//! get the rest. So one route at the outside reaches everything in a link, without address
//! translation.

use ipnet::Ipv4Net;
use nix::ifaddrs::getifaddrs;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// The name of the device inside.
pub(crate) const INSIDE_DEVICE: &str = "windlass0";

/// The prefix of a block that is not nested in another: 4096 addresses.
const OUTERMOST_PREFIX: u8 = 20;
/// A block holds four of the next level; its own addresses are in the first.
const LEVEL_BITS: u8 = 2;
/// The smallest block: network, outside, inside, broadcast.
const SMALLEST_PREFIX: u8 = 30;

/// A block that this process holds until the value is dropped.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) network: Ipv4Net,
    /// An abstract socket name, which the kernel frees when the process ends. Each network
    /// namespace has its own such names, as it has its own addresses.
    _lock: UnixListener,
}

impl Block {
    /// Claims a block that is unused in the current network namespace: `wanted`, or the first that is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if `wanted` is in use, or not within the link that this one is in;
    /// another error if no block is free.
    pub(crate) fn claim(wanted: Option<Ipv4Net>) -> io::Result<Block> {
        let used = addresses_here()?;
        let parent = used.iter().find(|(device, _)| device == INSIDE_DEVICE);
        let parent = parent.map(|(_, address)| *address);
        let overlapping = |block: &Ipv4Net| {
            used.iter().find(|(_, address)| {
                block.contains(&address.addr())
                    // A nested link is within its parent.
                    || Some(*address) != parent && address.contains(&block.network())
            })
        };
        if let Some(block) = wanted {
            check(block, parent)?;
            if let Some((device, address)) = overlapping(&block) {
                return Err(refused(block, &format!("overlaps {address}, an address of {device}")));
            }
            return Block::lock(block)?.ok_or_else(|| refused(block, "is that of another link"));
        }
        for network in candidates(parent).into_iter().filter(|block| overlapping(block).is_none()) {
            if let Some(block) = Block::lock(network)? {
                return Ok(block);
            }
        }
        let full = "no addresses left: too many links, or too many in each other, or another program \
                    has 100.64.0.0/10; choose a block with --block, such as 10.200.0.0/20";
        Err(io::Error::other(full))
    }

    /// The block, unless another process holds it.
    fn lock(network: Ipv4Net) -> io::Result<Option<Block>> {
        let name = format!("windlass-link-{network}");
        let lock = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?).ok();
        Ok(lock.map(|lock| Block { network, _lock: lock }))
    }

    /// The address of the link's outside.
    pub(crate) fn outside(&self) -> Ipv4Addr {
        nth(self.network, 1)
    }

    /// The address of the link's inside.
    pub(crate) fn inside(&self) -> Ipv4Addr {
        nth(self.network, 2)
    }
}

/// Whether a link can have these addresses.
fn check(block: Ipv4Net, parent: Option<Ipv4Net>) -> io::Result<()> {
    // The parent's outside reaches the addresses of the parent alone.
    match parent.map(|parent| parent.trunc()) {
        Some(parent) if !parent.contains(&block) => {
            let why = format!("is not in {parent}, the addresses of the link that this one is in");
            Err(refused(block, &why))
        }
        _ => Ok(()),
    }
}

fn refused(block: Ipv4Net, why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("--block: {block} {why}"))
}

fn nth(network: Ipv4Net, n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(network.network().to_bits() + n)
}

/// The blocks to choose from: any of 100.64.0.0/10, or those in the block of the link that this one
/// is nested in.
fn candidates(parent: Option<Ipv4Net>) -> Vec<Ipv4Net> {
    let (whole, prefix) = match parent {
        Some(parent) => (parent.trunc(), parent.prefix_len() + LEVEL_BITS),
        None => (Ipv4Net::new_assert(Ipv4Addr::new(100, 64, 0, 0), 10), OUTERMOST_PREFIX),
    };
    if prefix > SMALLEST_PREFIX {
        return Vec::new();
    }
    whole.subnets(prefix).map(Iterator::collect).unwrap_or_default()
}

/// The IPv4 addresses of the current network namespace, with their devices and prefixes.
fn addresses_here() -> io::Result<Vec<(String, Ipv4Net)>> {
    let address = |entry: nix::ifaddrs::InterfaceAddress| {
        let address = entry.address.as_ref()?.as_sockaddr_in()?.ip();
        let mask = entry.netmask.as_ref()?.as_sockaddr_in()?.ip();
        let network = Ipv4Net::with_netmask(address, mask).ok()?;
        Some((entry.interface_name, network))
    };
    Ok(getifaddrs()?.filter_map(address).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_links_fit_into_each_other_and_their_addresses_differ() {
        let mut parent: Option<Ipv4Net> = None;
        let mut own = Vec::new();
        for _ in 0..6 {
            let free =
                |block: &Ipv4Net| parent.is_none_or(|parent| !block.contains(&parent.addr()));
            let block = candidates(parent).into_iter().find(free).expect("a block");
            own.extend([nth(block, 1), nth(block, 2)]);
            parent = Some(Ipv4Net::new(nth(block, 2), block.prefix_len()).expect("a prefix"));
        }
        assert_eq!(candidates(parent), []);
        own.sort();
        own.dedup();
        assert_eq!(own.len(), 12);
    }
}
