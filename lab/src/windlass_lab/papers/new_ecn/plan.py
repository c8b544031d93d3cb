"""Quantities, tolerances and patterns that the experiments on New-ECN share."""

import math
from collections.abc import Sequence

from windlass_lab.core.experiments.model import (
    BarPlot,
    Case,
    Check,
    Flows,
    Near,
    Quantity,
    SeriesPlot,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.new_ecn import criteria

FAIRNESS = Quantity("fairness_index.whole_run", "Fairness index, whole run")
STEADY_FAIRNESS = Quantity("fairness_index.steady", "Fairness index, from 10 s")
RATE = Quantity("packets_per_s.whole_run", "Rate, whole run", "packets/s")
STEADY_RATE = Quantity("packets_per_s.steady", "Rate, from 10 s", "packets/s")
STEADY_TOTAL = Quantity("total_packets_per_s.steady", "Total rate, from 10 s", "packets/s")
WHOLE_TOTAL = Quantity("total_packets_per_s.whole_run", "Rate, whole run", "packets/s")
SHARE = Quantity("new_ecn_share.whole_run", "Share of New-ECN, whole run")
STEADY_SHARE = Quantity("new_ecn_share.steady", "Share of New-ECN, from 10 s")
CWND = Quantity("cwnd_packets.trace_mean", "cwnd, mean of trace entries", "packets")
CWND_IN_TIME = Quantity("cwnd_packets.time_mean", "cwnd, mean over time", "packets")
SRTT = Quantity("srtt_ms.trace_mean", "sRTT, mean of trace entries", "ms")
SRTT_IN_TIME = Quantity("srtt_ms.time_mean", "sRTT, mean over time", "ms")
SLOPE = Quantity("slope.trace_mean", "Window slope, mean of trace entries")
SLOPE_IN_TIME = Quantity("slope.time_mean", "Window slope, mean over time")
MARKS = Quantity("marks", "Marks", "packets")
DROPS = Quantity("drops", "Drops", "packets")
TIMEOUTS = Quantity("timeouts_per_flow", "Timeouts of a flow", "timeouts")
WITHOUT_ECN = Quantity("flows_without_ecn", "Flows that did not agree on ECN", "flows")
UNMARKED = Quantity("flows_without_marks", "Flows that were never marked", "flows")
QUEUE = Quantity("mean_queue_packets.steady", "Mean queue, from 10 s", "packets")
RED_AVERAGE = Quantity("red_average_packets.steady", "RED's average, from 10 s", "packets")
CWND_SPREAD = Quantity(
    "cwnd_sd_steady", "Standard deviation of cwnd over time, from 10 s", "packets"
)
BOTTLENECK = Quantity("bottleneck_packets", "Packets through the bottleneck", "packets")
FRIENDLY = Quantity("friendly_packets_per_s", "Bound of equation 4.4", "packets/s")
MODEL_FAIRNESS = Quantity("fairness_index", "Fairness index")
MODEL_CWND = Quantity("cwnd_packets", "Mean window", "packets")

# The rule of the word (`core.verdicts.phrases`).
FAIR, NOT_FAIR = Bounds(low=0.95), Bounds(high=math.nextafter(0.95, 0))
# Replicates of cases by which no bound or order is judged.
FIGURES_ONLY = 10
TENTH = Tolerance(relative=0.10)
RATE_TOLERANCE = Tolerance(relative=0.10, standard_errors=3)
FAIRNESS_TOLERANCE = Tolerance(absolute=0.03)

S1_NEW = Case("s1_10M_p0.1_newecn", "New-ECN")
S1_ECN = Case("s1_10M_p0.1_ecn", "ECN Reno")


def rates_and_fairness(case: str, fairness: Tolerance = FAIRNESS_TOLERANCE) -> list[Check]:
    """The checks that every case of section 4 has to pass."""
    return [
        Near(case, STEADY_FAIRNESS, fairness, criterion=criteria.FAIRNESS),
        Near(case, STEADY_TOTAL, RATE_TOLERANCE, criterion=criteria.RATES),
        Near(case, STEADY_RATE, RATE_TOLERANCE, Flows.EACH, criterion=criteria.RATES),
    ]


def new_against_ecn(
    stem: str, fairness: Tolerance
) -> tuple[tuple[Case, Case], list[Check], list[BarPlot]]:
    """New-ECN and ECN Reno on one setup: cases, checks, bars of fairness and of rates."""
    cases = (Case(f"{stem}_newecn", "New-ECN"), Case(f"{stem}_ecn", "ECN Reno"))
    names = [case.name for case in cases]
    checks = [check for name in names for check in rates_and_fairness(name, fairness)]
    bars = [
        BarPlot(f"{stem}-fairness", "Fairness index from 10 s on", names, STEADY_FAIRNESS),
        rate_bars(stem, names),
    ]
    return cases, checks, bars


def rate_bars(stem: str, names: Sequence[str]) -> BarPlot:
    """The rate of each flow beside the reference's."""
    title = "Rate of each flow from 10 s on"
    return BarPlot(f"{stem}-rates", title, names, STEADY_RATE, Flows.EACH)


def ack_plot(
    stem: str,
    figure: str,
    names: Sequence[str],
    says: str,
    keys: Sequence[str] = (STEADY_FAIRNESS.key,),
    zoom_s: float | None = None,
) -> SeriesPlot:
    """The acknowledged packets over time, by which the paper shows who gets what."""
    return SeriesPlot(
        id=f"{stem}-acks",
        figure=figure,
        title="Acknowledged packets over time: equal slopes are equal rates",
        cases=names,
        column="acked_packets",
        axis="packets acknowledged",
        with_reference=True,
        zoom_s=zoom_s,
        says=says,
        keys=keys,
    )
