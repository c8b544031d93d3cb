"""The runs of the tests: what is kept of each, and the file from which one goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass_lab.core.errors import RunError
from windlass_lab.core.pipeline.run_lines import RunLines


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


class Store(RunLines[Run]):
    """The file of the runs."""

    def __init__(self, path: Path, made_by: object, resume: bool) -> None:
        """Begins a file, or goes on with one. Raises `LabError` where it cannot be written."""
        super().__init__(path, made_by, resume, Run)


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index. Raises `RunError` without rates."""
    squares = sum(rate * rate for rate in rates)
    if not squares:
        raise RunError("there are no rates to compare")
    return sum(rates) ** 2 / (len(rates) * squares)
