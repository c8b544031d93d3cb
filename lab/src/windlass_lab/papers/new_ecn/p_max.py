"""How much New-ECN depends on RED's marking probability (section 4.2.1)."""

from collections.abc import Mapping

from windlass_lab.core.experiments.model import (
    Ascending,
    Case,
    Check,
    Experiment,
    Line,
    Near,
    Quantity,
    Statement,
    SweepPlot,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.plan import (
    FAIR,
    FAIRNESS_TOLERANCE,
    FIGURES_ONLY,
    NOT_FAIR,
    STEADY_FAIRNESS,
)

_VALUES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6, 1.0)
_FIRST, _SECOND = "s1_10M", "s2_2M"
_SETUPS = {_FIRST: "setup 1", _SECOND: "setup 2"}
_KINDS = {"newecn": "New-ECN", "ecn": "ECN Reno"}
# Known figures of the reference: 0.987 to 0.997 from 0.05 to 0.4 (the middle is taken), 0.970 at 1,
# and the cases of section 4.
_TARGETS = {value: 0.992 for value in _VALUES if value <= 0.4} | {1.0: 0.970}
_REFERENCES = {
    (_FIRST, "newecn"): [(0.1, 0.992), (1.0, 0.970)],
    (_FIRST, "ecn"): [(0.1, 0.475)],
    (_SECOND, "newecn"): [(0.1, 0.816), (0.2, 0.986)],
    (_SECOND, "ecn"): [(0.1, 0.750), (0.2, 0.726)],
}
# Where the paper has the bias turn, and how much more the slow flow then gets than the fast one.
_TURNS, _BIASED = 1 / 3, 1.1
_MODERATE = "a moderate sensitivity"
_NAMED: Mapping[tuple[str, float], tuple[str, Bounds]] = {
    **{(_FIRST, value): ("fair from 1/10 to 1/3", FAIR) for value in (0.1, 0.15, 0.2, 0.25, 0.3)},
    (_SECOND, 0.1): ("no longer fair", NOT_FAIR),
    (_SECOND, 0.2): ("fair again", FAIR),
}
LONGEST = Quantity("longest_over_shortest", "Rate of the longest round trip over the shortest's")
Cases = Mapping[tuple[str, str, float], Case]


def how_much_p_max_matters() -> Experiment:
    """Both setups of section 4.2.1 from p_max 0.05 to 1."""
    cases = {
        (stem, kind, value): _case(stem, kind, value)
        for stem in _SETUPS
        for kind in _KINDS
        for value in _VALUES
    }
    lines = [
        Line(
            f"{_KINDS[kind]}, {_SETUPS[stem]}",
            [(value, cases[stem, kind, value].name) for value in _VALUES],
            _REFERENCES[stem, kind],
        )
        for stem in _SETUPS
        for kind in _KINDS
    ]
    return Experiment(
        id="p-max",
        chapter="Beyond the paper",
        section="4.2.1, what the paper says of p_max",
        title="How much depends on p_max",
        shows="On setup 1 New-ECN is fair over a wide range of p_max; at 1 the bias turns against "
        "the fast flow. On setup 2 there is a narrow optimum near 0.2.",
        quick=False,
        seconds=35,
        first_result=criteria.BEGINNING,
        cases=list(cases.values()),
        checks=_checks(cases),
        plots=[
            SweepPlot(
                "p-max-fairness",
                "Fairness index from 10 s on over p_max",
                lines,
                STEADY_FAIRNESS,
                "p_max",
                log=True,
                says="setup 1 is fair for p_max between 1/10 and 1/3, above that the bias turns",
                keys=[STEADY_FAIRNESS.key],
            ),
            SweepPlot(
                "bias",
                "Rate of the flow of 190 ms over that of 4 ms on setup 1, New-ECN",
                [Line("New-ECN", [(v, cases[_FIRST, "newecn", v].name) for v in _VALUES])],
                LONGEST,
                "p_max",
                log=True,
                says="above 1/3 a bias against fast connections",
                keys=[LONGEST.key],
            ),
        ],
    )


def _case(stem: str, kind: str, value: float) -> Case:
    return Case(
        f"{stem}_{kind}@p{value:g}",
        f"{_KINDS[kind]}, {_SETUPS[stem]}, p_max {value:g}",
        f"{stem}_p0.1_{kind}",
        {"queues.marking.p_max": value},
        FIGURES_ONLY if kind == "ecn" else None,
    )


def _said_of(case: str, stem: str, value: float) -> Statement:
    """The text names some values; of the others it says that little depends on them."""
    says, means = _NAMED.get((stem, value), (_MODERATE, FAIR))
    criterion = criteria.P_MAX_MODERATE if says == _MODERATE else criteria.P_MAX_FAIR
    return Statement(case, STEADY_FAIRNESS, says, means, criterion=criterion)


def _checks(cases: Cases) -> list[Check]:
    first, second = (
        {value: cases[stem, "newecn", value].name for value in _VALUES} for stem in _SETUPS
    )
    return [
        *(
            Near(
                first[value],
                STEADY_FAIRNESS,
                FAIRNESS_TOLERANCE,
                target=target,
                criterion=criteria.P_MAX,
            )
            for value, target in _TARGETS.items()
        ),
        *(
            Near(
                second[value],
                STEADY_FAIRNESS,
                tolerance,
                target=target,
                criterion=criteria.FAIRNESS,
            )
            for value, tolerance, target in (
                (0.1, Tolerance(absolute=0.08), 0.816),
                (0.2, FAIRNESS_TOLERANCE, 0.986),
            )
        ),
        *(
            _said_of(cases[stem, "newecn", value].name, stem, value)
            for stem in _SETUPS
            for value in _VALUES
        ),
        *(
            Statement(
                first[value],
                LONGEST,
                "a bias against the fast flow" if value > _TURNS else "no such bias",
                Bounds(low=_BIASED) if value > _TURNS else Bounds(high=_BIASED),
                criterion=criteria.BIAS_TURNS,
            )
            for value in _VALUES
        ),
        *(
            Ascending(
                [second[value] for value in values],
                STEADY_FAIRNESS,
                criterion=criteria.P_MAX_ORDER,
            )
            for values in ((0.05, 0.1, 0.2), (1.0, 0.3, 0.2))
        ),
    ]
