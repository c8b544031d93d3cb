"""The paper's network of namespaces; the router is `windlass link` with tc's RED, which kernels
without sch_red have not.
"""

from collections.abc import Sequence
from pathlib import Path

from windlass_lab.core.files.toml_value import toml_value
from windlass_lab.papers.ecn_proxy.aside_kernel import KernelCell
from windlass_lab.papers.ecn_proxy.plan import CLIENT_OPENS, IPV6, OWN_PROXIES, Test
from windlass_lab.testbed import link
from windlass_lab.testbed.topology import (
    End,
    Experiment,
    Flow,
    Link,
    Node,
    Program,
    Route,
    Topology,
)

# Tests on kernels: the paper's tests, and cells kept aside.
OnKernels = Test | KernelCell
CONTROLLER = "cubic"
_RED = (
    '{ kind = "tc-red", limit = "40kB", min = "2kB", max = "8kB", avpkt_bytes = 1000, burst = 4, '
    "probability = 0.3 }"
)
# The paper's rates were limited outside of its router's kernel, behind the device; what waits there
# is not in RED's queue (docs/results/ecn-proxy.md). 37.5 kB each.
_SLOW = 'rate = "10Mbit/s", device_queue = "30ms"'
_FAST = 'rate = "100Mbit/s", device_queue = "3ms"'
# Node, the other, number of their network: the node is its host 1, the other its host 2.
_WIRES = (
    ("client", "proxy", 1),
    ("proxy", "left", 2),
    ("udpl", "left", 3),
    ("gateway", "right", 4),
    ("server", "gateway", 5),
    ("udpr", "right", 6),
)
_NETWORKS = {node: network for node, _, network in _WIRES}
_LEFT, _RIGHT = (1, 2, 3), (4, 5, 6)
# That of the router's ports.
_ROUTER = 9
_FORWARD = {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1}
_FORWARDING = ("proxy", "left", "right", "gateway")
# A proxy's node, and the host that it serves.
_SERVED = {"proxy": "client", "gateway": "server"}


def address(test: OnKernels, node: str) -> str:
    """A host's address."""
    return _host_of(_NETWORKS[node], 1, test.mode == IPV6)


def _host_of(network: int, number: int, ipv6: bool) -> str:
    return f"fd00:{network}::{number}" if ipv6 else f"10.{network}.0.{number}"


def _subnet(network: int, ipv6: bool) -> str:
    return f"fd00:{network}::/64" if ipv6 else f"10.{network}.0.0/24"


def experiment(test: OnKernels) -> Experiment:
    """The testbed of a test. Its one flow tells what has to be there; the runner makes its own."""
    hosts = [
        Node("client", _host(test.client_ecn, _asks_again(test))),
        Node("server", _host(test.server_ecn, _asks_again(test))),
        Node("udpl"),
        Node("udpr"),
    ]
    routers = [Node(name, _FORWARD) for name in _FORWARDING]
    ipv6 = test.mode == IPV6
    length = 64 if ipv6 else 24

    def end(node: str, network: int, number: int) -> End:
        return End(node, [f"{_host_of(network, number, ipv6)}/{length}"])

    links = [Link(end(node, net, 1), end(other, net, 2)) for node, other, net in _WIRES]
    # iperf chooses no controller at an end that sends to a client which has opened the connection.
    controller = CONTROLLER if test.mode == CLIENT_OPENS else ""
    routes = [
        Route(node, via=_host_of(net, 2, ipv6), controller=controller) for node, _, net in _WIRES
    ]
    routes += [
        Route("left", to=_subnet(1, ipv6), via=_host_of(2, 1, ipv6)),
        Route("right", to=_subnet(5, ipv6), via=_host_of(4, 1, ipv6)),
    ]
    return Experiment(
        name=test.name,
        topology=Topology([*hosts, *routers], links, routes=routes),
        flows=[Flow("transfer", "client", "server", CONTROLLER)],
        programs=[_router(test), *(_proxy(node, _asks_again(test)) for node in proxies(test))],
    )


def _asks_again(test: OnKernels) -> bool:
    """Whether a SYN that was lost asks for ECN again: as in the paper's Linux 3.19, not as in Linux
    since 4.1, nor as in the simulated cells.
    """
    return isinstance(test, Test)


def _host(ecn: bool, asks_again: bool) -> dict[str, int]:
    return {
        "net.ipv4.tcp_ecn": int(ecn),
        "net.ipv4.tcp_ecn_fallback": int(not asks_again),
        # While others keep the queue above RED's max, a SYN finds no room: it is to wait for them.
        "net.ipv4.tcp_syn_retries": 20,
        "net.ipv4.tcp_no_metrics_save": 1,
    }


def _router(test: OnKernels) -> Program:
    left, right = _downs(test)
    ipv6 = test.mode == IPV6
    ports = [_port("left", 1, _RIGHT, left, ipv6), _port("right", 2, _LEFT, right, ipv6)]
    return link.program(ports, name="router")


def _downs(test: OnKernels) -> tuple[str, str]:
    """The path towards each side's hosts, as TOML."""
    if isinstance(test, KernelCell):
        path = toml_value(test.path)
        return path, path
    # The round trip of an empty path is what the testbed's own hops take: 0.13 ms.
    slow, fast = (f"{{ {rate}, queue = {_RED} }}" for rate in (_SLOW, _FAST))
    return (slow, fast) if test.direction == "download" else (fast, slow)


def _port(name: str, number: int, behind: Sequence[int], down: str, ipv6: bool) -> link.Port:
    address = f"{_host_of(_ROUTER, number, ipv6)}/{64 if ipv6 else 24}"
    return link.Port(name, address, "{}", down, [_subnet(network, ipv6) for network in behind])


def proxies(test: OnKernels) -> list[str]:
    """The nodes with a proxy."""
    nodes = list(_SERVED) if test.configuration == OWN_PROXIES else ["proxy"]
    return nodes if test.has_proxy else []


def socket(out: Path | str, node: str) -> str:
    """Where a node's proxy is asked; its own, as testbeds stand side by side."""
    return f"{out}/{node}.sock"


def _proxy(node: str, asks_again: bool) -> Program:
    # It asks for ECN again where a SYN was lost, if the hosts do.
    fallback = ["--no-fallback"] if asks_again else []
    # A device has the name of the node that it leads to.
    command = ["{windlass}", "ecn-proxy", "run", *fallback, "--client-side", _SERVED[node]]
    return Program(f"ecn-proxy-{node}", [*command, "--socket", socket("{out}", node)], node=node)
