//! Two hosts and the router between them.

use crate::namespace::{Namespace, join};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A client, a router and a server, each a network namespace.
///
/// The client is 10.9.1.2 and fd09:1::2, the server 10.9.2.2 and fd09:2::2; the router has the
/// addresses that end with 1. The hosts call their device `router`.
#[derive(Debug)]
pub struct Routed {
    /// The host behind `devices[0]` of the router.
    pub client: Namespace,
    /// Forwards IPv4 and IPv6.
    pub router: Namespace,
    /// The host behind `devices[1]` of the router.
    pub server: Namespace,
    devices: [&'static str; 2],
    attributes: &'static str,
    timers: &'static str,
}

/// Routes with these attributes, and no tail loss probe: no timer of TCP fires because the machine
/// stands still for some 200 ms.
pub const PATIENT_TIMERS: &str = "rto_min 15s";

impl Routed {
    /// Makes the namespaces and joins them. The router's devices towards the client and the server
    /// get the names `devices`; every device is set up with `attributes` of `ip link set`; `timers`
    /// are attributes of the default routes, such as [`PATIENT_TIMERS`].
    ///
    /// # Panics
    ///
    /// Without root, or without iproute2.
    pub fn new(
        prefix: &str,
        devices: [&'static str; 2],
        attributes: &'static str,
        timers: &'static str,
    ) -> Routed {
        let [client, router, server] = ["c", "r", "s"].map(|host| format!("{prefix}{host}"));
        let network = Routed {
            client: Namespace::new(&client),
            router: Namespace::new(&router),
            server: Namespace::new(&server),
            devices,
            attributes,
            timers,
        };
        network.connect_client();
        network.connect(1, &network.server);
        for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            network.router.sysctl(key, "1");
        }
        for host in [&network.client, &network.server] {
            if timers == PATIENT_TIMERS {
                host.sysctl("ipv4/tcp_early_retrans", "0");
            }
        }
        network
    }

    /// Joins the router and the client, for the first time or after [`Routed::disconnect_client`].
    ///
    /// # Panics
    ///
    /// If they are joined already.
    pub fn connect_client(&self) {
        self.connect(0, &self.client);
    }

    /// Removes the devices between the router and the client.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn disconnect_client(&self) {
        self.router.ip(&format!("link delete {}", self.devices[0]));
    }

    fn connect(&self, index: usize, host: &Namespace) {
        let (device, subnet) = (self.devices[index], index + 1);
        join((&self.router, device), (host, "router"));
        let addresses =
            |host| [format!("10.9.{subnet}.{host}/24"), format!("fd09:{subnet}::{host}/64")];
        self.router.bring_up_with(device, &addresses(1), self.attributes);
        host.bring_up_with("router", &addresses(2), self.attributes);
        for gateway in [format!("10.9.{subnet}.1"), format!("fd09:{subnet}::1")] {
            host.ip(format!("route add default via {gateway} {}", self.timers).trim_end());
        }
    }

    /// The client's address.
    pub fn client_address(&self, ipv6: bool) -> IpAddr {
        address(1, ipv6)
    }

    /// The server's address.
    pub fn server_address(&self, ipv6: bool) -> IpAddr {
        address(2, ipv6)
    }
}

fn address(subnet: u8, ipv6: bool) -> IpAddr {
    match ipv6 {
        true => Ipv6Addr::new(0xfd09, u16::from(subnet), 0, 0, 0, 0, 0, 2).into(),
        false => Ipv4Addr::new(10, 9, subnet, 2).into(),
    }
}
