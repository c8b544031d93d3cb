//! Two hosts behind gateways of any kind, and a rendezvous on the Internet between them: the network
//! in which the traversal of NATs is tested.

mod gateway;
mod plan;
mod router;

pub use gateway::{Family, Gateway, predicted, predicted_behind_one};
pub use windlass_nat::Dependence;
pub use windlass_nat::theory::{Access, Outcome};

use crate::namespace::{Namespace, join};
use crate::process::Background;
use crate::wait::wait_until;
use router::{Router, filter, masquerade, version};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::Stdio;
use windlass_nat::driver::Driver;
use windlass_nat::{Config, PortAllocation};

/// Two hosts, their gateways, the Internet and a rendezvous, each a network namespace.
pub struct Crossing {
    /// The hosts. Their device is called `net`.
    pub hosts: [Namespace; 2],
    /// A host with two public addresses.
    pub rendezvous: Namespace,
    /// The router between all of them.
    pub internet: Namespace,
    family: Family,
    addresses: [IpAddr; 2],
    sites: Vec<Site>,
}

/// A gateway and what runs on it.
struct Site {
    gateway: Gateway,
    /// Dropped before the namespaces of the routers.
    nats: Vec<Driver>,
    /// From the inside.
    routers: Vec<Router>,
    restarts: u8,
}

impl Crossing {
    /// Makes a network in which the first host is behind `a` and the second one behind `b`. The
    /// names of the namespaces begin with `prefix`.
    ///
    /// # Panics
    ///
    /// Without root, iproute2, nftables or `/dev/net/tun`.
    pub fn new(prefix: &str, family: Family, a: Gateway, b: Gateway) -> Crossing {
        let mut crossing = Crossing::empty(prefix, family);
        for (index, gateway) in [a, b].into_iter().enumerate() {
            let site = crossing.add_site(prefix, index, gateway);
            crossing.sites.push(site);
        }
        crossing
    }

    /// Makes a network in which both hosts are behind one gateway, which is a user-space NAT or
    /// nftables. They reach each other at the external address only, and only with `hairpin`, of
    /// which nftables with `masquerade` is not capable.
    ///
    /// # Panics
    ///
    /// As [`Crossing::new`], and for a gateway without translation.
    pub fn behind_one(prefix: &str, family: Family, gateway: Gateway, hairpin: bool) -> Crossing {
        let mut crossing = Crossing::empty(prefix, family);
        let router = crossing.uplink(prefix, 0);
        for (index, lan) in ["lan0", "lan1"].into_iter().enumerate() {
            crossing.lan(&router, lan, index, |host| plan::private(family, index as u8, host));
        }
        let mut nats = vec![];
        match gateway {
            Gateway::Nat(mapping, filtering) => {
                let config = Config { hairpin, ..nat_config(family, 0, 1) };
                let config = config.behaving(mapping, filtering);
                nats.push(router.user_space_nat(
                    &["lan0", "lan1"],
                    plan::site(family, 0, 1),
                    config,
                ));
            }
            _ if hairpin => panic!("{}: no hairpinning", gateway.name()),
            _ => {
                // Between the two networks nothing passes: hosts of a guest network, for example.
                let isolated = filter("oifname != \"uplink\" drop");
                router.nftables(&(isolated + &masquerade(random_ports(gateway))));
            }
        }
        crossing.sites.push(Site { gateway, routers: vec![router], nats, restarts: 0 });
        crossing
    }

    fn empty(prefix: &str, family: Family) -> Crossing {
        let namespace = |role: &str| Namespace::new(&format!("{prefix}{role}"));
        let crossing = Crossing {
            hosts: [namespace("a"), namespace("b")],
            rendezvous: namespace("r"),
            internet: Router::new(&format!("{prefix}i")).namespace,
            family,
            addresses: [plan::private(family, 0, 2); 2],
            sites: vec![],
        };
        let (internet, rendezvous) = (&crossing.internet, &crossing.rendezvous);
        join((internet, "rendezvous"), (rendezvous, "net"));
        let prefix = plan::prefix(family);
        let address = |host| format!("{}/{prefix}", plan::rendezvous(family, host));
        set_up(internet, "rendezvous", &[address(1)]);
        set_up(rendezvous, "net", &[address(10), address(11)]);
        default_route(rendezvous, family, plan::rendezvous(family, 1));
        crossing
    }

