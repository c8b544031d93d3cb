"""The ECN proxy in a line, and its bars on the front page."""

from collections.abc import Iterator, Mapping

from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.report.bar_rows import MEASURED, REFERENCE, Bar, BarRow, headlines
from windlass_lab.core.report.measured import seconds
from windlass_lab.core.text import verdicts
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS, NATIVE, NEITHER, PROXY, Test

CLAIM = "a download takes 1.00 to 1.05 of the time with ECN at both ends; without ECN 1.4 to 2.0"
_NAMES = {PROXY: "proxy", NATIVE: "ECN at both ends", NEITHER: "no ECN"}


def finding(results: Mapping) -> str:
    """Times over those with ECN at both ends; those of single runs as they are."""
    found = list(_times(results))
    if not found or _is_judged(results):
        return "; ".join(_ratios(direction, times) for direction, times in found)
    by_direction = "; ".join(_seconds(direction, times) for direction, times in found)
    return f"{', '.join(_NAMES.values())}: {by_direction}"


def bars(paper: Paper, results: Mapping) -> list[BarRow]:
    """The judged ratios; of single runs the times, which no bound applies to."""
    if _is_judged(results):
        return headlines(paper, results)
    return [
        BarRow(
            f"{direction.capitalize()} with cross traffic",
            "s",
            [
                Bar(_NAMES[name], MEASURED if name == PROXY else REFERENCE, time)
                for name, time in times.items()
            ],
        )
        for direction, times in _times(results)
    ]


def _is_judged(results: Mapping) -> bool:
    own = verdicts.total(verdicts.counts(results).own)
    return own.met + own.not_met > 0


def _times(results: Mapping) -> Iterator[tuple[str, dict[str, float]]]:
    """The median times of one connection with cross traffic, by configuration."""
    for direction in DIRECTIONS:
        found = {name: seconds(results, Test(direction, "1", True, name).name) for name in _NAMES}
        times = {name: time for name, time in found.items() if time is not None}
        if len(times) == len(_NAMES):
            yield direction, times


def _seconds(direction: str, times: Mapping[str, float]) -> str:
    return f"{direction} {', '.join(f'{time:.1f}' for time in times.values())} s"


def _ratios(direction: str, times: Mapping[str, float]) -> str:
    proxy, neither = times[PROXY] / times[NATIVE], times[NEITHER] / times[NATIVE]
    return f"{direction} {proxy:.2f}, without ECN {neither:.2f}"
