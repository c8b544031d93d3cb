"""The conditions that an experiment must meet before the testbed is built."""

import re
from collections.abc import Iterable, Iterator

from windlass_lab.testbed.topology import End, Experiment, Flow, Topology

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_DEVICE_CHARACTERS_MAX = 15
_MSS_MIN, _MSS_MAX = 88, 65495
APPS = ("iperf3", "http", "tou", "command")


def validate(experiment: Experiment) -> None:
    """Raises `ValueError` that says what cannot be."""
    for problem in _problems(experiment):
        raise ValueError(problem)


def _problems(experiment: Experiment) -> Iterator[str]:
    nodes = [node.name for node in experiment.topology.nodes]
    yield from _names("node", nodes)
    yield from _names("flow", [flow.name for flow in experiment.flows])
    yield from _names("program", [program.name for program in experiment.programs])
    known = set(nodes)
    for place, node in _mentioned(experiment):
        if node not in known:
            yield f"{place}: there is no node {node}"
    for program in experiment.programs:
        for queue in program.queues:
            if not re.fullmatch(r"[A-Za-z0-9_.-]+/(up|down)", queue):
                yield f"program {program.name}: queues: expected PORT/up or PORT/down"
    yield from _sysctls(experiment.topology)
    yield from _devices(experiment.topology)
    yield from _tuns(experiment.topology)
    for flow in experiment.flows:
        yield from _flow(flow, experiment.duration_s)
    if not 0 <= experiment.steady_from_s < experiment.duration_s:
        yield "steady_from: expected before the end"
    if not 0.001 <= experiment.sample_s <= 1:
        yield "sample: expected 1ms to 1s"


def _names(kind: str, names: list[str]) -> Iterator[str]:
    for number, name in enumerate(names):
        if not _NAME.fullmatch(name):
            yield f"{kind} {name!r}: a name has letters, digits, - _ and dots"
        if name in names[:number]:
            yield f"{kind} {name}: there are two of this name"


def _mentioned(experiment: Experiment) -> Iterator[tuple[str, str]]:
    topology = experiment.topology
    for number, link in enumerate(topology.links):
        yield f"links[{number}].a", link.a.node
        yield f"links[{number}].b", link.b.node
    for kind in ("tuns", "routes"):
        for number, item in enumerate(getattr(topology, kind)):
            yield f"{kind}[{number}]", item.node
    for flow in experiment.flows:
        yield f"flow {flow.name}: from", flow.source
        yield f"flow {flow.name}: to", flow.to
    for program in experiment.programs:
        if program.node:
            yield f"program {program.name}", program.node
        yield from ((f"program {program.name}: ready", at.split("/")[0]) for at in program.ready)


def _sysctls(topology: Topology) -> Iterator[str]:
    for node in topology.nodes:
        for key in node.sysctls:
            if not key.startswith("net."):
                yield f"node {node.name}: sysctl {key}: only net.* is a namespace's own"
            elif not re.fullmatch(r"[A-Za-z0-9_./-]+", key) or ".." in key:
                yield f"node {node.name}: sysctl {key}: no such name"
            elif key in ("net.core.rmem_max", "net.core.wmem_max"):
                instead = f"net.ipv4.tcp_{key[9]}mem"
                yield f"node {node.name}: sysctl {key}: read-only in a namespace, use {instead}"


def device_of(end: End, other: End) -> str:
    """The name of the device at one end of a link."""
    return end.device or other.node


def _devices(topology: Topology) -> Iterator[str]:
    ends = [pair for link in topology.links for pair in ((link.a, link.b), (link.b, link.a))]
    devices = [(end.node, device_of(end, other)) for end, other in ends]
    devices += [(tun.node, tun.device) for tun in topology.tuns]
    for number, (node, device) in enumerate(devices):
        if not _NAME.fullmatch(device) or len(device) > _DEVICE_CHARACTERS_MAX:
            most = f"{_DEVICE_CHARACTERS_MAX} letters at most"
            yield f"node {node}: device {device!r}: a name has {most}"
        if (node, device) in devices[:number]:
            yield f"node {node}: there are two devices {device}"


def _tuns(topology: Topology) -> Iterator[str]:
    for number, tun in enumerate(topology.tuns):
        if tun.mode not in ("tun", "tap"):
            yield f"tuns[{number}]: mode: expected tun or tap"
    for number, route in enumerate(topology.routes):
        if route.initial_window is not None and route.initial_window < 1:
            yield f"routes[{number}]: initial_window: expected 1 or more"


def _flow(flow: Flow, duration_s: float) -> Iterator[str]:
    stop_s = duration_s if flow.stop_s is None else flow.stop_s
    if not 0 <= flow.start_s < stop_s:
        yield f"flow {flow.name}: start: expected before its stop"
    if stop_s > duration_s:
        yield f"flow {flow.name}: stop: expected within the experiment's duration"
    if flow.app not in APPS:
        yield f"flow {flow.name}: app: expected {_either(APPS)}, found {flow.app!r}"
    if (flow.app == "command") != bool(flow.command):
        yield f"flow {flow.name}: command: goes with app = 'command', and only with it"
    if (flow.client_options or flow.server_options) and flow.app != "tou":
        yield f"flow {flow.name}: client_options, server_options: go with app = 'tou' alone"
    if flow.mss is not None and not _MSS_MIN <= flow.mss <= _MSS_MAX:
        yield f"flow {flow.name}: mss: expected {_MSS_MIN} to {_MSS_MAX}"
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,15}", flow.controller):
        yield f"flow {flow.name}: controller: expected a name such as reno"


def _either(words: Iterable[str]) -> str:
    return " or ".join(words)
