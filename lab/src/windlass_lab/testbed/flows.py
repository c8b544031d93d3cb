"""The programs behind a flow: what serves, what asks, and on which ports."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.testbed import nginx
from windlass_lab.testbed.topology import Flow, Topology

_SERVER_PORT_FIRST = 5201
# Below those that kernels give away by themselves (32768 and up).
_PORT_FIRST, _PORT_SPAN = 10_000, 20_000
_CURL_TIME_IS_UP = 28
# A connection that a deep queue keeps from closing.
_CLOSING_S = 5.0
# A client of ToU counts its time from when both its connections are open: each SYN may be lost to a
# full queue a few times, which takes 1 + 2 + 4 + 8 s.
_TOU_CLOSING_S = 60.0
_FILE_BYTES = 1 << 37


@dataclass(frozen=True, slots=True)
class Job:
    """A program in a node."""

    node: str
    command: Sequence[str]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a flow comes about. `port` is one that only the connection that counts has; `folder` is
    the path that it was planned with.
    """

    flow: Flow
    port: int
    server_port: int
    server: Job | None
    client: Job
    fine: frozenset[int]
    folder: Path

    @property
    def is_kernels(self) -> bool:
        """Whether it is a connection of the kernel's TCP, which the kernel can be asked about."""
        return self.flow.app != "tou"

    @property
    def ended_by_s(self) -> float:
        """When a client that still runs is stopped, in seconds since the experiment began."""
        stop_s = _stop_s(self.flow)
        if self.flow.app == "iperf3" and not _lasts_s(self.flow).is_integer():
            return stop_s
        closing_s = _CLOSING_S if self.is_kernels else _TOU_CLOSING_S
        return stop_s + closing_s


def plan(flow: Flow, number: int, run: str, topology: Topology, folder: Path) -> Plan:
    """The programs of the flow of this number. `folder` is for what they read."""
    port = _PORT_FIRST + int(run[-6:], 16) % _PORT_SPAN + number
    server_port = _SERVER_PORT_FIRST + number
    make = {"iperf3": _iperf3, "http": _http, "tou": _tou, "command": _command}[flow.app]
    server, client, fine = make(flow, port, server_port, topology, folder)
    return Plan(flow, port, server_port, server, client, frozenset(fine), folder)


def first_address(topology: Topology, node: str) -> str:
    """The first address that the topology gives to a node. Raises `LabError` for none."""
    ends = [end for link in topology.links for end in (link.a, link.b)] + list(topology.tuns)
    for end in ends:
        if end.node == node and end.addresses:
            return end.addresses[0].partition("/")[0]
    raise LabError(f"testbed: node {node} has no address in the topology: give its flows `address`")


def needed(flows: Sequence[Flow]) -> dict[str, str]:
    """The programs that flows run, and the Debian packages that hold them."""
    packages: dict[str, str] = {}
    for flow in flows:
        if flow.app == "iperf3":
            packages["iperf3"] = "iperf3"
        elif flow.app == "http":
            packages |= {"nginx": "nginx-light", "curl": "curl"}
    return packages


def _lasts_s(flow: Flow) -> float:
    return _stop_s(flow) - flow.start_s


def _stop_s(flow: Flow) -> float:
    assert flow.stop_s is not None, "a flow without a size has a time to stop"
    return flow.stop_s


def _target(flow: Flow, topology: Topology) -> str:
    return flow.address or first_address(topology, flow.to)


def _iperf3(flow: Flow, port: int, server_port: int, topology: Topology, _folder: Path) -> tuple:
    server = Job(flow.to, ["iperf3", "--server", "--one-off", "--port", str(server_port)])
    # It knows whole seconds only, and is stopped where that is too long.
    seconds = math.ceil(_lasts_s(flow))
    command = [
        *("iperf3", "--client", _target(flow, topology), "--port", str(server_port)),
        *("--cport", str(port), "--congestion", flow.controller, "--time", str(seconds), "--json"),
    ]
    if flow.mss is not None:
        command += ["--set-mss", str(flow.mss)]
    return server, Job(flow.source, command), {0}


def _http(flow: Flow, port: int, server_port: int, topology: Topology, folder: Path) -> tuple:
    server = Job(flow.source, nginx.prepare(folder, server_port, "endless", _FILE_BYTES))
    host = flow.address or first_address(topology, flow.source)
    host = f"[{host}]" if ":" in host else host
    command = [
        *("curl", "--silent", "--show-error", "--globoff", "--output", "/dev/null"),
        *("--local-port", str(port), "--max-time", f"{_lasts_s(flow):g}"),
        f"http://{host}:{server_port}/endless",
    ]
    return server, Job(flow.to, command), {_CURL_TIME_IS_UP}


def _tou(flow: Flow, _port: int, server_port: int, topology: Topology, folder: Path) -> tuple:
    perf = ["{windlass}", "tou", "perf"]
    size = ["--mss", str(flow.mss)] if flow.mss is not None else []
    server = [*perf, "server", "--port", str(server_port), "--one-off"]
    host = _target(flow, topology)
    host = f"[{host}]" if ":" in host else host
    client = [
        *(*perf, "client", f"{host}:{server_port}", "--time", f"{_lasts_s(flow):g}", "--json"),
        *("--cc", flow.controller, "--trace", str(trace_of(folder)), *size, *flow.client_options),
    ]
    return Job(flow.to, [*server, *flow.server_options]), Job(flow.source, client), {0}


def trace_of(folder: Path) -> Path:
    """Where a client of ToU writes its trace."""
    return folder.with_name(f"{folder.name}.csv")


def _command(flow: Flow, port: int, _server_port: int, topology: Topology, _folder: Path) -> tuple:
    target = _target(flow, topology)
    values = {"to": target, "port": str(port), "time": f"{_lasts_s(flow):g}"}
    return None, Job(flow.source, [_filled(word, values) for word in flow.command]), {0}


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def complaint(plan_: Plan, output: str) -> str:
    """The error message of a client."""
    if plan_.flow.app == "iperf3":
        try:
            return str(json.loads(output)["error"])
        except (ValueError, KeyError, TypeError):
            pass
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"
