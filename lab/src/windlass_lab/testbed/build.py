"""Builds a topology: run as a process of its own, since it goes from namespace to namespace.

It reads a pickled `Order` and prints one line where something cannot be done.
"""

import ctypes
import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from pyroute2 import IPRoute, netns
from pyroute2.ethtool.ioctl import IoctlEthtool
from pyroute2.netlink.exceptions import NetlinkError

from windlass_lab.testbed import names
from windlass_lab.testbed.topology import End, Link, Node, Order, Route, Shaper, Topology, Tun
from windlass_lab.testbed.validate import device_of

_FEATURES = {
    "tso": ("tx-tcp-segmentation", "tx-tcp6-segmentation"),
    "gso": ("tx-generic-segmentation",),
    "gro": ("rx-gro",),
}

# Of every node that says nothing else. iperf3 names its controller after it has connected, and what
# the machine's own one did by then stays: BBR's pacing.
_SYSCTLS = {"net.ipv4.tcp_congestion_control": "reno"}

_CLONE_NEWNET = 0x40000000


class BuildError(Exception):
    """A step of the build that failed, in one line."""


def build(order: Order) -> None:
    """Does what is ordered; what it made stays when it fails."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        if order.routes:
            _routes(order)
        else:
            _nodes(order)
    finally:
        netns.setns(home, fork=False)
        os.close(home)


def _nodes(order: Order) -> None:
    topology = order.topology
    for node in topology.nodes:
        with _telling(f"node {node.name}"):
            _create(names.namespace(order.run, node.name))
    for link in topology.links:
        with _telling(f"link {link.a.node} to {link.b.node}"):
            _join(order.run, link)
    for node in topology.nodes:
        netns.setns(names.namespace(order.run, node.name), fork=False)
        with closing(IPRoute()) as ip:
            _node(ip, node, topology)


def _create(name: str) -> None:
    # Without a child, unlike netns.create: one that outlives an interruption would make a namespace
    # after all have been removed.
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    netns.attach(name, os.getpid())
    # Without duplicate address detection IPv6 can be used at once. With it a router has no
    # link-local address for a second or two from which it could ask for a neighbour.
    for conf in ("all", "default"):
        Path(f"/proc/sys/net/ipv6/conf/{conf}/accept_dad").write_text("0\n", encoding="ascii")


def _join(run: str, link: Link) -> None:
    netns.setns(names.namespace(run, link.a.node), fork=False)
    peer = {
        "ifname": device_of(link.b, link.a),
        "mtu": link.mtu,
        "net_ns_fd": names.namespace(run, link.b.node),
    }
    with closing(IPRoute()) as ip:
        ifname = device_of(link.a, link.b)
        ip.link("add", ifname=ifname, kind="veth", mtu=link.mtu, peer=peer)


def _node(ip: IPRoute, node: Node, topology: Topology) -> None:
    # First, since some (IPv6's) are taken over by a device when it goes up.
    for key, value in (_SYSCTLS | dict(node.sysctls)).items():
        with _telling(f"node {node.name}: sysctl {key}"):
            # Dots separate, except in the names of devices, for which sysctl(8) takes slashes.
            path = key if "/" in key else key.replace(".", "/")
            Path("/proc/sys", path).write_text(f"{value}\n", encoding="ascii")
    ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")
    for link in topology.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            if end.node == node.name:
                _end(ip, end, device_of(end, other))
    for tun in topology.tuns:
        if tun.node == node.name:
            with _telling(f"node {tun.node}: device {tun.device}"):
                _tun(ip, tun)


def _end(ip: IPRoute, end: End, device: str) -> None:
    with _telling(f"node {end.node}: device {device}"):
        index = ip.link_lookup(ifname=device)[0]
        _switch(device, end.offloads)
        _addresses(ip, index, end.addresses)
        if end.shaper:
            _shape(ip, index, end.shaper)


def _tun(ip: IPRoute, tun: Tun) -> None:
    ip.link("add", ifname=tun.device, kind="tuntap", mode=tun.mode)
    index = ip.link_lookup(ifname=tun.device)[0]
    ip.link("set", index=index, mtu=tun.mtu)
    _addresses(ip, index, tun.addresses)


def _addresses(ip: IPRoute, index: int, addresses: Sequence[str]) -> None:
    for address in addresses:
        host, _, length = address.partition("/")
        if not length:
            raise BuildError(f"address {address}: expected a prefix length, as in 10.0.0.1/24")
        ip.addr("add", index=index, address=host, prefixlen=int(length))
    ip.link("set", index=index, state="up")


def _shape(ip: IPRoute, index: int, shaper: Shaper) -> None:
    ip.tc(
        "add",
        "tbf",
        index,
        handle=0x10000,
        rate=int(shaper.rate_bps / 8),
        burst=shaper.burst_bytes,
        limit=shaper.limit_bytes,
    )


def _switch(device: str, offloads: Mapping[str, bool]) -> None:
    if not offloads:
        return
    with closing(IoctlEthtool(device)) as ethtool:
        features = ethtool.get_features()
        for name, on in offloads.items():
            for feature in _FEATURES.get(name, (name,)):
                if feature not in features:
                    raise BuildError(f"offload {name}: the device has no feature {feature}")
                features[feature] = on
        ethtool.set_features(features)


def _routes(order: Order) -> None:
    for route in order.topology.routes:
        netns.setns(names.namespace(order.run, route.node), fork=False)
        with _telling(f"node {route.node}: route to {route.to}"), closing(IPRoute()) as ip:
            ip.route("add", **_route(ip, route))


def _route(ip: IPRoute, route: Route) -> dict:
    found: dict[str, object] = {"dst": route.to}
    if ":" in route.via or ":" in route.to:
        found["family"] = 10
    if route.via:
        found["gateway"] = route.via
    if route.device:
        indices = ip.link_lookup(ifname=route.device)
        if not indices:
            raise BuildError(f"there is no device {route.device}")
        found["oif"] = indices[0]
    metrics = {"cc_algo": route.controller, "initcwnd": route.initial_window}
    if metrics := {key: value for key, value in metrics.items() if value}:
        found["metrics"] = metrics
    return found


@contextmanager
def _telling(place: str) -> Iterator[None]:
    """Names the place of whatever goes wrong inside."""
    try:
        yield
    except BuildError as error:
        raise BuildError(f"{place}: {error}") from error
    except NetlinkError as error:
        raise BuildError(f"{place}: {error.args[-1]}") from error
    except (OSError, IndexError, ValueError) as error:
        raise BuildError(f"{place}: {getattr(error, 'strerror', None) or error}") from error


def main() -> int:
    """Reads an order, obeys it; 1, and a line, where that cannot be done."""
    order = pickle.load(sys.stdin.buffer)
    try:
        build(order)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
