"""New-ECN with several congested gateways, which section 5.1 of the paper leaves open."""

from windlass_lab.core.experiments.model import (
    Ascending,
    Case,
    Experiment,
    Line,
    Quantity,
    Shown,
    SweepPlot,
)
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.plan import FIGURES_ONLY, QUEUE, STEADY_FAIRNESS, STEADY_TOTAL

_HOPS = range(1, 7)
_KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "newecn": ("New-ECN", {}),
    "ecn": ("ECN Reno", {"defaults.controller": "reno"}),
    "reno": ("Reno", {"defaults.controller": "reno", "defaults.ecn": False}),
    "cubic": ("CUBIC with ECN", {"defaults.controller": "cubic"}),
    "constant": ("Constant increase with ECN", {"defaults.controller": "constant-increase"}),
}
# Segments per round trip and squared second of it; the paper names none. 16 is that of "constant".
_GAINS = (4.0, 64.0, 256.0, 1000.0)
_GAIN_HOPS = 3
LONG = Quantity("long_over_cross", "Rate of the long flow over that of a cross flow, from 10 s")
MAX_MIN = Quantity("max_min", "Smallest rate over the max-min fair one, from 10 s")
PROPORTIONAL = Quantity("proportional_change", "Equation 2.5, from 10 s")
_SHOWN = (STEADY_FAIRNESS, LONG, MAX_MIN, PROPORTIONAL, STEADY_TOTAL, QUEUE)


def several_gateways() -> Experiment:
    """One long flow over 1 to 6 hops against one cross flow on each."""
    cases = {(kind, hops): _case(kind, hops) for kind in _KINDS for hops in _HOPS}
    new = {hops: cases["newecn", hops].name for hops in _HOPS}
    constant = {gain: _of_gain(gain) for gain in _GAINS} | {16.0: cases["constant", _GAIN_HOPS]}
    return Experiment(
        id="gateways",
        chapter="Beyond the paper",
        section="5.1, several congested gateways",
        title="Several congested gateways",
        shows="A long flow crosses 1 to 6 congested gateways, and meets a flow of its own on each. "
        "The paper's first results are confirmed: Reno without ECN is fairer there than with it, "
        "and New-ECN is fairer than both.",
        reading="Max-min fairness gives the long flow as much as each cross flow, proportional "
        "fairness 1/n of that on n gateways. From two gateways on the long flow of New-ECN gets "
        "more than the proportional share, and those of ECN Reno and CUBIC get less. The long flow "
        "of Reno without ECN comes close to it, but the links carry a fifth less. Constant "
        "increase carries less at every gain, and is fairer from a gain of 64 on. New-ECN keeps "
        "the longest queues.",
        quick=False,
        seconds=75,
        first_result=criteria.NEW_SEEDS_ON,
        cases=list({case.name: case for case in (*cases.values(), *constant.values())}.values()),
        checks=[
            *(
                Ascending(
                    [cases[kind, hops].name for kind in ("ecn", "reno", "newecn")],
                    STEADY_FAIRNESS,
                    "performs better",
                    criterion=criteria.GATEWAYS_ORDER,
                )
                for hops in _HOPS[1:]
            ),
            *(
                Ascending(
                    [constant[gain].name, new[_GAIN_HOPS]],
                    quantity,
                    "an advantage",
                    criterion=criteria.CONSTANT_INCREASE,
                )
                for gain in sorted(constant)
                for quantity in (STEADY_FAIRNESS, STEADY_TOTAL)
            ),
            *(
                Shown(case.name, quantity)
                for case in (*cases.values(), *(constant[gain] for gain in _GAINS))
                for quantity in _SHOWN
            ),
        ],
        plots=[
            _plot(cases, "gateways-fairness", "Fairness index from 10 s on", STEADY_FAIRNESS),
            _plot(cases, "gateways-long", "Rate of the long flow over a cross flow's", LONG),
            _plot(cases, "gateways-rate", "Total rate from 10 s on", STEADY_TOTAL),
            *_gain_plots(constant, new[_GAIN_HOPS]),
        ],
    )


def _gain_plots(constant: dict[float, Case], new: str) -> list[SweepPlot]:
    return [
        SweepPlot(
            f"constant-increase-{name}",
            f"{title} on {_GAIN_HOPS} gateways, constant increase by its gain",
            [
                Line("constant", [(g, constant[g].name) for g in sorted(constant)]),
                Line("New-ECN", [(g, new) for g in sorted(constant)]),
            ],
            quantity,
            "gain",
            log=True,
        )
        for name, title, quantity in (
            ("fairness", "Fairness index", STEADY_FAIRNESS),
            ("rate", "Total rate", STEADY_TOTAL),
        )
    ]


def _case(kind: str, hops: int) -> Case:
    label, overrides = _KINDS[kind]
    name = f"gateways{hops}_{kind}"
    return Case(
        name,
        f"{label}, {hops} hops",
        "gateways",
        overrides | {"parking_lot.hops": hops},
        FIGURES_ONLY if kind == "cubic" else None,
        first_seed=criteria.NEW_SEEDS,
    )


def _of_gain(gain: float) -> Case:
    return Case(
        f"gateways{_GAIN_HOPS}_constant-{gain:g}",
        f"Constant increase by {gain:g}, {_GAIN_HOPS} hops",
        "gateways",
        {
            "defaults.controller": {"kind": "constant-increase", "gain": gain},
            "parking_lot.hops": _GAIN_HOPS,
        },
        first_seed=criteria.NEW_SEEDS,
    )


def _plot(cases: dict[tuple[str, int], Case], id: str, title: str, quantity: Quantity) -> SweepPlot:
    lines = [
        Line(label, [(hops, cases[kind, hops].name) for hops in _HOPS])
        for kind, (label, _) in _KINDS.items()
    ]
    return SweepPlot(id, title, lines, quantity, "congested gateways")
