"""The paper's network of namespaces; the router is `windlass link` with tc's RED, which kernels
without sch_red have not.
"""

from pathlib import Path

from windlass_lab.papers.ecn_proxy.plan import OWN_PROXIES, Test
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

CLIENT, SERVER = "10.1.0.1", "10.5.0.1"
UDP_LEFT, UDP_RIGHT = "10.3.0.1", "10.6.0.1"
CONTROLLER = "cubic"
_RED = (
    '{ kind = "tc-red", limit = "40kB", min = "2kB", max = "8kB", avpkt_bytes = 1000, burst = 4, '
    "probability = 0.3 }"
)
# The paper's rates were limited outside of its router's kernel, behind the device; what waits there
# is not in RED's queue (docs/results/ecn-proxy.md). 37.5 kB each.
_SLOW = 'rate = "10Mbit/s", device_queue = "30ms"'
_FAST = 'rate = "100Mbit/s", device_queue = "3ms"'
# Node, the other, address of the first; that of the other is the second of the network.
_WIRES = (
    ("client", "proxy", "10.1.0"),
    ("proxy", "left", "10.2.0"),
    ("udpl", "left", "10.3.0"),
    ("gateway", "right", "10.4.0"),
    ("server", "gateway", "10.5.0"),
    ("udpr", "right", "10.6.0"),
)
_FORWARDING = ("proxy", "left", "right", "gateway")
# A proxy's node, and the host that it serves.
_SERVED = {"proxy": "client", "gateway": "server"}


def experiment(test: Test) -> Experiment:
    """The testbed of a test. Its one flow tells what has to be there; the runner makes its own."""
    hosts = [
        Node("client", _host(test.client_ecn)),
        Node("server", _host(test.server_ecn)),
        Node("udpl"),
        Node("udpr"),
    ]
    routers = [Node(name, {"net.ipv4.ip_forward": 1}) for name in _FORWARDING]
    links = [
        Link(End(node, [f"{net}.1/24"]), End(other, [f"{net}.2/24"])) for node, other, net in _WIRES
    ]
    routes = [Route(node, via=f"{net}.2") for node, _, net in _WIRES]
    routes += [
        Route("left", to="10.1.0.0/24", via="10.2.0.1"),
        Route("right", to="10.5.0.0/24", via="10.4.0.1"),
    ]
    return Experiment(
        name=test.name,
        topology=Topology([*hosts, *routers], links, routes=routes),
        flows=[Flow("transfer", "client", "server", CONTROLLER)],
        programs=[_router(test), *map(_proxy, proxies(test))],
    )


def _host(ecn: bool) -> dict[str, int]:
    return {
        "net.ipv4.tcp_ecn": int(ecn),
        # The paper's Linux 3.19 asks for ECN again when a SYN is lost; Linux since 4.1 does not.
        "net.ipv4.tcp_ecn_fallback": 0,
        # While others keep the queue above RED's max, a SYN finds no room: it is to wait for them.
        "net.ipv4.tcp_syn_retries": 20,
        "net.ipv4.tcp_no_metrics_save": 1,
    }


def _router(test: Test) -> Program:
    left, right = (_SLOW, _FAST) if test.direction == "download" else (_FAST, _SLOW)
    behind = ['"10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"', '"10.4.0.0/15", "10.6.0.0/16"']
    # The round trip of an empty path is what the testbed's own hops take: 0.13 ms.
    ports = _port("left", "10.9.0.1", behind[1], left)
    ports += _port("right", "10.9.0.2", behind[0], right)
    return Program(
        "router",
        ["{windlass}", "link", "run", "{file:link.toml}"],
        files={"link.toml": f"schema = 1\n{ports}"},
        ready=["left/left", "right/right"],
    )


def _port(name: str, address: str, routes: str, down: str) -> str:
    return f"""
[[ports]]
name = "{name}"
namespace = "{{node:{name}}}"
addresses = ["{address}/24"]
routes = [{routes}]
up = {{}}
down = {{ {down}, queue = {_RED} }}
"""


def proxies(test: Test) -> list[str]:
    """The nodes with a proxy."""
    nodes = list(_SERVED) if test.configuration == OWN_PROXIES else ["proxy"]
    return nodes if test.has_proxy else []


def socket(out: Path | str, node: str) -> str:
    """Where a node's proxy is asked; its own, as testbeds stand side by side."""
    return f"{out}/{node}.sock"


def _proxy(node: str) -> Program:
    # A device has the name of the node that it leads to.
    # It asks for ECN again where a SYN was lost, as the hosts do.
    command = ["{windlass}", "ecn-proxy", "run", "--no-fallback", "--client-side", _SERVED[node]]
    return Program(f"ecn-proxy-{node}", [*command, "--socket", socket("{out}", node)], node=node)
