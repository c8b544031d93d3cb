"""Section 4.3 of the paper: a flow of New-ECN alone, and three beside three others."""

from windlass_lab.core.experiments.model import (
    Ascending,
    BarPlot,
    Case,
    Experiment,
    Flows,
    Near,
    Shown,
)
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.plan import (
    BOTTLENECK,
    CWND_SPREAD,
    DROPS,
    FRIENDLY,
    RATE_TOLERANCE,
    SHARE,
    STEADY_RATE,
    STEADY_SHARE,
    TENTH,
    WHOLE_TOTAL,
    ack_plot,
    rate_bars,
    rates_and_fairness,
)

_CHAPTER = "4.3 Friendliness"


def section_4_3() -> list[Experiment]:
    """The experiments of the section."""
    return [
        _single_flows(),
        _friendliness(
            "4.3.2",
            "4.11",
            "Reno",
            (
                Case("mix_3new_3reno", "3 New-ECN, 3 Reno"),
                Case("mix_6reno", "6 Reno"),
                Case("mix_3new_3reno_sink8", "3 New-ECN with one echo per CE, 3 Reno"),
            ),
            0.568,
        ),
        _friendliness(
            "4.3.3",
            "4.12",
            "ECN Reno",
            (
                Case("mix_3new_3ecn", "3 New-ECN, 3 ECN Reno"),
                Case("mix_6ecn", "6 ECN Reno"),
                Case("mix_3new_3ecn_sink8", "3 New-ECN with one echo per CE, 3 ECN Reno"),
            ),
            0.542,
        ),
    ]


def _single_flows() -> Experiment:
    cases = (
        Case("single_5M_reno", "Reno"),
        Case("single_5M_ecn", "ECN Reno", window_spread=True),
        Case("single_5M_newecn", "New-ECN", window_spread=True),
        Case("single_5M_newecn_sink8", "New-ECN, one echo per CE"),
    )
    names = [case.name for case in cases]
    newest = names[2]
    return Experiment(
        id="4.3.1",
        chapter=_CHAPTER,
        section="4.3.1, Figure 4.10, equations 4.4 and 4.5",
        title="One flow alone",
        shows="A single flow of New-ECN gets a little more out of a 5 Mbit/s link than one of "
        "ECN Reno, and both more than plain Reno: a little more, too, than the bound that Floyd "
        "and Fall call TCP-friendly, 1.5 sqrt(2/3) B / (R sqrt(p)), with p from drops alone. The "
        "paper itself doubts that the bound is meant for a sender that is marked instead.",
        quick=False,
        seconds=8,
        first_result=criteria.BEGINNING,
        cases=cases,
        checks=[
            *(
                Near(name, WHOLE_TOTAL, Tolerance(relative=0.03), criterion=criteria.SINGLE)
                for name in names
            ),
            *(
                Near(name, STEADY_RATE, RATE_TOLERANCE, Flows.EACH, criterion=criteria.RATES)
                for name in names
            ),
            Ascending(
                names[:3],
                WHOLE_TOTAL,
                "1077, 1157 and 1208 packets/s",
                criterion=criteria.ORDER_OF_SINGLES,
            ),
            Ascending(
                [newest, names[1]],
                CWND_SPREAD,
                "a smaller variance of the window",
                criterion=criteria.SMALLER_VARIANCE,
            ),
            Near(newest, BOTTLENECK, Tolerance(relative=0.02), criterion=criteria.SINGLE),
            Near(newest, DROPS, TENTH, criterion=criteria.SINGLE),
            Near(newest, FRIENDLY, Tolerance(relative=0.05), criterion=criteria.SINGLE),
            *(Shown(name, FRIENDLY) for name in (names[0], names[1], names[3])),
        ],
        plots=[
            ack_plot(
                "single_5M",
                "4.10",
                names[:3],
                "mean rates of 1077, 1157 and 1208 packets/s",
                keys=[WHOLE_TOTAL.key],
            ),
            BarPlot("single-rates", "Rate of a single flow, whole run", names, WHOLE_TOTAL),
            BarPlot("single-bound", "The bound of equation 4.4", names, FRIENDLY),
        ],
    )


def _friendliness(
    id_: str, figure: str, other: str, cases: tuple[Case, Case, Case], share: float
) -> Experiment:
    mixed, alone, by_text = (case.name for case in cases)
    return Experiment(
        id=id_,
        chapter=_CHAPTER,
        section=f"{id_}, Figure {figure}",
        title=f"New-ECN beside {other}",
        shows=f"Three flows of New-ECN and three of {other} share 10 Mbit/s, against six of "
        f"{other}. The scripts had the receivers of New-ECN echo until CWR; the text wants one "
        "echo per CE, which is shown too.",
        quick=False,
        seconds=14,
        first_result=criteria.BEGINNING,
        cases=cases,
        checks=[
            Near(
                mixed,
                SHARE,
                Tolerance(absolute=0.03),
                target=share,
                headline=True,
                criterion=criteria.SHARE,
            ),
            *(
                Near(name, STEADY_SHARE, Tolerance(absolute=0.03), criterion=criteria.SHARE)
                for name in (mixed, by_text)
            ),
            *(check for case in cases for check in rates_and_fairness(case.name)),
        ],
        plots=[
            ack_plot(
                f"mix-{id_}",
                figure,
                [mixed, alone],
                "the New-ECN flows get roughly half of the link and share it almost equally; the "
                "others keep their bias",
                keys=[SHARE.key],
            ),
            rate_bars(f"mix-{id_}", [mixed, alone, by_text]),
        ],
    )
