"""The scenario file of a cell, put together from parts that the page of the matrix has as well."""

import hashlib
from collections.abc import Mapping
from itertools import product
from math import ceil

from windlass_lab.core.files.toml_value import toml_value
from windlass_lab.papers.coexistence.plan import (
    CONTENDERS,
    FIFOS,
    PACKET_BYTES,
    QUEUES,
    RATES_MBIT,
    RATIOS,
    RTTS_MS,
    Cell,
    Path,
)

# Flows do not start at the very same time.
JITTER_MS = 100
# Room for a full segment in flight, an ACK that is delayed, and a burst.
_FEWEST_PACKETS = 4
# The queues that decide by themselves have room for the longest path at the highest rate.
_LIMIT = "20000 packets"
# RED's thresholds as times on the link: the targets of CoDel and PIE (RFC 8289, RFC 8033).
_RED_MIN_S, _RED_MAX_S = 0.005, 0.015
_RED_FEWEST_PACKETS = 3
# The receiver's window in products of bandwidth and delay: more than any queue here holds.
_WINDOW_BDPS = 8
_WINDOW_LEAST_BYTES = 4_000_000
# Of the one-way delay of the shorter path, on the bottleneck.
_SHARED = 0.5
# Cells that differ from those of the matrix: what stands in the place of a part.
THINNED, BURSTS, FALLBACK = "thinned-acks", "bursts", "fallback"
# Rates of a source that does not slow down, in hundredths of the link's.
LOADS = (30, 60, 120)


def ect1(load: int) -> str:
    """The variant with an unresponsive source of that load, whose packets have ECT(1)."""
    return f"ect1-{load}"


VARIANTS: Mapping[str, str] = {
    THINNED: "one ACK in two lost on its way back",
    BURSTS: "data in bursts of a millisecond, as offloads send them",
    FALLBACK: "Prague's fallback on",
    **{ect1(load): f"unresponsive ECT(1) traffic of {load} % of the link" for load in LOADS},
}


def text(cell: Cell) -> str:
    """The scenario file."""
    return "".join(parts(cell))


def parts(cell: Cell) -> tuple[str, ...]:
    """Its parts in order: head, queue, links, each flow, and the source of a variant."""
    path = cell.path
    names = [name for name in (cell.first, cell.second) if name]
    places = [place for place, name in ((1, cell.first), (2, cell.second)) if name]
    flows = (flow(place, name, cell.variant) for place, name in zip(places, names, strict=True))
    first = (f'name = "{cell.name}"\n', head(path, cell.variant))
    return (*first, queue(path), links(path, cell.variant), *flows, source(path, cell.variant))


def digest() -> str:
    """Of everything that scenario files are made of: with another one runs are made again."""
    paths = (Path(*each) for each in product(QUEUES, RATES_MBIT, RTTS_MS, RATIOS))
    found = [head(path) + queue(path) + links(path) for path in paths]
    found += [flow(1, name) for name in CONTENDERS]
    some = Path("fifo1", RATES_MBIT[0], RTTS_MS[0])
    for each in VARIANTS:
        found.append(head(some, each) + links(some, each) + flow(1, "prague", each))
        found.append(source(some, each))
    return hashlib.sha256("".join(found).encode()).hexdigest()


def head(path: Path, variant: str = "") -> str:
    """The duration, and what both connections have."""
    # Handshakes whose ACKs are lost take seconds, and are not what is examined.
    handshake = "handshake = false\n" if variant == THINNED else ""
    window = max(_WINDOW_LEAST_BYTES, round(_WINDOW_BDPS * path.bdp_packets * PACKET_BYTES))
    return (
        "schema = 2\n"
        f'duration = "{path.lasts_s}s"\nsteady_from = "{path.lasts_s / 3:g}s"\n'
        f'jitter = "{JITTER_MS}ms"\n\n[defaults]\n{handshake}'
        f'receiver = {{ buffer = "{window}B" }}\n'
    )


def queue(path: Path) -> str:
    """The queue of the bottleneck."""
    return f"\n[queues]\nshared = {_table(_queue(path.queue, path))}\n"


def _queue(kind: str, path: Path) -> dict[str, object]:
    if kind in FIFOS:
        packets = max(_FEWEST_PACKETS, round(FIFOS[kind] * path.bdp_packets))
        return {"kind": "droptail", "limit": f"{packets} packets"}
    if kind == "red":
        return _red(path.rate_mbit)
    return {"kind": kind, "limit": _LIMIT}


def _red(rate_mbit: int) -> dict[str, object]:
    """RED as Linux has it, by the rules of its manual."""
    bytes_per_s = rate_mbit * 1e6 / 8
    low = max(round(_RED_MIN_S * bytes_per_s), _RED_FEWEST_PACKETS * PACKET_BYTES)
    high = max(round(_RED_MAX_S * bytes_per_s), 3 * low)
    return {
        "kind": "tc-red",
        "limit": "30MB",
        "min": f"{low}B",
        "max": f"{high}B",
        "avpkt_bytes": PACKET_BYTES,
        "burst": ceil((2 * low + high) / (3 * PACKET_BYTES)),
        "probability": 0.1,
        "bandwidth": f"{rate_mbit}Mbit/s",
    }


def links(path: Path, variant: str = "") -> str:
    """The bottleneck, and the links of the two senders, whose delays make the round trips."""
    first, second = (rtt / 2 for rtt in path.rtts_ms())
    shared = _SHARED * second
    access = ", ".join(_table(_access(delay - shared, variant)) for delay in (first, second))
    return (
        f"\n[dumbbell]\naccess = [{access}]\n\n[dumbbell.bottleneck]\n"
        f'rate = "{path.rate_mbit}Mbit/s"\ndelay = "{shared:.5f}ms"\nqueue = "shared"\n'
        f"back = {_table({'queue': _back(variant)})}\n"
    )


def _access(delay_ms: float, variant: str) -> dict[str, object]:
    batches: dict[str, object] = {"aggregation": {"interval": "1ms"}} if variant == BURSTS else {}
    return {"delay": f"{delay_ms:.5f}ms"} | batches


def _back(variant: str) -> dict[str, object]:
    if variant == THINNED:
        return {"kind": "fixed-probability", "probability": 0.5, "action": "drop", "limit": _LIMIT}
    return {"kind": "droptail", "limit": _LIMIT}


def _table(values: Mapping[str, object]) -> str:
    """An inline table with bare keys, as people write them."""
    pairs = (
        f"{key} = {_table(value) if isinstance(value, Mapping) else toml_value(value)}"
        for key, value in values.items()
    )
    return f"{{ {', '.join(pairs)} }}"


def flow(place: int, name: str, variant: str = "") -> str:
    """A flow from the first or the second sender."""
    contender = CONTENDERS[name]
    controller = f'"{name}"'
    if variant == FALLBACK and name == "prague":
        controller = _table({"kind": name, "classic_fallback": True})
    lines = [f"{key} = {toml_value(value)}\n" for key, value in contender.keys.items()]
    return (
        f'\n[[flows]]\nname = "{name}-{place}"\nfrom = "s{place}"\ncontroller = {controller}\n'
        f"{''.join(lines)}"
    )


def source(path: Path, variant: str) -> str:
    """A source of UDP from the first sender, where the variant has one."""
    load = next((load for load in LOADS if variant == ect1(load)), None)
    if load is None:
        return ""
    return (
        f'\n[[udp]]\nname = "unresponsive"\nfrom = "s1"\npacket_bytes = {PACKET_BYTES}\n'
        f'rate = "{path.rate_mbit * load * 10}kbit/s"\necn = "ect1"\n'
    )
