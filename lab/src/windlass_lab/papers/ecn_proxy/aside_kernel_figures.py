"""The sample of cells on kernels beside the simulator: verdicts, the cells, and their picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.plots.parts import Drawn, Panel, line, with_spread
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.ratios import Ratio, median_ratio, ratio
from windlass_lab.core.text.numbers import figure
from windlass_lab.core.verdicts.verdict import (
    NOT_ENOUGH_RUNS,
    UNDECIDED,
    Comparison,
    Subject,
    informative,
    within,
)
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.aside import Cell
from windlass_lab.papers.ecn_proxy.aside_figures import (
    CELL_COLUMNS,
    CELL_HEADINGS,
    HIGH,
    LOW,
    as_csv,
    cell_cells,
    cell_key,
)
from windlass_lab.papers.ecn_proxy.aside_kernel import (
    WORST,
    KernelCell,
    SimulatedCell,
    both,
    sample,
    tests,
)
from windlass_lab.papers.ecn_proxy.plan import DIRECTIONS
from windlass_lab.papers.ecn_proxy.supplement import Runs, Supplement, seconds

_MOST_RUNS = 5
# Of a direction. The interval is over their runs, which are drawn anew.
_FEWEST_CELLS = 2
_RATIO = "time through the proxy over native ECN"


@dataclass(frozen=True, slots=True)
class Pair:
    """Times of a cell in seconds, through the proxy and with native ECN."""

    proxy: Sequence[float]
    native: Sequence[float]

    @property
    def ratio(self) -> Ratio:
        """The proxy's median time over native ECN's."""
        return ratio(self.proxy, self.native)

    @property
    def value(self) -> float:
        """The same without an interval."""
        return median(self.proxy) / median(self.native)


@dataclass(frozen=True, slots=True)
class Place:
    """A cell that was run on kernels and simulated, in both configurations."""

    cell: Cell
    kernel: Pair
    simulated: Pair


def places(runs: Runs, cells: Sequence[Cell]) -> Sequence[Place]:
    """Those of the cells of which all four were run."""
    found = []
    for cell in cells:
        native, proxy = both(cell)
        pairs = [
            Pair(seconds(runs, kind.of(proxy)), seconds(runs, kind.of(native)))
            for kind in (KernelCell, SimulatedCell)
        ]
        if all(pair.proxy and pair.native for pair in pairs):
            found.append(Place(cell, *pairs))
    return found


def judge(runs: Runs) -> list[Comparison]:
    """The median of the sample's cells by direction, how many lie within the bounds, and the worst
    cell. The simulator's figure of the same cells is the reference, beside which they stand.
    """
    every = places(runs, sample())
    found = [each for direction in DIRECTIONS for each in _of_direction(direction, every)]
    return [*found, *map(_worst, places(runs, [WORST]))]


def _of_direction(direction: str, every: Sequence[Place]) -> Iterator[Comparison]:
    chosen = [place for place in every if place.cell.direction == direction]
    if not chosen:
        return
    label = direction.capitalize()
    whole = sum(cell.direction == direction for cell in sample())
    simulated = [place.simulated.value for place in chosen]
    middle = median_ratio([(place.kernel.proxy, place.kernel.native) for place in chosen])
    subject = Subject(
        f"{label}: {_RATIO}, median of the cells on kernels",
        reference=Estimate(median(simulated), 0.0, len(chosen)),
        measured=middle.estimate,
        headline=True,
        case=f"aside-kernel-{direction}",
    )
    why = f"{len(chosen)} of {whole} cells, {_interval(middle)}"
    about = replace(subject, criterion=criteria.ASIDE.criterion, fewest=_FEWEST_CELLS)
    judged = within(about, criteria.ASIDE.bounds, middle.interval)
    if len(chosen) < whole:
        judged = replace(judged, verdict=UNDECIDED)
    unsure = f"{NOT_ENOUGH_RUNS}: " if judged.verdict == UNDECIDED else ""
    yield replace(judged, why=unsure + why)
    values = [place.kernel.value for place in chosen]
    share = Subject(
        f"{label}: share of cells from {LOW:.2f} to {HIGH:.2f}",
        reference=Estimate(_share_inside(simulated), 0.0, len(chosen)),
        measured=Estimate(_share_inside(values), 0.0, len(chosen)),
        case=f"aside-kernel-{direction}",
    )
    spread = f"cells from {min(values):.3f} to {max(values):.3f}"
    above, below = sum(v > HIGH for v in values), sum(v < LOW for v in values)
    yield informative(share, f"{spread}, {above} above and {below} below")


def _share_inside(values: Sequence[float]) -> float:
    return sum(LOW <= value <= HIGH for value in values) / len(values)


def _worst(place: Place) -> Comparison:
    """Its bound would judge a cell that was chosen because it is outside."""
    subject = Subject(
        f"The worst simulated cell: {_RATIO}",
        reference=Estimate(place.simulated.value, 0.0, len(place.simulated.proxy)),
        measured=place.kernel.ratio.estimate,
        case=KernelCell.of(place.cell).name,
    )
    return informative(subject, _interval(place.kernel.ratio))


def _interval(found: Ratio) -> str:
    if found.count == 1:
        return "single runs"
    return f"95 % interval {found.low:.3f} to {found.high:.3f}"


_HEADINGS = (
    *CELL_HEADINGS,
    *("native ECN (s)", "proxy (s)", "kernel", "95 % interval", "simulator"),
)


def tables(runs: Runs) -> list[dict]:
    """Every cell of the sample, the slowest proxy first; the worst simulated cell."""
    ordered = sorted(places(runs, sample()), key=lambda place: place.kernel.value, reverse=True)
    return [
        _table("The sample on kernels: medians, and the ratio beside the simulator's", ordered),
        _table("The worst simulated cell on kernels", places(runs, [WORST])),
    ]


def _table(caption: str, chosen: Sequence[Place]) -> dict:
    rows = [_row(place) for place in chosen]
    return {"caption": caption, "headings": _HEADINGS, "rows": rows, "open": True}


def _row(place: Place) -> tuple[str, ...]:
    found = place.kernel.ratio
    return (
        *cell_cells(place.cell),
        figure(median(place.kernel.native)),
        figure(median(place.kernel.proxy)),
        f"{found.value:.3f}",
        f"{found.low:.3f} to {found.high:.3f}" if found.count > 1 else "",
        f"{place.simulated.value:.3f}",
    )


def draw(runs: Runs) -> list[Drawn]:
    """A point a cell: its ratio on kernels over that of the simulator."""
    cells = {direction: _of(runs, direction) for direction in DIRECTIONS}
    cells = {label: found for label, found in cells.items() if found}
    if worst := places(runs, [WORST]):
        cells["the worst simulated cell"] = worst
    traces = [_points(label, n, found) for n, (label, found) in enumerate(cells.items())]
    drawn = Drawn(
        id="aside-kernel-ratios",
        figure="",
        title="Time through the proxy over native ECN: kernels over the simulator",
        note=f"A point is a cell. The bounds are {LOW:.2f} and {HIGH:.2f}.",
        panels=[Panel("aside-kernel", "Cells", {"data": traces, "layout": _LAYOUT})],
        headings=_HEADINGS,
        rows=[_row(place) for found in cells.values() for place in found],
    )
    return [drawn] if traces else []


def _of(runs: Runs, direction: str) -> Sequence[Place]:
    return places(runs, [cell for cell in sample() if cell.direction == direction])


def _points(label: str, index: int, found: Sequence[Place]) -> dict:
    ratios = [place.kernel.ratio for place in found]
    x = [round(place.simulated.value, 4) for place in found]
    trace = line(label, index, x, [round(each.value, 4) for each in ratios])
    return with_spread(trace | {"mode": "markers"}, [each.estimate for each in ratios])


_LAYOUT = {
    "xaxis": {"title": {"text": "ratio in the simulator"}},
    "yaxis": {"title": {"text": "ratio on kernels"}},
    "shapes": [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y}
        | {"line": {"width": 1, "dash": "dot", "color": "gray"}}
        for y in (LOW, HIGH)
    ],
    "hovermode": "closest",
    "showlegend": True,
}
_COLUMNS = (
    *(*CELL_COLUMNS, "runs", "native_s", "proxy_s", "ratio", "low", "high"),
    *("simulated_native_s", "simulated_proxy_s", "simulated_ratio"),
)


def files(runs: Runs) -> Mapping[str, str]:
    """The cells of the sample and the worst one behind them, as CSV."""
    rows: list[tuple[object, ...]] = [_COLUMNS]
    for place in places(runs, [*sample(), WORST]):
        found, simulated = place.kernel.ratio, place.simulated
        values = (
            *(median(place.kernel.native), median(place.kernel.proxy)),
            *(found.value, found.low, found.high),
            *(median(simulated.native), median(simulated.proxy), simulated.value),
        )
        rows.append((*cell_key(place.cell), found.count, *(f"{value:.4f}" for value in values)))
    return {"aside-kernel-cells": as_csv(rows)}


ASIDE_KERNEL = Supplement(
    experiment=Experiment(
        id="aside-kernel",
        chapter="Beyond the paper",
        section="Cells by which nothing was chosen, on kernels",
        title="A sample of the other rates, round trips and queues on real kernels",
        shows="24 of the 648 cells on this machine's kernel, and the same cells simulated: twelve "
        "each way, with every queue and number of connections once, and each rate, round trip and "
        "load of UDP in four of them. The median by direction is judged by the bound of the "
        "paper's tests. The simulator's worst cell stands beside them: it was chosen by its "
        f"result and has no part in the medians. Each cell has at most {_MOST_RUNS} runs.",
        quick=False,
        seconds=1500.0,
        first_result=criteria.FIRST_BEYOND,
        kind="testbed",
        needs_root=True,
    ),
    tests=tests,
    most_runs=_MOST_RUNS,
    judge=judge,
    tables=tables,
    draw=draw,
    files=files,
    real=True,
)
