"""Experiments of T. Hamann, A New Fair Window Algorithm for ECN Capable TCP (New-ECN), 1999."""

from windlass_lab.catalogue import (
    Ascending,
    AtLeast,
    BarPlot,
    Case,
    Check,
    Experiment,
    Flows,
    Near,
    Paper,
    Quantity,
    SeriesPlot,
    Shown,
    SimpleModel,
)
from windlass_lab.verdict import Tolerance

FAIRNESS = Quantity("fairness_index.whole_run", "Fairness index, whole run")
STEADY_FAIRNESS = Quantity("fairness_index.steady", "Fairness index, from 10 s")
STEADY_RATE = Quantity("packets_per_s.steady", "Rate, from 10 s", "packets/s")
STEADY_TOTAL = Quantity("total_packets_per_s.steady", "Total rate, from 10 s", "packets/s")
WHOLE_TOTAL = Quantity("total_packets_per_s.whole_run", "Rate, whole run", "packets/s")
CWND = Quantity("cwnd_packets.trace_mean", "cwnd, mean of trace entries", "packets")
CWND_IN_TIME = Quantity("cwnd_packets.time_mean", "cwnd, mean over time", "packets")
SRTT = Quantity("srtt_ms.trace_mean", "sRTT, mean of trace entries", "ms")
SRTT_IN_TIME = Quantity("srtt_ms.time_mean", "sRTT, mean over time", "ms")
SLOPE = Quantity("slope.trace_mean", "Window slope, mean of trace entries")
SLOPE_IN_TIME = Quantity("slope.time_mean", "Window slope, mean over time")
MARKS = Quantity("marks", "Marks", "packets")
DROPS = Quantity("drops", "Drops", "packets")
BOTTLENECK = Quantity("bottleneck_packets", "Packets through the bottleneck", "packets")
MODEL_FAIRNESS = Quantity("fairness_index", "Fairness index")
MODEL_CWND = Quantity("cwnd_packets", "Mean window", "packets")

RATE_TOLERANCE = Tolerance(relative=0.10, standard_errors=3)
FAIRNESS_TOLERANCE = Tolerance(absolute=0.03)

S1_NEW = Case("s1_10M_p0.1_newecn", "New-ECN")
S1_ECN = Case("s1_10M_p0.1_ecn", "ECN Reno")


def _rates_and_fairness(case: str, fairness: Tolerance) -> list[Check]:
    return [
        Near(case, STEADY_FAIRNESS, fairness),
        Near(case, STEADY_TOTAL, RATE_TOLERANCE),
        Near(case, STEADY_RATE, RATE_TOLERANCE, Flows.EACH),
    ]


def _new_against_ecn(
    stem: str, fairness: Tolerance
) -> tuple[tuple[Case, Case], list[Check], list[BarPlot]]:
    cases = (Case(f"{stem}_newecn", "New-ECN"), Case(f"{stem}_ecn", "ECN Reno"))
    names = [case.name for case in cases]
    checks = [check for name in names for check in _rates_and_fairness(name, fairness)]
    bars = [
        BarPlot(f"{stem}-fairness", "Fairness index from 10 s on", names, STEADY_FAIRNESS),
        BarPlot(f"{stem}-rates", "Rate of each flow from 10 s on", names, STEADY_RATE, Flows.EACH),
    ]
    return cases, checks, bars


def _ack_plot(stem: str, figure: str, names: list[str], zoom_s: float | None = None) -> SeriesPlot:
    return SeriesPlot(
        id=f"{stem}-acks",
        figure=figure,
        title="Acknowledged packets over time: equal slopes are equal rates",
        cases=names,
        column="acked_packets",
        axis="packets acknowledged",
        with_reference=True,
        zoom_s=zoom_s,
    )


def _section_4_2_2() -> Experiment:
    names = [S1_NEW.name, S1_ECN.name]
    cases, checks, bars = _new_against_ecn("s1_10M_p0.1", FAIRNESS_TOLERANCE)
    whole_run = [
        Near(S1_NEW.name, FAIRNESS, Tolerance(absolute=0.02), target=0.985, headline=True),
        Near(S1_ECN.name, FAIRNESS, Tolerance(absolute=0.04), target=0.482, headline=True),
    ]
    fairness = BarPlot("s1_10M_p0.1-fairness", "Fairness index, whole run", names, FAIRNESS)
    return Experiment(
        id="4.2.2",
        section="4.2.2, Figure 4.8",
        title="Four New-ECN flows against four ECN Reno flows",
        shows="Flows with round-trip times of 190, 70, 30 and 4 ms share 10 Mbit/s: almost "
        "equally with New-ECN, by their round-trip times with ECN Reno.",
        quick=True,
        seconds=12,
        cases=cases,
        checks=[*whole_run, *checks],
        plots=[_ack_plot("s1_10M_p0.1", "4.8", names, zoom_s=10), fairness, bars[1]],
    )


