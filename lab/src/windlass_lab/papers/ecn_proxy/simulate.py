"""The tests in the simulator: one `windlass sim batch` for all that is still to be run."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from windlass_lab.core.binary import batch
from windlass_lab.core.errors import RunError
from windlass_lab.core.pipeline.request import Progress
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.papers.ecn_proxy.plan import START_S
from windlass_lab.papers.ecn_proxy.runs import Run, jain

# Threads of a program do not open their connections at the very same time.
JITTER_MS = 10
_LINE_EVERY_S = 5.0
# The senders' counters that are kept.
_SENDERS_COUNT = ("marks", "drops", "fast_retransmits", "timeouts")


@runtime_checkable
class Simulated(Protocol):
    """A test that the simulator can run: a scenario file with some keys of its own."""

    @property
    def name(self) -> str:
        """Its name in results."""

    @property
    def scenario(self) -> str:
        """The stem of the scenario file."""

    @property
    def connections(self) -> int:
        """Connections at a time."""

    @property
    def limit_s(self) -> float | None:
        """The time after which a run ends without connections that are not complete, if any."""

    def keys(self, scale: float) -> Mapping[str, object]:
        """The keys that it replaces; `scale` is a factor of sizes, at most 1."""

    def transfers(self, scale: float) -> int:
        """How many transfers each connection's place has, one after the other."""


def simulate(
    windlass: Path,
    scenarios: Path,
    wanted: Sequence[tuple[Simulated, int]],
    scale: float,
    jobs: int,
    store: RunLines[Run],
    progress: Progress,
) -> None:
    """Runs each test with each seed that is wanted. Raises `RunError` where one fails."""
    requests = (request(scenarios, test, seed, scale) for test, seed in wanted)
    meter = _Meter(len(wanted), progress)
    found = batch.summaries(windlass, requests, len(wanted), jobs)
    for (test, seed), summary in zip(wanted, found, strict=True):
        if "error" in summary:
            raise RunError(f"{test.name}: {summary['error']}")
        run = result(test, scale, summary)
        store.add(test, seed, run)
        meter.count(test, run)


def request(scenarios: Path, test: Simulated, seed: int, scale: float) -> dict:
    """A request to `windlass sim batch`."""
    return {
        "file": str(scenarios / f"{test.scenario}.toml"),
        "set": dict(test.keys(scale)),
        "seed": seed,
        "jitter": f"{JITTER_MS}ms",
    }


def result(test: Simulated, scale: float, summary: Mapping) -> Run:
    """The figures of a summary. Raises `RunError` for a run with an unfinished transfer, unless the
    test has a limit.
    """
    try:
        transfers = [flow["transfers"] for flow in summary["flows"]]
        done = [transfer["completed"] for transfer in transfers]
        times = [time_s for transfer in transfers for time_s in transfer["completion_s"]]
        simulated_s = float(summary["duration_s"])
    except (KeyError, TypeError) as error:
        raise RunError(f"{test.name}: the summary lacks {error}") from error
    unfinished = test.transfers(scale) * test.connections - sum(done)
    if unfinished and test.limit_s is None:
        raise RunError(f"{test.name}: {sum(done)} transfers were completed")
    together = [1 / time_s for time_s in times] if test.connections > 1 and times else [1.0]
    return Run(
        seconds=simulated_s - START_S,
        fairness=jain(together),
        simulated_s=simulated_s,
        proxies=summary.get("middleboxes", []),
        unfinished=unfinished,
        senders={key: sum(flow.get(key, 0) for flow in summary["flows"]) for key in _SENDERS_COUNT},
    )


class _Meter:
    """Says every few seconds how far it is."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._total, self._done, self._simulated_s = total, 0, 0.0
        self._progress = progress
        self._begin = self._last = time.monotonic()

    def count(self, test: Simulated, run: Run) -> None:
        self._done += 1
        self._simulated_s += run.simulated_s
        now = time.monotonic()
        if now - self._last < _LINE_EVERY_S and self._done < self._total:
            return
        self._last = now
        self._progress(
            f"[{self._done}/{self._total}] {test.name}: {run.seconds:.1f} s; "
            f"{self._simulated_s:,.0f} s simulated in {now - self._begin:.0f} s"
        )
