"""New-ECN over ToU, held against the simulator's TCP of the same profile."""

from windlass_lab.core.experiments.model import (
    TOU,
    AtLeast,
    BarPlot,
    Case,
    Experiment,
    Flows,
    KernelCase,
    Near,
    Paper,
    SeriesPlot,
    Shown,
)
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.plan import (
    CWND_IN_TIME,
    FAIRNESS,
    MARKS,
    QUEUE,
    SRTT_IN_TIME,
    STEADY_FAIRNESS,
    STEADY_RATE,
    STEADY_TOTAL,
    WITHOUT_ECN,
)

_CHAPTER = "New-ECN over ToU"
_SCENARIO = "four_rtts_newecn"
_SHORT_S = 15
# Options that ToU has on here, and the profile linux of the simulator has not.
_AS_TOU = {"defaults.pacing": True, "defaults.undo": True, "defaults.frto": True}


def experiments() -> list[Experiment]:
    """The experiments, which need root."""
    return [_short(), _whole()]


def _simulated(time_s: int | None = None) -> Case:
    if time_s is None:
        return Case(f"{_SCENARIO}@simulator", "New-ECN, simulator", _SCENARIO)
    lasting = {"duration": f"{time_s}s"}
    return Case(f"{_SCENARIO}@simulator-{time_s}s", "New-ECN, simulator", _SCENARIO, lasting)


def _real(beside: Case, time_s: int | None = None) -> KernelCase:
    short = f"-{time_s}s" if time_s else ""
    return KernelCase(
        f"{_SCENARIO}@tou{short}",
        "New-ECN, ToU",
        f"tou_{_SCENARIO}",
        beside.name,
        float(time_s) if time_s else None,
        1 if time_s else None,
        TOU,
    )


def _short() -> Experiment:
    simulated = _simulated(_SHORT_S)
    real = _real(simulated, _SHORT_S)
    return Experiment(
        id="short",
        chapter=_CHAPTER,
        section="In short",
        title="Four New-ECN flows over ToU",
        shows=f"One run of {_SHORT_S} s of the experiment new-ecn.",
        quick=True,
        seconds=_SHORT_S + 10,
        first_result=criteria.FIRST_OVER_TOU,
        cases=[simulated],
        kernels=[real],
        checks=[
            AtLeast(
                real.name,
                STEADY_FAIRNESS,
                0.80,
                headline=True,
                criterion=criteria.OVER_TOU_SHORT,
            ),
            Shown(real.name, STEADY_RATE, Flows.EACH),
            Shown(real.name, WITHOUT_ECN),
        ],
        plots=[_windows("tou-new-ecn-short-cwnd", real, simulated)],
        kind="testbed",
        needs_root=True,
        short=True,
    )


def _whole() -> Experiment:
    simulated = _simulated()
    real = _real(simulated)
    same = Case(f"{_SCENARIO}@simulator-as-tou", "New-ECN, simulator as ToU", _SCENARIO, _AS_TOU)
    return Experiment(
        id="four-rtts",
        chapter=_CHAPTER,
        section="New-ECN's section 4.2.1 over ToU",
        title="ToU against the simulator, on the same path",
        shows="Four New-ECN flows with RTTs of 190, 70, 30 and 4 ms share 10 Mbit/s over ToU, a "
        "minute five times, several at once; every figure is the median. The simulator has the "
        "profile linux on the same path. Receivers echo each CE once.",
        quick=False,
        seconds=220,
        first_result=criteria.FIRST_OVER_TOU,
        cases=[simulated, same],
        kernels=[real],
        checks=[
            Near(
                real.name,
                STEADY_FAIRNESS,
                Tolerance(absolute=0.03),
                headline=True,
                criterion=criteria.OVER_TOU,
            ),
            AtLeast(real.name, STEADY_FAIRNESS, 0.90, criterion=criteria.OVER_TOU),
            Near(
                real.name,
                STEADY_RATE,
                Tolerance(relative=0.15),
                Flows.EACH,
                criterion=criteria.OVER_TOU_RATES,
            ),
            Shown(same.name, STEADY_FAIRNESS),
            Shown(same.name, STEADY_RATE, Flows.EACH),
            *(Shown(real.name, q) for q in (FAIRNESS, STEADY_TOTAL, QUEUE, MARKS, WITHOUT_ECN)),
            *(Shown(real.name, q, Flows.EACH) for q in (CWND_IN_TIME, SRTT_IN_TIME)),
        ],
        plots=[
            _windows("tou-new-ecn-cwnd", real, simulated),
            BarPlot(
                "tou-new-ecn-rates",
                "Rate of each flow from 10 s on",
                [real.name],
                STEADY_RATE,
                Flows.EACH,
            ),
        ],
        kind="testbed",
        needs_root=True,
    )


def _windows(id_: str, real: KernelCase, simulated: Case) -> SeriesPlot:
    return SeriesPlot(
        id=id_,
        figure="",
        title="The windows, ToU and simulator side by side",
        cases=[real.name, simulated.name],
        column="cwnd_packets",
        axis="cwnd (packets)",
    )


NEW_ECN_TOU = Paper(
    id="new-ecn-tou",
    citation="T. Hamann's New-ECN over the ToU of C.-H. Lee and others",
    title="New-ECN over ToU",
    question="Does New-ECN in UDP datagrams share a bottleneck as it does elsewhere?",
    experiments=experiments(),
    against="the simulator",
)
