"""The runs of the tests: what is kept of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from windlass_lab.core.errors import RunError


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a test.

    `seconds` is from the first connection's opening until the last one's end; `fairness` is Jain's
    index of the rates of connections that go at the same time; `proxies` holds what each proxy
    counted, where it reports that, and `senders` what the senders did, in the simulator.
    `unfinished` connections were not complete at the end of a run that has a limit.
    """

    seconds: float
    fairness: float = 1.0
    simulated_s: float = 0.0
    proxies: Sequence[Mapping] = field(default_factory=list)
    unfinished: int = 0
    senders: Mapping[str, int] = field(default_factory=dict)


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index. Raises `RunError` without rates."""
    squares = sum(rate * rate for rate in rates)
    if not squares:
        raise RunError("there are no rates to compare")
    return sum(rates) ** 2 / (len(rates) * squares)
