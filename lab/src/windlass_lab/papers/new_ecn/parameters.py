"""New-ECN's parameters, as a search found them, on paths that were fixed before they were run.

The search is `studies/new_ecn_parameters.toml`; its paths and these have the same scenario.
"""

from windlass_lab.core.experiments.model import (
    Case,
    Effect,
    Experiment,
    Line,
    Quantity,
    Shown,
    SweepPlot,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.friendliness import OTHERS
from windlass_lab.papers.new_ecn.plan import QUEUE, STEADY_FAIRNESS, STEADY_TOTAL
from windlass_lab.papers.new_ecn.unseen_paths import PATHS

_CONTROLLER = "defaults.controller"
# Rounded from trials of the search.
_SETS: dict[str, tuple[str, dict[str, float]]] = {
    "published": ("0.9, 0.9, 16", {"alpha_wnd": 0.9, "alpha_slp": 0.9, "beta": 16.0}),
    "short-queue": ("0.95, 0.75, 5", {"alpha_wnd": 0.95, "alpha_slp": 0.75, "beta": 5.0}),
    "quick": ("0.95, 0.5, 27", {"alpha_wnd": 0.95, "alpha_slp": 0.5, "beta": 27.0}),
}
# The bounds of "better in all respects", of each figure over that of the published parameters.
_AS_FAIR, _SHORTER, _AS_FULL = Bounds(low=0.99), Bounds(high=1.0), Bounds(low=0.995)


def better_parameters() -> Experiment:
    """Three sets of parameters on nine paths, and beside Reno."""
    cases = {(name, path): _case(name, path) for name in _SETS for path in PATHS}
    beside = {name: _beside_reno(name) for name in _SETS}
    alone = Case("mix_6reno@anew", "6 Reno", "mix_6reno", first_seed=criteria.NEW_SEEDS)
    found = [name for name in _SETS if name != "published"]
    return Experiment(
        id="parameters",
        chapter="Beyond the paper",
        section="5.1, better parameters",
        title="Better parameters",
        shows="Two sets of alpha_wnd, alpha_slp and beta from the Pareto front of a search over "
        "six paths (studies/new_ecn_parameters.toml), beside the paper's, on nine paths that were "
        "fixed before they were run. Of the front they are those that were nearest to the "
        "published values in fairness with a shorter queue.",
        reading="Better in all respects would be: as fair on every path (0.99 of the index), with "
        "a queue that is not longer, and as full a link.",
        quick=False,
        seconds=60,
        first_result=criteria.NEW_SEEDS_ON,
        cases=[*cases.values(), *beside.values(), alone],
        checks=[
            *(
                Effect(
                    cases[name, path].name,
                    cases["published", path].name,
                    quantity,
                    says,
                    means,
                    criterion=criteria.BETTER,
                )
                for name in found
                for path in PATHS
                for quantity, says, means in (
                    (STEADY_FAIRNESS, "as fair", _AS_FAIR),
                    (QUEUE, "no longer queue", _SHORTER),
                    (STEADY_TOTAL, "as full a link", _AS_FULL),
                )
            ),
            *(
                Effect(
                    case.name,
                    alone.name,
                    OTHERS,
                    "no considerable effect",
                    Bounds(0.95, 1.05),
                    criterion=criteria.NO_EFFECT,
                )
                for case in beside.values()
            ),
            *(
                Shown(case.name, quantity)
                for case in cases.values()
                for quantity in (STEADY_FAIRNESS, QUEUE, STEADY_TOTAL)
            ),
        ],
        plots=[
            _plot(cases, "parameters-fairness", "Fairness index", STEADY_FAIRNESS),
            _plot(cases, "parameters-queue", "Mean queue", QUEUE),
        ],
    )


def _case(name: str, path: str) -> Case:
    label, factors = _SETS[name]
    text, changes = PATHS[path]
    controller = {_CONTROLLER: {"kind": "new-ecn"} | factors}
    return Case(
        f"{path}@{name}",
        f"{label}: {text}",
        "four_flows",
        controller | changes,
        first_seed=criteria.NEW_SEEDS,
    )


def _beside_reno(name: str) -> Case:
    """Three flows with these parameters beside three of Reno."""
    label, factors = _SETS[name]
    controller = {"kind": "new-ecn"} | factors
    changes: dict[str, object] = {f"flows.{n}.controller": controller for n in range(3)}
    return Case(
        f"mix_3new_3reno@{name}",
        f"{label}: 3 beside 3 Reno",
        "mix_3new_3reno",
        changes,
        first_seed=criteria.NEW_SEEDS,
    )


def _plot(cases: dict[tuple[str, str], Case], id: str, title: str, quantity: Quantity) -> SweepPlot:
    lines = [
        Line(label, [(text, cases[name, path].name) for path, (text, _) in PATHS.items()])
        for name, (label, _) in _SETS.items()
    ]
    return SweepPlot(id, title, lines, quantity, "")
