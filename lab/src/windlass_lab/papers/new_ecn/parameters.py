"""New-ECN's parameters, as a search found them, on paths that the search did not see.

The search is `studies/new_ecn_parameters.toml`; its paths and these have the same scenario.
"""

from windlass_lab.core.model import Case, Experiment, Line, Over, Quantity, Shown, SweepPlot
from windlass_lab.papers.new_ecn.plan import QUEUE, STEADY_FAIRNESS, STEADY_TOTAL

_CONTROLLER = "defaults.controller"
# Rounded from trials of the search.
_SETS: dict[str, tuple[str, dict[str, float]]] = {
    "published": ("0.9, 0.9, 16", {"alpha_wnd": 0.9, "alpha_slp": 0.9, "beta": 16.0}),
    "short-queue": ("0.95, 0.75, 5", {"alpha_wnd": 0.95, "alpha_slp": 0.75, "beta": 5.0}),
    "quick": ("0.95, 0.5, 27", {"alpha_wnd": 0.95, "alpha_slp": 0.5, "beta": 27.0}),
}
_BOTTLENECK = "dumbbell.bottleneck"
_LATE: dict[str, object] = {"duration": "80s", "steady_from": "40s"}
_LATE |= {f"flows.{n}.start": f"{10 * n}s" for n in range(4)}
_PATHS: dict[str, tuple[str, dict[str, object]]] = {
    "slow": ("5 Mbit/s", {f"{_BOTTLENECK}.rate": "5Mbit/s", "queues.marking.p_max": 0.15}),
    "faster": ("30 Mbit/s", {f"{_BOTTLENECK}.rate": "30Mbit/s"}),
    "eight": ("8 flows", {f"flows.{n}.count": 2 for n in range(4)}),
    "middle": (
        "like RTTs",
        {
            "dumbbell.access.0.delay": "9ms",
            "dumbbell.access.1.delay": "24ms",
            "dumbbell.access.3.delay": "64ms",
        },
    ),
    "thresholds": (
        "20 to 60",
        {"queues.marking.min": "20 packets", "queues.marking.max": "60 packets"},
    ),
    "codel": ("CoDel", {f"{_BOTTLENECK}.queue": {"kind": "codel"}}),
    "late": (
        "late starts",
        _LATE,
    ),
}


def better_parameters() -> Experiment:
    """Three sets of parameters on seven paths."""
    cases = {(name, path): _case(name, path) for name in _SETS for path in _PATHS}
    found = [name for name in _SETS if name != "published"]

    def over(
        name: str, path: str, quantity: Quantity, low: float | None, high: float | None
    ) -> Over:
        return Over(cases[name, path].name, cases["published", path].name, quantity, low, high)

    return Experiment(
        id="parameters",
        chapter="Beyond the paper",
        section="5.1, better parameters",
        title="Better parameters",
        shows="Two sets of alpha_wnd, alpha_slp and beta from the Pareto front of a search over "
        "six paths (studies/new_ecn_parameters.toml), beside the paper's, on seven paths that the "
        "search did not see.",
        reading="A window factor nearer to 1 and a slope that falls faster keep the fairness, "
        "shorten the queue and fill the link better.",
        quick=False,
        seconds=40,
        cases=list(cases.values()),
        checks=[
            *(over(name, path, STEADY_FAIRNESS, 0.95, None) for name in found for path in _PATHS),
            *(over(name, path, QUEUE, None, 1.0) for name in found for path in _PATHS),
            *(over(name, path, STEADY_TOTAL, 0.995, None) for name in found for path in _PATHS),
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
    text, changes = _PATHS[path]
    controller = {_CONTROLLER: {"kind": "new-ecn"} | factors}
    return Case(f"{path}@{name}", f"{label}: {text}", "four_flows", controller | changes)


def _plot(cases: dict[tuple[str, str], Case], id: str, title: str, quantity: Quantity) -> SweepPlot:
    lines = [
        Line(label, [(text, cases[name, path].name) for path, (text, _) in _PATHS.items()])
        for name, (label, _) in _SETS.items()
    ]
    return SweepPlot(id, title, lines, quantity, "")
