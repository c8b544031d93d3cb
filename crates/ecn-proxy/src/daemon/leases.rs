//! The leases of the router's DHCP server, from the file of dnsmasq: whose address is whose, and by
//! which name. The names come from the hosts themselves, so any of them may be wrong or missing.

use crate::datapath::MacAddress;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The rest of a longer file is not read. It has room for some 40,000 leases.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// The longest name of a host in the DNS (RFC 1035 section 2.3.4, less the last dot and the length).
const NAME_LEN_MAX: usize = 253;
/// Where Debian's and Fedora's dnsmasq keeps the leases.
const USUAL: [&str; 2] = ["/var/lib/misc/dnsmasq.leases", "/var/lib/dnsmasq/dnsmasq.leases"];
/// Where OpenWrt's does. On other systems any user could make this file.
const OPENWRT: &str = "/tmp/dhcp.leases";
const OPENWRT_RELEASE: &str = "/etc/openwrt_release";

/// An address that the server has leased.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lease {
    /// The MAC address of the host; `None` for DHCPv6, which has other identifiers.
    mac: Option<MacAddress>,
    name: Option<String>,
}

/// The leases of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Leases {
    by_address: BTreeMap<IpAddr, Lease>,
    names: BTreeMap<MacAddress, String>,
}

impl Leases {
    /// Those of the configured file, or of the first usual one. None if it cannot be read:
    /// [`trouble`] says so.
    pub(super) fn current(configured: Option<&Path>) -> Leases {
        let path = configured.map(Path::to_owned).or_else(usual);
        let bytes = path.and_then(|path| read(&path).ok());
        Leases::parse(&bytes.unwrap_or_default())
    }

    /// The leases of a file's lines. Lines that are none are skipped; the last of an address counts.
    pub(super) fn parse(bytes: &[u8]) -> Leases {
        let mut leases = Leases::default();
        let lines = bytes.split(|byte| *byte == b'\n');
        for (address, lease) in lines.filter_map(|line| read_line(str::from_utf8(line).ok()?)) {
            if let (Some(mac), Some(name)) = (lease.mac, &lease.name) {
                leases.names.insert(mac, name.clone());
            }
            leases.by_address.insert(address, lease);
        }
        leases
    }

    /// The MAC address of the host that has leased the address.
    pub(super) fn mac(&self, address: IpAddr) -> Option<MacAddress> {
        self.by_address.get(&address)?.mac
    }

    /// The name of the host with that MAC address.
    pub(super) fn name(&self, mac: MacAddress) -> Option<&str> {
        self.names.get(&mac).map(String::as_str)
    }

    /// The name in the lease of the address, if no MAC address tells whose it is.
    pub(super) fn name_at(&self, address: IpAddr) -> Option<&str> {
        let lease = self.by_address.get(&address).filter(|lease| lease.mac.is_none())?;
        lease.name.as_deref()
    }
}

/// Why the leases of a file cannot be read.
pub(crate) fn trouble(path: &Path) -> Option<String> {
    let error = open(path).err()?;
    Some(format!("leases not read from {}: {error}", path.display()))
}

fn usual() -> Option<PathBuf> {
    let openwrt = Path::new(OPENWRT_RELEASE).exists().then_some(OPENWRT);
    let paths = openwrt.into_iter().chain(USUAL).map(PathBuf::from);
    paths.into_iter().find(|path| path.exists())
}

