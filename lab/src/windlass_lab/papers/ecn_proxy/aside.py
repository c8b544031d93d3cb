"""Cells kept aside: paths by which no rule of the proxy was chosen, simulated.

The proxy's variants were compared on the paper's own tests. Whether they hold elsewhere is judged
here, on other rates, round trips and queues. Nothing is tuned by these cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import ceil
from typing import ClassVar, Self

from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, proxy

RATES_MBIT = (5, 20, 50)
RTTS_MS = (10, 40, 100)
QUEUES = ("red", "codel", "pie")
CONNECTIONS = (1, 2, 4, 8)
# UDP beside the transfers, over the link's rate: none, half, and as much as the paper's.
CROSS = (0.0, 0.5, 1.0)
# How long all transfers together would take alone on the link. With cross traffic they are a fifth
# of that, as the paper's are a fifth or a tenth (section 4.2.1).
_ALONE_S = 20.0
_CROSS_SHARE = 0.2
_UDP_BYTES = 1498
_PACKET_BYTES = 1500
# RED's thresholds as times on the link: those of CoDel's and PIE's targets, 5 and 15 ms.
_RED_MIN_S, _RED_MAX_S = 0.005, 0.015
_AVPKT_BYTES = 1000


@dataclass(frozen=True, slots=True)
class Udp:
    """Packets of UDP beside the transfers: from one side of the bottleneck to the other, at a rate
    that counts their IP headers.
    """

    here: str
    there: str
    rate_mbit: float
    packet_bytes: int = _UDP_BYTES


@dataclass(frozen=True, slots=True)
class Cell:
    """One path and load, with native ECN at both ends (`native`) or with the paper's main
    configuration: the proxy beside a client without ECN.

    `rate_mbit` is that of the bottleneck, `rtt_ms` the round trip of the empty path, `cross` the
    rate of UDP over the bottleneck's.
    """

    rate_mbit: int
    rtt_ms: int
    queue: str
    connections: int
    direction: str
    cross: float
    native: bool
    # Of the name in results, of cells that are run in another way than as the experiment's own.
    suffix: ClassVar[str] = ""

    @classmethod
    def of(cls, cell: "Cell") -> Self:
        """The same cell, run in this way."""
        return cls(**asdict(cell))

    @property
    def place(self) -> str:
        """Its name without the configuration."""
        return (
            f"aside-{self.direction}-{self.rate_mbit}M-{self.rtt_ms}ms-{self.queue}"
            f"-{self.connections}-udp{self.cross:g}"
        )

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"{self.place}-{'native' if self.native else 'proxy'}{self.suffix}"

    @property
    def scenario(self) -> str:
        """The stem of its scenario file."""
        return "aside"

    @property
    def window(self) -> float:
        """A connection's share of the bandwidth-delay product, in segments."""
        path_bytes = self.rate_mbit * 1e6 / 8 * self.rtt_ms / 1000
        return path_bytes / _PACKET_BYTES / self.connections

    @property
    def udp(self) -> Udp | None:
        """The cross traffic, if there is any."""
        sides = ("left", "right") if self.direction == "upload" else ("right", "left")
        return Udp(*sides, self.rate_mbit * self.cross) if self.cross else None

    @property
    def limit_s(self) -> None:
        """None: it ends when all transfers are complete."""
        return None

    def transfers(self, _scale: float) -> int:
        """One for each connection."""
        return 1

    def keys(self, scale: float) -> Mapping[str, object]:
        """The keys of the scenario that make it this cell."""
        up = self.direction == "upload"
        ends = ("client", "server") if up else ("server", "client")
        sides = ("left", "right") if up else ("right", "left")
        keys: dict[str, object] = {
            "bottleneck": "-".join(sides),
            "links.0.rate": f"{self.rate_mbit}Mbit/s",
            "links.0.delay": f"{self.rtt_ms / 2:g}ms",
            "links.0.queue": queue(self.queue, self.rate_mbit),
            "flows.0.count": self.connections,
            "flows.0.from": ends[0],
            "flows.0.to": ends[1],
            "flows.0.app": {"kind": "transfer", "size": f"{round(bytes_each(self, scale))}B"},
            "defaults.ecn": self.native or not up,
            "defaults.receiver.ecn": self.native or up,
            "middleboxes": [] if self.native else [proxy()],
        }
        if self.udp:
            keys["udp"] = [_stream(self.udp)]
        return keys


def bytes_each(cell: Cell, scale: float) -> float:
    """The bytes of each of a cell's transfers."""
    whole = cell.rate_mbit * 1e6 / 8 * _ALONE_S
    together = whole * _CROSS_SHARE if cell.cross else whole
    return together * scale / cell.connections


def _stream(udp: Udp) -> dict[str, object]:
    return {
        "name": "udp",
        "from": f"udp-{udp.here}",
        "to": f"udp-{udp.there}",
        "packet_bytes": udp.packet_bytes,
        "rate": f"{udp.rate_mbit:g}Mbit/s",
    }


def queue(kind: str, rate_mbit: int) -> str | dict[str, object]:
    """CoDel and PIE by their RFCs' defaults; RED as Linux has it, by its man page's rules."""
    if kind != "red":
        return kind
    bytes_per_s = rate_mbit * 1e6 / 8
    low, high = round(_RED_MIN_S * bytes_per_s), round(_RED_MAX_S * bytes_per_s)
    return {
        "kind": "tc-red",
        # As many packets of 1,500 bytes as CoDel and PIE hold.
        "limit": "1500kB",
        "min": f"{low}B",
        "max": f"{high}B",
        "avpkt_bytes": _AVPKT_BYTES,
        "burst": ceil((2 * low + high) / (3 * _AVPKT_BYTES)),
        "probability": 0.1,
        "bandwidth": f"{rate_mbit}Mbit/s",
    }


def cells() -> Sequence[Cell]:
    """Every cell, its two configurations side by side."""
    places = product(RATES_MBIT, RTTS_MS, QUEUES, CONNECTIONS, DIRECTIONS, CROSS)
    found = [Cell(*place, native=True) for place in places]
    return [each for cell in found for each in (cell, replace(cell, native=False))]
