"""The page on which the matrix is browsed: every cell with its intervals and its scenario."""

from collections.abc import Mapping, Sequence
from itertools import product

from windlass_lab.core.report.page import environment, packed_json
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.interval import of_mean
from windlass_lab.papers.coexistence import measure, plan, scenario
from windlass_lab.papers.coexistence.measure import SHOWN, Runs
from windlass_lab.papers.coexistence.plan import CONTENDERS, QUEUES, Cell, Path

# Digits of a figure on the page.
_DIGITS = 4
# Where the playground lies that `make playground` builds, from a result in out/.
_PLAYGROUND = "../playground/index.html"
# The mean, half of its 95 % interval (None for a single run), and the number of runs.
Figure = Sequence[float | None]


def render(runs: Runs, results: Mapping) -> str:
    """The page, which needs nothing else; the link to the playground leads to `out/playground`."""
    found = {cell: _figures(cell, runs) for cell in plan.matrix() if runs.get(cell.name)}
    data = {
        "measures": [
            {"key": m.key, "label": m.label, "unit": m.unit, "good": m.good, "most": m.most}
            for m in SHOWN
        ],
        "controllers": {name: each.label for name, each in CONTENDERS.items()},
        "queues": dict(QUEUES),
        "rates": plan.RATES_MBIT,
        "rtts": plan.RTTS_MS,
        "ratios": plan.RATIOS,
        "cells": {cell.name: figures for cell, figures in found.items()},
        "scenario": parts_of_scenarios(),
        "playground": _PLAYGROUND,
    }
    cells = sum(1 for _ in plan.matrix())
    return (
        environment()
        .get_template("coexistence-matrix.html.j2")
        .render(
            title="Coexistence of congestion controllers: the matrix",
            data=packed_json(data),
            there=len(found),
            cells=cells,
            results=results,
        )
    )


def _figures(cell: Cell, runs: Runs) -> list[Figure | None]:
    """Of each measure the figure; None where a run is missing."""
    return [_figure(measure.estimate(each, cell, runs)) for each in SHOWN]


def _figure(value: Estimate | None) -> Figure | None:
    if value is None:
        return None
    span = of_mean(value)
    half = (span.high - span.low) / 2 if span else None
    return [_short(value.mean), _short(half), value.count]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def parts_of_scenarios() -> dict[str, dict[str, str]]:
    """The parts of scenario files by what they depend on: the page puts a cell's together, in the
    order of `scenario.parts`.
    """
    plain = list(product(plan.RATES_MBIT, plan.RTTS_MS))
    return {
        "head": {f"{rate}-{rtt}": scenario.head(Path("fifo1", rate, rtt)) for rate, rtt in plain},
        "queue": {
            f"{queue}-{rate}-{rtt}": scenario.queue(Path(queue, rate, rtt))
            for queue, (rate, rtt) in product(QUEUES, plain)
        },
        "links": {
            f"{rate}-{rtt}-{ratio}": scenario.links(Path("fifo1", rate, rtt, ratio))
            for (rate, rtt), ratio in product(plain, plan.RATIOS)
        },
        "flow": {
            f"{name}-{place}": scenario.flow(place, name)
            for name, place in product(CONTENDERS, (1, 2))
        },
    }
