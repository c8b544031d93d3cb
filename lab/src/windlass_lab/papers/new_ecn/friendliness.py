"""Rates of other flows beside New-ECN, compared with beside as many more of their own kind."""

from datetime import date

from windlass_lab.core.experiments.model import (
    BarPlot,
    Case,
    Compared,
    Effect,
    Experiment,
    Line,
    Quantity,
    SweepPlot,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.papers.new_ecn import criteria

_MARKING = (0.05, 0.2, 0.33, 0.5, 1.0)
OTHERS = Quantity(
    "last_three_packets_per_s", "Rate of the last three flows, from 10 s", "packets/s"
)


# Of Reno's and of ECN Reno's flows, with each receiver, in the paper's words.
_SAYS = (
    *(("no considerable effect", Bounds(0.95, 1.05), criteria.NO_EFFECT),) * 2,
    *(("not significantly reduced", Bounds(low=0.95), criteria.NO_EFFECT),) * 2,
)


def what_others_lose() -> Experiment:
    """Three flows beside three of another kind, against six of their own."""
    reno, ecn = Case("mix_6reno", "6 Reno"), Case("mix_6ecn", "6 ECN Reno")
    # The scripts' receiver, and the text's.
    of_paper = [
        (Case("mix_3new_3reno", "3 New-ECN, 3 Reno"), reno),
        (Case("mix_3new_3reno_sink8", "3 New-ECN with one echo per CE, 3 Reno"), reno),
        (Case("mix_3new_3ecn", "3 New-ECN, 3 ECN Reno"), ecn),
        (Case("mix_3new_3ecn_sink8", "3 New-ECN with one echo per CE, 3 ECN Reno"), ecn),
    ]
    others = [
        (_first_three("mix_3new_3reno", "vegas", "3 Vegas, 3 Reno", ecn=False), reno),
        (_first_three("mix_3new_3ecn", "cubic", "3 CUBIC, 3 ECN Reno", ecn=True), ecn),
    ]
    beside = [*of_paper, *others]
    names = [reno.name, *(case.name for case, _ in beside[:2])]
    names += [ecn.name, *(case.name for case, _ in beside[2:4])]
    marked = {
        p_max: [_at(stem, p_max) for stem in ("mix_3new_3ecn", "mix_6ecn")] for p_max in _MARKING
    }
    return Experiment(
        id="friendliness",
        chapter="Beyond the paper",
        section="4.3, in the other flows' rates",
        title="Losses of other flows beside New-ECN",
        shows="Section 4.3 has New-ECN's share of the link. The others' measure is the rate that "
        "they would have without it: beside three flows of New-ECN three of Reno get an eighth "
        "less than beside three more of Reno, and three of ECN Reno a twelfth less.",
        reading="The scripts of the paper had the receivers of New-ECN echo until CWR, its text "
        "wants one echo for each CE: both are judged. Six flows that share alike have three of six "
        "shares, so that what the others keep is 2 (1 - share of New-ECN).",
        quick=False,
        seconds=30,
        first_result=date(2026, 11, 26),
        cases=[
            *(case for case, _ in beside),
            reno,
            ecn,
            *(case for pair in marked.values() for case in pair),
        ],
        checks=[
            *(
                Effect(
                    case.name, own.name, OTHERS, says, within, criterion=criterion, headline=True
                )
                for (case, own), (says, within, criterion) in zip(of_paper, _SAYS, strict=True)
            ),
            *(Compared(case.name, own.name, OTHERS) for case, own in others),
            *(Compared(new.name, own.name, OTHERS) for new, own in marked.values()),
        ],
        plots=[
            BarPlot("others-rates", "Rate of the last three flows", names, OTHERS),
            SweepPlot(
                "others-by-p-max",
                "Rate of three ECN Reno flows, beside New-ECN and beside their own kind",
                [
                    Line(label, [(p_max, pair[place].name) for p_max, pair in marked.items()])
                    for place, label in enumerate(("beside New-ECN", "beside their own kind"))
                ],
                OTHERS,
                "p_max",
                log=True,
            ),
        ],
    )


def _first_three(stem: str, controller: str, label: str, *, ecn: bool) -> Case:
    overrides: dict[str, object] = {f"flows.{n}.controller": controller for n in range(3)}
    overrides |= {f"flows.{n}.ecn": ecn for n in range(3)}
    return Case(f"{stem}@{controller}", label, stem, overrides)


def _at(stem: str, p_max: float) -> Case:
    overrides: dict[str, object] = {"queues.marking.p_max": p_max}
    return Case(f"{stem}@lose-p{p_max:g}", f"{stem}, p_max {p_max:g}", stem, overrides)
