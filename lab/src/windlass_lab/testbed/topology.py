"""The parts of a testbed, as plain data. Times in seconds, rates in bit/s."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Node:
    """A host or router: a network namespace. `sysctls` are of `net.*`, the part that is its own."""

    name: str
    sysctls: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shaper:
    """A token bucket (tc tbf) before a device: the bottleneck where no link program is one."""

    rate_bps: float
    limit_bytes: int = 50 * 1514
    burst_bytes: int = 2 * 1514


@dataclass(frozen=True, slots=True)
class End:
    """One end of a link. The device has the name of the node it leads to, if `device` is empty.

    `offloads` switches features by ethtool's names, or the short `tso`, `gso`, `gro`.
    """

    node: str
    addresses: Sequence[str] = ()
    device: str = ""
    shaper: Shaper | None = None
    offloads: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """Two nodes joined by a veth pair."""

    a: End
    b: End
    mtu: int = 1500


@dataclass(frozen=True, slots=True)
class Tun:
    """A TUN device for a program to attach to, or TAP (`windlass link` makes its own)."""

    node: str
    device: str
    addresses: Sequence[str] = ()
    mtu: int = 1500
    mode: str = "tun"


@dataclass(frozen=True, slots=True)
class Route:
    """A way from a node. With `controller`, connections that take it use that congestion
    controller, whichever program opens them and whether or not namespaces may choose it by sysctl;
    `initial_window` is their initial window in segments.
    """

    node: str
    to: str = "default"
    via: str = ""
    device: str = ""
    controller: str = ""
    initial_window: int | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes and what joins them."""

    nodes: Sequence[Node]
    links: Sequence[Link] = ()
    tuns: Sequence[Tun] = ()
    routes: Sequence[Route] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """An order to the builder: nodes with their devices or, later, the routes."""

    run: str
    topology: Topology
    routes: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs as long as the testbed: a link emulator, a server.

    In `command` and in the contents of `files`, `{node:NAME}` stands for the namespace of a node,
    `{file:NAME}` for the path of one of `files`, `{out}` for the directory of the results, and
    `{windlass}` for the binary. `ready` lists devices, `NODE/DEVICE`, that it makes: routes are set
    when they are there. Without a node it runs outside of all namespaces of the testbed. `queues`
    are paths, `PORT/DIRECTION`, of the log that `windlass link --log {out}/NAME.csv` writes (NAME
    is the program's): the queues of the results, the bottleneck first.
    """

    name: str
    command: Sequence[str]
    node: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    ready: Sequence[str] = ()
    queues: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """A TCP connection whose sender is at the node `source`.

    `app` is `iperf3` (data from its client), `http` (nginx at the source, curl at `to` fetches for
    as long as the flow lasts), `tou` (`windlass tou perf`: TCP over UDP, its client at the source;
    `client_options` and `server_options` are more of its flags) or `command`: a program of one's
    own at the source, with `{to}` for the address, `{port}` for the port it has to use as its own,
    and `{time}` for the seconds.
    `address` is that of the server (`to`; the source for `http`); by default, the first that the
    topology gives to the node.
    """

    name: str
    source: str
    to: str
    controller: str
    address: str = ""
    app: str = "iperf3"
    command: Sequence[str] = ()
    start_s: float = 0.0
    stop_s: float | None = None
    mss: int | None = None
    rtt_min_ms: float | None = None
    client_options: Sequence[str] = ()
    server_options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """A testbed, what runs in it, and what is measured."""

    name: str
    topology: Topology
    flows: Sequence[Flow]
    programs: Sequence[Program] = ()
    description: str = ""
    duration_s: float = 10.0
    steady_from_s: float = 0.0
    sample_s: float = 0.005
    tcp_probe: bool = True
