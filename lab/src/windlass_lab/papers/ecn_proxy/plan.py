"""The tests of the paper's section 4.2.1, as plain data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

PAPER = "ecn-proxy"
DIRECTIONS = ("download", "upload")
# Connections at a time; FILES: one after the other, 2 MB each.
FILES = "files"
LOADS = ("1", "2", "3", "5", FILES)
FILE_MB = 2.0

NEITHER, IDLE_PROXY, PROXY, NATIVE, NATIVE_PROXY = CONFIGURATIONS = (
    "noEcn_noProxy",
    "noEcn_proxy",
    "oneEcn_proxy",
    "bothEcn_noProxy",
    "bothEcn_proxy",
)
# Not of the paper's 100 tests, but what its section 5.2 wishes for: neither end has ECN, each has a
# proxy.
OWN_PROXIES = "noEcn_twoProxies"
LABELS = {
    NEITHER: "no ECN, no proxy",
    IDLE_PROXY: "no ECN, proxy",
    PROXY: "server ECN, proxy",
    NATIVE: "both ECN, no proxy",
    NATIVE_PROXY: "both ECN, proxy",
    OWN_PROXIES: "no ECN, a proxy each",
}
# Ways of making a test on kernels that the paper has not: the client opens the connections of a
# download, as clients do; and IPv6.
CLIENT_OPENS, IPV6 = "clientOpens", "ipv6"
# A tenth of three tests each way, to be looked at and not judged: of each there is one run.
DEMO = "demo"
DEMO_SCALE = 0.1
# The time before the first connection in runs of the simulator.
START_S = 1.0


@dataclass(frozen=True, slots=True)
class Test:
    """One test: what is transferred, over which path, between what kind of ends.

    `mode` is empty for the paper's own, or a mode of making it on kernels.
    """

    # pytest takes it for a class of tests otherwise.
    __test__ = False

    direction: str
    load: str
    cross: bool
    configuration: str
    mode: str = ""

    @property
    def table(self) -> str:
        """The paper's table that has it: C.1 to C.5 downloads, C.6 to C.10 uploads."""
        return f"C.{DIRECTIONS.index(self.direction) * len(LOADS) + LOADS.index(self.load) + 1}"

    @property
    def traffic(self) -> str:
        """With or without cross traffic, as the paper's names have it."""
        return "cross" if self.cross else "noCross"

    @property
    def name(self) -> str:
        """Its name in results."""
        mode = f"_{self.mode}" if self.mode else ""
        return f"{self.table}-{self.configuration}_{self.traffic}{mode}"

    @property
    def connections(self) -> int:
        """Connections at a time."""
        return 1 if self.load == FILES else int(self.load)

    @property
    def server_ecn(self) -> bool:
        """Whether the server asks for ECN and takes it."""
        return not self.configuration.startswith("noEcn")

    @property
    def client_ecn(self) -> bool:
        """Whether the client does."""
        return self.configuration.startswith("bothEcn")

    @property
    def has_proxy(self) -> bool:
        """Whether there is a proxy on the client's side."""
        return not self.configuration.endswith("noProxy")

    @property
    def scenario(self) -> str:
        """The stem of its scenario file."""
        return self.direction

    @property
    def limit_s(self) -> None:
        """None: it ends when all transfers are complete."""
        return None

    def keys(self, scale: float) -> Mapping[str, object]:
        """The keys of its scenario that make it this test."""
        return overrides(self, scale)

    def megabytes(self, scale: float) -> float:
        """The size of each transfer, in MB."""
        if self.load == FILES:
            return FILE_MB
        whole = 20.0 if self.cross else 200.0 if self.direction == "download" else 100.0
        return whole * scale

    def transfers(self, scale: float) -> int:
        """How many connections one after the other; their number is what is scaled of files."""
        if self.load != FILES:
            return 1
        whole = 200 if self.cross and self.direction == "upload" else 100
        return max(1, round(whole * scale))


def all_tests() -> list[Test]:
    """The paper's 100 tests, in the order of its tables, and the 8 with two proxies."""
    return [
        Test(direction, load, cross, configuration)
        for direction in DIRECTIONS
        for load in LOADS
        for cross in (False, True)
        for configuration in configurations(load, cross)
    ]


def demo_tests() -> list[Test]:
    """A download and an upload through the marking bottleneck: no ECN, the proxy, native ECN."""
    chosen = (NEITHER, PROXY, NATIVE)
    return [Test(direction, "1", True, name) for direction in DIRECTIONS for name in chosen]


def configurations(load: str, cross: bool) -> Iterator[str]:
    """Those that a test is made with."""
    yield from CONFIGURATIONS
    if cross and load != FILES:
        yield OWN_PROXIES


def overrides(test: Test, scale: float) -> Mapping[str, object]:
    """The keys of the direction's scenario that make it this test."""
    sender, receiver = test.server_ecn, test.client_ecn
    if test.direction == "upload":
        sender, receiver = receiver, sender
    size = f"{round(test.megabytes(scale) * 1e6)}B"
    app: dict[str, object] = {"kind": "transfer", "size": size}
    if test.load == FILES:
        count = test.transfers(scale)
        app = {"kind": "repeated", "size": size, "pause": "0s", "count": count}
    keys: dict[str, object] = {
        "defaults.ecn": sender,
        "defaults.receiver.ecn": receiver,
        "flows.0.count": test.connections,
        "flows.0.app": app,
        "middleboxes": _proxies(test),
    }
    if not test.cross:
        keys["udp"] = []
    return keys


def _proxies(test: Test) -> list[dict[str, object]]:
    if not test.has_proxy:
        return []
    if test.configuration == OWN_PROXIES:
        return [proxy(), proxy("gateway", "server")]
    return [proxy()]


def proxy(node: str = "proxy", served: str = "client", **keys: object) -> dict[str, object]:
    """A proxy of a scenario that serves one host, with `keys` of its own."""
    return {"kind": "ecn-proxy", "node": node, "served": [served], **keys}
