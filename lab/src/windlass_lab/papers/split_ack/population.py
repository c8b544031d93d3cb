"""The population of section 4.5: which servers stand for the 600 most visited sites of 2011.

The thesis has no table of them. Its text gives two figures of the baseline (8 to 9 data packets on
average, 83 % of the sites from 6 to 13) and orders of size for the reactions. The shares here are
chosen to be like that, so what they imply is so by construction.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

COUNTERS, NEGATIVE = "rfc2581", "freebsd-7"
# Sites of 100 by stack. A "small number" reacted as hoped for (ACK counters); of those that reacted
# most did so poorly, as FreeBSD 7; most of all did not react.
STACKS: Mapping[str, int] = {
    COUNTERS: 5,
    NEGATIVE: 30,
    "linux": 35,
    "rfc3465-1": 15,
    "rfc3465-2": 15,
}
# FreeBSD 7 was observed with this window, and its stand-in sends as many packets at every split
# with no other.
_WINDOW_OF_NEGATIVE = 3
# The others of 100, by initial window in segments and independent of the stack. Windows of 2 to 4
# send 6 to 10 packets for three ACKs: with the 30 above, the 83 within the thesis's range. The
# windows of 1, 10 and 16 send 3, 16 and 22.
_WINDOWS: Mapping[int, int] = {1: 9, 2: 28, 3: 7, 4: 18, 10: 6, 16: 2}
# The ACKs of a test, before they are split.
_ACKS = 3


class Kind(NamedTuple):
    """A stack with an initial window, in segments."""

    stack: str
    initial_window: int


def mixed(servers: Sequence[Mapping[str, str]], seed: int) -> list[dict[str, str]]:
    """These servers (rows of a population's file) with the stacks and initial windows of the mix.

    Addresses, MSS, RTTs and losses stay. The same seed gives the same population everywhere.
    """
    rng = random.Random(seed)
    stacks = _shuffled(_dealt(STACKS, len(servers)), rng)
    others = iter(_shuffled(_dealt(_WINDOWS, sum(s != NEGATIVE for s in stacks)), rng))
    windows = (_WINDOW_OF_NEGATIVE if stack == NEGATIVE else next(others) for stack in stacks)
    return [
        {**server, "stack": str(stack), "initial_window": str(window)}
        for server, stack, window in zip(servers, stacks, windows, strict=True)
    ]


def _dealt(shares: Mapping, count: int) -> list:
    """Each value as often as its share of `count` says, in order."""
    total, end, values = sum(shares.values()), 0, []
    for value, share in shares.items():
        end += share
        values.append(
            repeat(value, round(count * end / total) - round(count * (end - share) / total))
        )
    return list(chain.from_iterable(values))


def _shuffled(values: Sequence, rng: random.Random) -> list:
    # Of the module `random`, random() alone is the same in every version of Python.
    keys = [rng.random() for _ in values]
    return [values[place] for place in sorted(range(len(values)), key=keys.__getitem__)]


def data_packets(kind: Kind, parts: int) -> int:
    """The data packets of a test by the arithmetic of the stack, if nothing is lost.

    Each of the three ACKs frees a segment and lets the window grow by one; an ACK counter grows by
    one for each part.
    """
    acked = min(_ACKS, kind.initial_window)
    growth = parts if kind.stack == COUNTERS else 1
    return kind.initial_window + acked * (1 + growth)


def mean_data_packets(parts: int) -> float:
    """The same, on average over the mix."""
    return sum(share * data_packets(kind, parts) for kind, share in _kinds())


def _kinds() -> Iterator[tuple[Kind, float]]:
    """Every kind of server, and its share of all."""
    everyone, others = sum(STACKS.values()), sum(_WINDOWS.values())
    for stack, of_stack in STACKS.items():
        if stack == NEGATIVE:
            yield Kind(stack, _WINDOW_OF_NEGATIVE), of_stack / everyone
            continue
        for window, of_window in _WINDOWS.items():
            yield Kind(stack, window), of_stack / everyone * of_window / others
