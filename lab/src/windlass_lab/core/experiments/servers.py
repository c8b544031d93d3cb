"""The kinds of servers that the probe measures, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# The paper's tests, and S: in how many parts each ACK goes.
SPLITS = {"A": 1, "B": 2, "C": 4, "D": 8, "E": 12}
ALL_TESTS = "A,B,C,D,E,S"
# Of servers that have no path of their own.
RTT_MS = 80
PAGE_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class KernelServer:
    """nginx on this machine's kernel; the initial window, in segments, is the route's."""

    initial_window: int
    controller: str = "cubic"
    tls: bool = False


@dataclass(frozen=True, slots=True)
class EngineServer:
    """`windlass probe serve`, with one of its stacks."""

    stack: str
    initial_window: int


@dataclass(frozen=True, slots=True)
class LwipServer:
    """lwIP with a server by its raw API."""


@dataclass(frozen=True, slots=True)
class SmoltcpServer:
    """smoltcp of that version, with Reno."""

    version: str
    page_bytes: int = PAGE_BYTES


@dataclass(frozen=True, slots=True)
class Population:
    """So many servers of different kinds, probed by `windlass probe survey`."""

    count: int
    seed: int = 1
    rtt_max_ms: int = 300
    # New connections a second.
    rate: int = 50


Server = KernelServer | EngineServer | LwipServer | SmoltcpServer | Population


@dataclass(frozen=True, slots=True)
class ServerCase:
    """A server, or a population of them, and what the paper says of the one that it stands for.

    `published` has the figures by test, as the summary has: `{"a": {"data_packets": 9}}`.
    `splits` are numbers of parts, such as "1,200", in place of the tests.
    `timeout_s` is how long the probe looks on for what is sent again; `most_runs` bounds the runs.
    """

    name: str
    label: str
    server: Server
    published: Mapping = field(default_factory=dict)
    tests: str = ALL_TESTS
    splits: str = ""
    timeout_s: float = 3.0
    most_runs: int | None = None