fn open(path: &Path) -> io::Result<File> {
    // A pipe would make the daemon wait.
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file")),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The fields are the time of expiry, the MAC address (of DHCPv6 an IAID), the address, the host's
/// name or `*`, and the client's identifier. dnsmasq removes expired leases itself, and where the
/// clock may be wrong it writes durations instead of times.
fn read_line(line: &str) -> Option<(IpAddr, Lease)> {
    let mut fields = line.split_ascii_whitespace();
    fields.next()?.parse::<u64>().ok()?;
    let host = fields.next()?;
    let address: IpAddr = fields.next()?.parse().ok()?;
    let name = fields.next()?;
    let mac = host.parse().ok().filter(|_| address.is_ipv4());
    Some((address, Lease { mac, name: is_name(name).then(|| name.to_owned()) }))
}

/// Whether a name can be shown as it is. `*` stands for none.
fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    text.len() <= NAME_LEN_MAX && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process;

    const FILE: &str = "\
1764500000 02:00:00:00:00:14 192.168.1.20 laptop 01:02:00:00:00:00:14
1764500000 02:00:00:00:00:15 192.168.1.21 * *
0 02:00:00:00:00:16 192.168.1.22 print-er_1.lan ff:01
1764500000 20-00:11:22:33:44:55:66:77:88 192.168.1.23 fabric *
duid 00:01:00:01:2a:2b:2c:2d:02:00:00:00:00:01
1764500000 12345678 fd00::20 laptop6 00:01:00:01:02:03
1764500000 T12345679 fd00::21 * 00:01:00:01:02:03
";

    fn mac(last: u8) -> MacAddress {
        MacAddress([2, 0, 0, 0, 0, last])
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_lease_has_the_address_the_hosts_mac_address_and_its_name() {
        let leases = Leases::parse(FILE.as_bytes());
        assert_eq!(leases.by_address.len(), 6);
        assert_eq!(leases.mac(address("192.168.1.20")), Some(mac(0x14)));
        assert_eq!(leases.name(mac(0x14)), Some("laptop"));
        assert_eq!(leases.mac(address("192.168.1.21")), Some(mac(0x15)));
        assert_eq!(leases.name(mac(0x15)), None, "* is no name");
        assert_eq!(leases.name(mac(0x16)), Some("print-er_1.lan"));
        assert_eq!(leases.mac(address("192.168.1.23")), None, "InfiniBand");
        assert_eq!(leases.name_at(address("192.168.1.23")), Some("fabric"));
        assert_eq!(leases.mac(address("fd00::20")), None);
        assert_eq!(leases.name_at(address("fd00::20")), Some("laptop6"));
        assert_eq!(leases.name_at(address("192.168.1.20")), None, "it is the MAC address's");
    }

    #[test]
    fn a_bad_line_is_skipped_and_the_last_lease_of_an_address_counts() {
        let text = "soon 02:00:00:00:00:01 10.0.0.1 a *\n1 02:00:00:00:00:01 10.0.0.256 a *\n\
                    1 02:00:00:00:00:01 10.0.0.1\n\n\
                    1 02:00:00:00:00:02 10.0.0.2 old *\n1 02:00:00:00:00:03 10.0.0.2 new *\n";
        let mut bytes = b"1 02:00:00:00:00:01 10.0.0.3 \xff *\n".to_vec();
        bytes.extend(text.bytes());
        bytes.extend(b"1 02:00:00:00:00:04 10.0.0.4 \x1b[31m *\r\n1 02:00:00:00:0");
        let leases = Leases::parse(&bytes);
        let known: Vec<IpAddr> = leases.by_address.keys().copied().collect();
        assert_eq!(known, [address("10.0.0.2"), address("10.0.0.4")]);
        assert_eq!(leases.mac(address("10.0.0.2")), Some(mac(3)));
        assert_eq!(leases.name(mac(4)), None, "it would control the terminal");
    }

    #[test]
    fn a_file_that_cannot_be_read_gives_no_leases_and_the_reason() {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("leases-{}", process::id()));
        fs::write(&path, FILE).expect("writable");
        assert_eq!(Leases::current(Some(&path)), Leases::parse(FILE.as_bytes()));
        assert_eq!(trouble(&path), None);
        fs::remove_file(&path).expect("there");
        assert_eq!(Leases::current(Some(&path)), Leases::default());
        let why = trouble(&path).expect("it is gone");
        assert!(why.contains(&*path.to_string_lossy()) && why.contains("No such file"), "{why}");
        assert!(trouble(&folder).is_some_and(|why| why.ends_with("not a file")));
    }

    proptest! {
        /// Whatever stands in a file, names can be shown, and each line is at most one lease.
        #[test]
        fn no_file_is_too_strange(
            noise in prop::collection::vec(any::<u8>(), 0..80),
            at in any::<prop::sample::Index>(),
        ) {
            let mut file = FILE.as_bytes().to_vec();
            let at = at.index(file.len());
            file.splice(at..at, noise.iter().copied());
            for bytes in [noise, file] {
                let leases = Leases::parse(&bytes);
                let lines = bytes.split(|byte| *byte == b'\n').count();
                prop_assert!(leases.by_address.len() <= lines);
                for lease in leases.by_address.values() {
                    prop_assert!(lease.name.as_deref().is_none_or(is_name));
                }
            }
        }
    }
}