    /// Starts coturn at both addresses of the rendezvous, as a STUN server that knows RFC 5780;
    /// `arguments` may add to it.
    ///
    /// # Panics
    ///
    /// Without coturn, or if it does not answer.
    pub fn start_coturn(&self, arguments: &[&str]) -> Background {
        let mut command = self.rendezvous.command("turnserver");
        // Without settings, database and PID file of the machine.
        command.args(["-n", "--no-tls", "--no-dtls", "--no-cli", "--pidfile", "/dev/null"]);
        command.args(["--db", "/nonexistent/turndb", "--log-file", "stdout", "--simple-log"]);
        for address in self.rendezvous_addresses() {
            command.arg("--listening-ip").arg(address.to_string());
        }
        let coturn = Background::start({
            command.args(arguments).stdout(Stdio::null());
            command
        });
        let server = SocketAddr::new(self.rendezvous_addresses()[0], 3478);
        wait_until("coturn takes connections", || {
            self.rendezvous.inside(|| TcpStream::connect(server)).is_ok()
        });
        coturn
    }

    /// The addresses of the rendezvous: the first one is the main one.
    pub fn rendezvous_addresses(&self) -> [IpAddr; 2] {
        [10, 11].map(|host| plan::rendezvous(self.family, host))
    }

    /// The address of a host in its own network.
    pub fn host_address(&self, host: usize) -> IpAddr {
        self.addresses[host]
    }