def _setup_1() -> Experiment:
    case = S1_NEW.name
    tenth = Tolerance(relative=0.10)
    return Experiment(
        id="4.2.1-setup1",
        section="4.2.1, Table 4.4, Figures 4.2 to 4.4",
        title="How New-ECN gets there: windows and slopes",
        shows="The window slope of each flow settles where the flow's window grows with its "
        "round-trip time, so that the rates meet.",
        quick=True,
        seconds=6,
        cases=(S1_NEW,),
        checks=[
            Near(case, CWND, tenth, Flows.EACH),
            Near(case, SRTT, tenth, Flows.EACH),
            Near(case, SLOPE, tenth, Flows.EACH),
            Near(case, MARKS, Tolerance(relative=0.20), Flows.EACH),
            Shown(case, CWND_IN_TIME, Flows.EACH),
            Shown(case, SRTT_IN_TIME, Flows.EACH),
            Shown(case, SLOPE_IN_TIME, Flows.EACH),
        ],
        plots=[
            SeriesPlot("cwnd", "4.3", "Congestion window", [case], "cwnd_packets", "packets"),
            SeriesPlot("slope", "4.4", "Window slope S", [case], "slope", "slope S"),
        ],
    )


def _setup_2(p_max: str, shows: str, tolerance: Tolerance, figure: str) -> Experiment:
    stem = f"s2_2M_p{p_max}"
    cases, checks, bars = _new_against_ecn(stem, tolerance)
    acks = _ack_plot(stem, figure, [cases[0].name])
    return Experiment(
        id=f"4.2.1-setup2-p{p_max}",
        section=f"4.2.1, setup 2, Figure {figure}",
        title=f"A slower bottleneck, p_max {p_max}",
        shows=shows,
        quick=False,
        seconds=5,
        cases=cases,
        checks=checks,
        plots=[acks, *bars],
    )


def _many_flows() -> Experiment:
    cases, checks, bars = _new_against_ecn("many16", FAIRNESS_TOLERANCE)
    return Experiment(
        id="4.2.3",
        section="4.2.3, Figure 4.9",
        title="Sixteen flows",
        shows="Sixteen New-ECN flows with round-trip times of 10 to 90 ms get similar rates.",
        quick=False,
        seconds=12,
        cases=cases,
        checks=checks,
        plots=[_ack_plot("many16", "4.9", [cases[0].name]), *bars],
    )


def _single_flows() -> Experiment:
    cases = (
        Case("single_5M_reno", "Reno"),
        Case("single_5M_ecn", "ECN Reno"),
        Case("single_5M_newecn", "New-ECN"),
    )
    names = [case.name for case in cases]
    newest = names[-1]
    return Experiment(
        id="4.3.1",
        section="4.3.1, Figure 4.10",
        title="One flow alone",
        shows="A single flow of New-ECN gets a little more out of a 5 Mbit/s link than one of "
        "ECN Reno, and both more than plain Reno.",
        quick=False,
        seconds=6,
        cases=cases,
        checks=[
            *(Near(name, WHOLE_TOTAL, Tolerance(relative=0.03)) for name in names),
            Ascending(names, WHOLE_TOTAL),
            Shown(newest, BOTTLENECK),
            Shown(newest, DROPS),
        ],
        plots=[
            _ack_plot("single_5M", "4.10", names),
            BarPlot("single-rates", "Rate of a single flow, whole run", names, WHOLE_TOTAL),
        ],
    )


def _simple_model() -> Experiment:
    name = "simple_model_printed"
    return Experiment(
        id="3.2",
        section="3.2, Appendix A",
        title="The simple model",
        shows="Two connections with round-trip times of 40 and 20 ms in the paper's own "
        "step-by-step model share 5 Mbit/s fairly.",
        quick=True,
        seconds=1,
        models=(
            SimpleModel(
                name,
                "as printed, 3,000 steps",
                variant="printed",
                steps=3000,
                seeds=20,
                published={
                    "fairness_index": 0.99,
                    "flows": [
                        {"rtt_min_ms": 40, "cwnd_packets": 18.1},
                        {"rtt_min_ms": 20, "cwnd_packets": 10.4},
                    ],
                },
            ),
        ),
        checks=[
            AtLeast(name, MODEL_FAIRNESS, 0.98),
            Near(name, MODEL_CWND, Tolerance(relative=0.10), Flows.EACH),
        ],
    )


NEW_ECN = Paper(
    id="new-ecn",
    citation="T. Hamann, A New Fair Window Algorithm for ECN Capable TCP (New-ECN), "
    "UCB/ERL M99/35, 1999",
    title="New-ECN: sharing a bottleneck fairly",
    question="TCP gives short round trips more of a shared link. Does a window that grows with "
    "the square of the round-trip time, guided by ECN marks, share it equally?",
    experiments=(
        _section_4_2_2(),
        _setup_1(),
        _simple_model(),
        _setup_2(
            "0.1",
            "With the marking of setup 1 on a 2 Mbit/s link New-ECN is no longer fair.",
            Tolerance(absolute=0.08),
            "4.6",
        ),
        _setup_2("0.2", "With more marking it is fair again.", FAIRNESS_TOLERANCE, "4.7"),
        _many_flows(),
        _single_flows(),
    ),
)
