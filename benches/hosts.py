"""Hosts for the benches: network namespaces, built and removed by the lab's testbed."""

import sys
from pathlib import Path

try:
    from windlass_lab.testbed.bed import Testbed
    from windlass_lab.testbed.topology import End, Link, Node, Route, Topology
except ModuleNotFoundError:
    sys.exit("error: this bench needs the lab: run it with .venv/bin/python (make setup)")

__all__ = ["End", "Link", "Route", "Testbed", "Topology", "host"]

_CONTROLLER = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def host(name: str, **net: str | int) -> Node:
    """A host with this machine's congestion controller and with sysctls below `net.ipv4`."""
    controller = _CONTROLLER.read_text(encoding="ascii").strip()
    sysctls: dict[str, str | int] = {"net.ipv4.tcp_congestion_control": controller}
    return Node(name, sysctls | {f"net.ipv4.{key}": value for key, value in net.items()})
