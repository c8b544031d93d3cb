"""The testbed of some servers: one client, a kernel of its own for each nginx, and a TUN or TAP
device at the client for each server that brings its own TCP.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.experiments.servers import (
    PAGE_BYTES,
    RTT_MS,
    EngineServer,
    KernelServer,
    LwipServer,
    Population,
    ServerCase,
    SmoltcpServer,
)
from windlass_lab.papers.split_ack import programs
from windlass_lab.testbed import nginx
from windlass_lab.testbed.topology import End, Link, Node, Program, Route, Topology, Tun

CLIENT = "client"
_PORTS = {False: 80, True: 443}
# As Debian has it: the head of an answer does not go out by itself.
_NGINX_OPTIONS = "tcp_nopush on;"
_KERNEL = {"net.ipv4.tcp_no_metrics_save": 1}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is: the URL to probe; what its log says, or the port of its kernel on which it
    listens, once it serves.
    """

    case: ServerCase
    url: str
    ready_line: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class Network:
    """A testbed, and where its servers are."""

    topology: Topology
    programs: Sequence[Program]
    places: Sequence[Place]


def build(cases: Sequence[ServerCase], folder: Path) -> Network:
    """The network of these servers; `folder` is for what their programs read.

    Raises `LabError` where a certificate or a stack's server cannot be made.
    """
    nodes, links, tuns, routes = [Node(CLIENT)], [], [], []
    commands, places = [], []
    for number, case in enumerate(cases, start=1):
        if isinstance(case.server, KernelServer):
            node = f"host{number}"
            nodes.append(Node(node, _KERNEL))
            ours, theirs = (f"10.97.{number}.{host}" for host in (1, 2))
            links.append(Link(End(CLIENT, [f"{ours}/24"]), End(node, [f"{theirs}/24"])))
            way = (case.server.controller, case.server.initial_window)
            routes.append(Route(node, f"{ours}/32", "", CLIENT, *way))
            tls = case.server.tls
            command = nginx.prepare(
                folder / node, _PORTS[tls], "page", PAGE_BYTES, tls=tls, options=_NGINX_OPTIONS
            )
            if tls:
                _certify(folder / node)
            commands.append(Program(case.name, command, node))
            scheme = "https" if tls else "http"
            places.append(Place(case, f"{scheme}://{theirs}/page", port=_PORTS[tls]))
            continue
        device, address = f"stack{number}", f"10.98.{number}.2"
        mode = "tap" if isinstance(case.server, LwipServer) else "tun"
        tuns.append(Tun(CLIENT, device, [f"10.98.{number}.1/24"], mode=mode))
        assert not isinstance(case.server, Population), "a population has a device of its own"
        command, ready_line = _own_stack(case.server, device, address, folder)
        commands.append(Program(case.name, command, CLIENT))
        places.append(Place(case, f"http://{address}/", ready_line=ready_line))
    return Network(Topology(nodes, links, tuns, routes), commands, places)


def _own_stack(
    server: EngineServer | LwipServer | SmoltcpServer, device: str, address: str, folder: Path
) -> tuple[list[str], str]:
    """The command of a server behind a device, and what it says once it serves."""
    if isinstance(server, LwipServer):
        program = folder / "lwip-server"
        if not program.exists():
            programs.compile_lwip(program)
        own6 = f"fd98::{device.removeprefix('stack')}"
        return [str(program), device, address, own6, str(RTT_MS), str(PAGE_BYTES)], "listening"
    if isinstance(server, SmoltcpServer):
        program = programs.build_smoltcp()
        page = str(server.page_bytes)
        return [str(program), device, address, server.version, str(RTT_MS), page], "serving"
    command = [
        *("{windlass}", "probe", "serve", "--tun", device, "--address", address),
        *("--stack", server.stack, "--initial-window", str(server.initial_window)),
        *("--rtt", f"{RTT_MS}ms", "--page", str(PAGE_BYTES)),
    ]
    return command, "serving"


def _certify(folder: Path) -> None:
    """A self-signed certificate of a usual size."""
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
    ]
    programs.do(command, "a certificate")
