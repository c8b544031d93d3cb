"""The network of a scenario as namespaces joined by `windlass link`.

A host is a namespace. A router and the hosts at it are one link program, so that a dumbbell is one.
Two routers are joined by a namespace that forwards, in which each of their programs has a port.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass_lab.core.files.toml_value import toml_value
from windlass_lab.testbed import link
from windlass_lab.testbed.topology import Node, Program
from windlass_lab.worlds.outline import Link, Outline

_FORWARD, _BACKWARD = "forward", "backward"
# The keys that a direction has where it says nothing else, and all that `windlass link` knows.
_BOTH_WAYS = ("rate", "delay", "queue", "device_queue")
_PATH_KEYS = (
    *_BOTH_WAYS,
    *("loss", "policer", "shaper", "outages", "wifi_jitter", "aggregation"),
)
_HOSTS_OF_A_BYTE = 250
_HEADER_BYTES = 40
_MTU = 1500


@dataclass(frozen=True, slots=True)
class Network:
    """Namespaces and link programs; `addresses` are those of the hosts, and `bottleneck` is the
    port and direction of its queue. Its program is the first.
    """

    nodes: Sequence[Node]
    programs: Sequence[Program]
    addresses: Mapping[str, str]
    bottleneck: str


@dataclass(slots=True)
class _Hub:
    """A link program: a router with its hosts, or two hosts."""

    name: str
    ports: list[link.Port] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)


def network(outline: Outline, folder: Path, sysctls: Mapping[str, Mapping[str, int]]) -> Network:
    """The network of a scenario without loops. Traces are relative to `folder`, where the scenario
    is; `sysctls` are those of the hosts.
    """
    builder = _Builder(outline, folder)
    hubs = builder.hubs()
    first = next(hub for hub in hubs if builder.bottleneck in hub.queues)
    hubs.sort(key=lambda hub: hub is not first)
    nodes = [Node(host, sysctls.get(host, {})) for host in builder.addresses]
    nodes += [Node(joint, {"net.ipv4.ip_forward": 1}) for joint in builder.joints]
    programs = [_program(hub, outline) for hub in hubs]
    return Network(nodes, programs, builder.addresses, builder.bottleneck)


def _program(hub: _Hub, outline: Outline) -> Program:
    mtu = max([_MTU, *(flow.mss + _HEADER_BYTES for flow in outline.flows)])
    head = f"seed = {outline.seed}\n" + (f"mtu = {mtu}\n" if mtu != _MTU else "")
    if queues := outline.table("queues"):
        head += f"queues = {toml_value(queues)}\n"
    logged = ["--log", f"{{out}}/{hub.name}.csv"]
    return link.program(hub.ports, logged, hub.name, hub.queues, head)


class _Builder:
    def __init__(self, outline: Outline, folder: Path) -> None:
        self._outline = outline
        self._folder = folder
        self._at: dict[str, list[Link]] = {node: [] for node in outline.nodes}
        for each in outline.links:
            self._at[each.a].append(each)
            self._at[each.b].append(each)
        hosts = [node for node in outline.nodes if len(self._at[node]) == 1]
        self.addresses = {
            host: f"10.0.{1 + number // _HOSTS_OF_A_BYTE}.{1 + number % _HOSTS_OF_A_BYTE}"
            for number, host in enumerate(hosts)
        }
        self.joints: list[str] = []
        self.bottleneck = ""

    def hubs(self) -> list[_Hub]:
        routers = [node for node in self._outline.nodes if len(self._at[node]) > 1]
        single = len(routers) <= 1
        hubs = {node: _Hub(link.LINK if single else f"{link.LINK}-{node}") for node in routers}
        for each in self._outline.links:
            ends = [hubs[end] for end in (each.a, each.b) if end in hubs]
            if len(ends) == 2:
                self._join(each, *ends)
            elif ends:
                self._attach(each, ends[0])
            else:
                hubs[each.name] = _Hub(link.LINK)
                self._pair(each, hubs[each.name])
        return list(hubs.values())

    def _attach(self, each: Link, hub: _Hub) -> None:
        """A host's port at its router."""
        outwards = each.a in self.addresses
        host = each.a if outwards else each.b
        up, down = (_FORWARD, _BACKWARD) if outwards else (_BACKWARD, _FORWARD)
        self._host_port(hub, host, self._path(each, up), self._path(each, down))
        self._note_queue(each, up, hub, f"{host}/up")
        self._note_queue(each, down, hub, f"{host}/down")

    def _pair(self, each: Link, hub: _Hub) -> None:
        """Two hosts without a router."""
        for host, direction in ((each.a, _FORWARD), (each.b, _BACKWARD)):
            self._host_port(hub, host, self._path(each, direction), "{}")
            self._note_queue(each, direction, hub, f"{host}/up")

    def _host_port(self, hub: _Hub, host: str, up: str, down: str) -> None:
        hub.ports.append(link.Port(host, f"{self.addresses[host]}/16", up, down))

    def _join(self, each: Link, a: _Hub, b: _Hub) -> None:
        """The ports of two routers in the namespace between them, each with the name of the
        other router. Packets that leave a router for it take the link's path.
        """
        self.joints.append(each.name)
        beyond_b = self._behind(each.b, each)
        beyond_a = self._behind(each.a, each)
        for hub, other, direction, there, back in (
            (a, each.b, _FORWARD, beyond_b, beyond_a),
            (b, each.a, _BACKWARD, beyond_a, beyond_b),
        ):
            hub.ports.append(
                link.Port(other, "", "{}", self._path(each, direction), back, there, each.name)
            )
            self._note_queue(each, direction, hub, f"{other}/down")

    def _behind(self, node: str, but: Link) -> list[str]:
        """The hosts that are reached from a node without a link."""
        found, todo = [], [(node, but)]
        for at, came_by in todo:
            if at in self.addresses:
                found.append(f"{self.addresses[at]}/32")
            for each in self._at[at]:
                if each is not came_by:
                    todo.append((each.b if each.a == at else each.a, each))
        return found

    def _note_queue(self, each: Link, direction: str, hub: _Hub, queue: str) -> None:
        if (each.name, direction) == self._outline.bottleneck:
            self.bottleneck = queue
            hub.queues.append(queue)

    def _path(self, each: Link, direction: str) -> str:
        """A direction of a link, as an inline table of the link's file."""
        table = self._outline.table(each.key)
        backward = direction == _BACKWARD
        if backward:
            # These keys hold both ways unless `back` has them; the others hold forward only.
            both = {key: table[key] for key in _BOTH_WAYS if key in table}
            table = {**both, **self._outline.table(f"{each.key}.back")}
        path = {key: table[key] for key in _PATH_KEYS if key in table}
        if not isinstance(path.get("delay"), Mapping):
            # Hosts of one entry may have different delays.
            path["delay"] = f"{each.delay_ns[1 if backward else 0]}ns"
        rate = path.get("rate")
        if isinstance(rate, Mapping) and isinstance(rate.get("trace"), str):
            path["rate"] = {**rate, "trace": str((self._folder / rate["trace"]).resolve())}
        return toml_value(path)