    /// Gives a host behind a gateway another address in its network, and no longer the old one.
    pub fn move_host(&mut self, host: usize) {
        let old = self.addresses[host];
        let new = match old {
            IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits() ^ 0x40).into(),
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() ^ 0x40).into(),
        };
        let namespace = &self.hosts[host];
        let version = version(self.family);
        let default = namespace.output("ip", &format!("{version} route show default"));
        namespace.ip(&format!("address delete {old}/{} dev net", plan::prefix(self.family)));
        namespace.ip(&format!("address add {new}/{} dev net", plan::prefix(self.family)));
        namespace.ip(&format!("{version} route replace {}", default.trim()));
        self.addresses[host] = new;
    }

    /// Lets no packet of more than `mtu` bytes pass between the gateway of a host and the Internet. No
    /// host hears of it by ICMP.
    ///
    /// # Panics
    ///
    /// If the host has no gateway.
    pub fn narrow_uplink(&self, host: usize, mtu: u32) {
        self.internet.ip(&format!("link set site{host} mtu {mtu}"));
        let gateway = self.sites[host].routers.last().expect("a gateway");
        gateway.namespace.ip(&format!("link set uplink mtu {mtu}"));
        for namespace in self.hosts.iter().chain([&self.rendezvous]) {
            namespace.run("nft", "add table inet small");
            namespace.run("nft", "add chain inet small in { type filter hook input priority 0 ; }");
            for protocol in ["icmp", "ipv6-icmp"] {
                namespace
                    .run("nft", &format!("add rule inet small in meta l4proto {protocol} drop"));
            }
        }
    }

    /// Restarts the gateway of a host (with one gateway, of both). Its bindings are lost. A
    /// user-space NAT gives out other ports afterwards, nftables has another address.
    ///
    /// # Panics
    ///
    /// If the host has a public address, or the gateway does not translate.
    pub fn restart_gateway(&mut self, host: usize) {
        let index = host.min(self.sites.len() - 1);
        let site = &mut self.sites[index];
        if let [.., outermost] = &site.nats[..] {
            return outermost.reboot();
        }
        let [router, ..] = &site.routers[..] else { panic!("{}", site.gateway.name()) };
        assert!(!matches!(site.gateway, Gateway::Public | Gateway::Firewall), "nothing to forget");
        let prefix = plan::prefix(self.family);
        let address = |restarts| {
            let host = if restarts % 2 == 0 { 2 } else { 5 };
            plan::site(self.family, index, host)
        };
        let (old, new) = (address(site.restarts), address(site.restarts + 1));
        site.restarts += 1;
        // With an address the kernel forgets all connections that were hidden behind it.
        let router = &router.namespace;
        router.ip(&format!("address add {new}/{prefix} dev uplink"));
        router.ip(&format!("address delete {old}/{prefix} dev uplink"));
        let internet = plan::site(self.family, index, 1);
        router.ip(&format!("{} route replace default via {internet}", version(self.family)));
    }

    fn add_site(&mut self, prefix: &str, index: usize, gateway: Gateway) -> Site {
        let (family, number) = (self.family, 2 + index as u8);
        let private = |host| plan::private(family, 0, if host == 2 { number } else { host });
        let mut site = Site { gateway, routers: vec![], nats: vec![], restarts: 0 };
        if gateway == Gateway::Public {
            self.public_host(index);
            return site;
        }
        if gateway == Gateway::Firewall {
            let router = self.uplink(prefix, index);
            self.lan(&router, "lan", index, |host| plan::routed(family, index, host));
            let network = format!("{}/{}", plan::routed(family, index, 0), plan::prefix(family));
            route(&self.internet, family, &network, plan::site(family, index, 2));
            router.nftables(&filter(""));
            site.routers.push(router);
            return site;
        }
        let router = match gateway {
            Gateway::CarrierGrade => self.behind_carrier(prefix, index, &mut site),
            _ => self.uplink(prefix, index),
        };
        self.lan(&router, "lan", index, private);
        match gateway {
            Gateway::Nat(mapping, filtering) => {
                let config = nat_config(family, index, 1).behaving(mapping, filtering);
                site.nats.push(router.user_space_nat(
                    &["lan"],
                    plan::site(family, index, 1),
                    config,
                ));
            }
            Gateway::UdpBlocked => {
                router.nftables(
                    &(filter("tcp dport != 443 drop\nmeta l4proto != tcp drop") + &masquerade("")),
                );
            }
            Gateway::MasqueradeUnfiltered => router.nftables(&masquerade("")),
            Gateway::Sealed => router.nftables(&filter("drop")),
            _ => router.nftables(&(filter("") + &masquerade(random_ports(gateway)))),
        }
        site.routers.insert(0, router);
        site
    }

    /// The first host of a site is its gateway's neighbour on the Internet.
    fn public_host(&mut self, index: usize) {
        let (family, device) = (self.family, format!("site{index}"));
        let host = &self.hosts[index];
        join((&self.internet, &device), (host, "net"));
        let address = |number| plan::site(family, index, number);
        let with_prefix = |number| format!("{}/{}", address(number), plan::prefix(family));
        set_up(&self.internet, &device, &[with_prefix(1)]);
        set_up(host, "net", &[with_prefix(2)]);
        default_route(host, family, address(1));
        self.addresses[index] = address(2);
    }

    /// A router of a site, joined to the Internet.
    fn uplink(&self, prefix: &str, index: usize) -> Router {
        let (family, device) = (self.family, format!("site{index}"));
        let router = Router::new(&format!("{prefix}g"));
        join((&self.internet, &device), (&router.namespace, "uplink"));
        let address = |number| plan::site(family, index, number);
        let with_prefix = |number| format!("{}/{}", address(number), plan::prefix(family));
        set_up(&self.internet, &device, &[with_prefix(1)]);
        set_up(&router.namespace, "uplink", &[with_prefix(2)]);
        default_route(&router.namespace, family, address(1));
        for external in [3, 4].map(address) {
            let host = format!("{external}/{}", plan::host_prefix(family));
            route(&self.internet, family, &host, address(2));
        }
        router
    }

    /// A router of a home whose uplink is the network of a carrier.
    fn behind_carrier(&self, prefix: &str, index: usize, site: &mut Site) -> Router {
        let family = self.family;
        let carrier = self.uplink(prefix, index);
        let home = Router::new(&format!("{prefix}h"));
        join((&carrier.namespace, "lan"), (&home.namespace, "uplink"));
        let address = |number| plan::carrier(family, index, number);
        let with_prefix = |number| format!("{}/{}", address(number), plan::prefix(family));
        set_up(&carrier.namespace, "lan", &[with_prefix(1)]);
        set_up(&home.namespace, "uplink", &[with_prefix(2)]);
        default_route(&home.namespace, family, address(1));
        let config = Config { ports: PortAllocation::Random, ..nat_config(family, index, 2) };
        site.nats.push(carrier.user_space_nat(&["lan"], plan::site(family, index, 1), config));
        site.routers.push(carrier);
        home
    }

    /// Joins a host to a router; `address` gives the router's address for 1 and the host's for 2.
    fn lan(&mut self, router: &Router, lan: &str, host: usize, address: impl Fn(u8) -> IpAddr) {
        let family = self.family;
        let namespace = &self.hosts[host];
        join((&router.namespace, lan), (namespace, "net"));
        let with_prefix = |number| format!("{}/{}", address(number), plan::prefix(family));
        set_up(&router.namespace, lan, &[with_prefix(1)]);
        set_up(namespace, "net", &[with_prefix(2)]);
        default_route(namespace, family, address(1));
        self.addresses[host] = address(2);
    }
}

/// A user-space NAT with so many external addresses.
fn nat_config(family: Family, index: usize, addresses: u8) -> Config {
    Config::new((0..addresses).map(|n| plan::site(family, index, 3 + n)).collect())
}

fn random_ports(gateway: Gateway) -> &'static str {
    match gateway {
        Gateway::MasqueradeRandom => "random",
        Gateway::MasqueradeFullyRandom => "fully-random",
        _ => "",
    }
}

fn set_up(namespace: &Namespace, device: &str, addresses: &[String]) {
    for address in addresses {
        namespace.ip(&format!("address add {address} dev {device}"));
    }
    namespace.ip(&format!("link set {device} up"));
}

fn route(namespace: &Namespace, family: Family, network: &str, via: IpAddr) {
    namespace.ip(&format!("{} route add {network} via {via}", version(family)));
}

fn default_route(namespace: &Namespace, family: Family, via: IpAddr) {
    route(namespace, family, "default", via);
}
