"""Experiments of T. Hamann, A New Fair Window Algorithm for ECN Capable TCP (New-ECN), 1999."""

import math

from windlass_lab.core.model import (
    Ascending,
    AtLeast,
    BarPlot,
    Case,
    Check,
    Experiment,
    Flows,
    Near,
    PairFigure,
    Pairs,
    Paper,
    Plot,
    PowerTable,
    Quantity,
    SeriesPlot,
    Shown,
    SimpleModel,
    TracePlot,
)
from windlass_lab.core.verdict import Tolerance
from windlass_lab.papers.new_ecn.beyond import MODERN, beyond_the_paper
from windlass_lab.papers.new_ecn.friendliness import what_others_lose
from windlass_lab.papers.new_ecn.gateways import several_gateways
from windlass_lab.papers.new_ecn.on_kernel import on_a_kernel
from windlass_lab.papers.new_ecn.parameters import better_parameters
from windlass_lab.papers.new_ecn.plan import (
    BOTTLENECK,
    CWND,
    CWND_IN_TIME,
    DROPS,
    FAIRNESS,
    FAIRNESS_TOLERANCE,
    FRIENDLY,
    MARKS,
    MODEL_CWND,
    MODEL_FAIRNESS,
    RATE_TOLERANCE,
    S1_ECN,
    S1_NEW,
    SHARE,
    SLOPE,
    SLOPE_IN_TIME,
    SRTT,
    SRTT_IN_TIME,
    STEADY_RATE,
    STEADY_SHARE,
    TENTH,
    WHOLE_TOTAL,
    ack_plot,
    new_against_ecn,
    rate_bars,
    rates_and_fairness,
)
from windlass_lab.papers.new_ecn.published import CWND_RATIOS, POWERS, SLOPE_RATIOS, SRTT_RATIOS
from windlass_lab.papers.new_ecn.queue_papers import two_queues
from windlass_lab.papers.new_ecn.queues import other_queues
from windlass_lab.papers.new_ecn.robustness import what_it_survives
from windlass_lab.papers.new_ecn.stationary import the_cycle_model

_MODEL = "3.2 The simple model"
_FAIRNESS = "4.2 Fairness"
_FRIENDLINESS = "4.3 Friendliness"


def _simple_model() -> Experiment:
    printed = "simple_model_printed"
    flows = [{"rtt_min_ms": 40, "cwnd_packets": 18.1}, {"rtt_min_ms": 20, "cwnd_packets": 10.4}]
    published = {"fairness_index": 0.99, "flows": flows}
    variants = (
        (printed, "as printed, 3,000 steps", "printed", 3000),
        (f"{printed}_500", "as printed, 500 steps", "printed", 500),
        ("simple_model_accumulate", "packets pile up, 3,000 steps", "accumulate", 3000),
        ("simple_model_accumulate_500", "packets pile up, 500 steps", "accumulate", 500),
    )
    models = [
        SimpleModel(name, label, variant, steps, 20, published if name == printed else {})
        for name, label, variant, steps in variants
    ]
    others = [model.name for model in models[1:]]
    return Experiment(
        id="3.2",
        chapter=_MODEL,
        section="3.2, Appendix A, Figures 3.2 to 3.4",
        title="The simple model",
        shows="Two connections with round-trip times of 40 and 20 ms in the paper's own "
        "step-by-step model share 5 Mbit/s fairly. The listing as printed lets every packet of a "
        "step find the queue as the step before left it; with packets that pile up within a step, "
        "as the text suggests, windows are smaller.",
        quick=True,
        seconds=1,
        models=models,
        checks=[
            AtLeast(printed, MODEL_FAIRNESS, 0.98),
            Near(printed, MODEL_CWND, TENTH, Flows.EACH),
            *(Near(name, MODEL_FAIRNESS, Tolerance(absolute=0.02)) for name in others),
            *(Near(name, MODEL_CWND, TENTH, Flows.EACH) for name in others),
        ],
        plots=[
            SeriesPlot(
                "model-rates",
                "3.2",
                "Rates",
                [printed],
                "rate_packets_per_s",
                "packets/s",
                zoom_s=10,
                says="the two rates are almost the same, and synchronised; fairness index 0.99",
                keys=[MODEL_FAIRNESS.key],
            ),
            SeriesPlot(
                "model-windows",
                "3.3",
                "Windows",
                [printed],
                "cwnd_packets",
                "packets",
                zoom_s=10,
                says="mean windows of 18.1 and 10.4 packets, nearly in proportion to the RTT",
                keys=[MODEL_CWND.key],
            ),
            TracePlot(
                "model-trace",
                "3.4",
                "Rate trace",
                [printed],
                "rate_packets_per_s",
                "packets/s",
                says="the rates settle close to the line of fairness",
                keys=[MODEL_FAIRNESS.key],
            ),
        ],
    )


def _setup_1() -> Experiment:
    case = S1_NEW.name
    return Experiment(
        id="4.2.1-setup1",
        chapter=_FAIRNESS,
        section="4.2.1, setup 1, Tables 4.4 to 4.6, Figures 4.2 to 4.5",
        title="How New-ECN gets there: windows and slopes",
        shows="The window slope of each flow settles where the flow's window grows with its "
        "round-trip time, so that the rates meet. TCP 1 has the longest round trip, 190 ms.",
        quick=True,
        seconds=6,
        cases=(S1_NEW,),
        checks=_setup_1_checks(case),
        tables=[
            PowerTable(
                "Table 4.6: sRTT ratio to a power, less the slope ratio (published, measured)",
                case,
                SLOPE.key,
                SRTT.key,
                POWERS,
            )
        ],
        plots=_setup_1_plots(case),
    )


def _setup_1_checks(case: str) -> list[Check]:
    srtt = Quantity(SRTT.key, "Ratio of mean sRTT")
    cwnd = Quantity(CWND.key, "Ratio of mean cwnd")
    slope = Quantity(SLOPE.key, "Ratio of mean window slope")
    power = Quantity(SLOPE.key, "Power of the sRTT ratio that gives the slope ratio")
    trace, ratios = Tolerance(relative=0.10), Tolerance(relative=0.15)
    powers = {pair: _power_of(SLOPE_RATIOS[pair], SRTT_RATIOS[pair]) for pair in SLOPE_RATIOS}
    return [
        Near(case, CWND, trace, Flows.EACH),
        Near(case, SRTT, trace, Flows.EACH),
        Near(case, SLOPE, trace, Flows.EACH),
        Near(case, MARKS, Tolerance(relative=0.20), Flows.EACH),
        Pairs(case, PairFigure.RATIO, srtt, SRTT_RATIOS, ratios),
        Pairs(case, PairFigure.RATIO, cwnd, CWND_RATIOS, ratios),
        Pairs(case, PairFigure.RATIO, slope, SLOPE_RATIOS, ratios),
        Pairs(case, PairFigure.EXPONENT, power, powers, Tolerance(absolute=0.1)),
        _setup_1_fairness(),
        Shown(case, CWND_IN_TIME, Flows.EACH),
        Shown(case, SRTT_IN_TIME, Flows.EACH),
        Shown(case, SLOPE_IN_TIME, Flows.EACH),
    ]


def _setup_1_plots(case: str) -> list[Plot]:
    return [
        ack_plot(
            "setup1",
            "4.2",
            [case],
            "after a few seconds flows 1 to 3 have similar rates, flow 4 a slightly higher "
            "one; fairness index 0.99",
            keys=[FAIRNESS.key],
        ),
        SeriesPlot(
            "cwnd",
            "4.3",
            "Congestion window",
            [case],
            "cwnd_packets",
            "packets",
            says="after the peak of slow start each window stays close to its mean",
            keys=[CWND.key],
        ),
        SeriesPlot(
            "slope",
            "4.4",
            "Window slope S",
            [case],
            "slope",
            "slope S",
            says="each slope converges to a nearly constant value",
            keys=[SLOPE.key],
        ),
        BarPlot(
            "mean-cwnd",
            "Mean congestion window",
            [case],
            CWND,
            Flows.EACH,
            "4.5, upper part",
            "mean windows are roughly linear in the round-trip time",
        ),
        BarPlot(
            "mean-slope",
            "Mean window slope",
            [case],
            SLOPE,
            Flows.EACH,
            "4.5, lower part",
            "mean slopes go as a power of the round-trip time between 1 and 2, roughly 3/2",
            keys=[f"exponent.{SLOPE.key}"],
        ),
    ]


def _setup_1_fairness(*, headline: bool = False) -> Near:
    """Figures 4.2 and 4.8 both rest on this one."""
    tolerance = Tolerance(absolute=0.02)
    return Near(S1_NEW.name, FAIRNESS, tolerance, target=0.985, headline=headline)


def _power_of(ratio: float, base: float) -> float:
    return round(math.log(ratio) / math.log(base), 3)


def _setup_2(p_max: str, shows: str, tolerance: Tolerance, figure: str, says: str) -> Experiment:
    stem = f"s2_2M_p{p_max}"
    cases, checks, bars = new_against_ecn(stem, tolerance)
    acks = ack_plot(stem, figure, [cases[0].name], says)
    return Experiment(
        id=f"4.2.1-setup2-p{p_max}",
        chapter=_FAIRNESS,
        section=f"4.2.1, setup 2, Figure {figure}",
        title=f"A slower bottleneck, p_max {p_max}",
        shows=shows,
        quick=False,
        seconds=5,
        cases=cases,
        checks=checks,
        plots=[acks, *bars],
    )


def _section_4_2_2() -> Experiment:
    names = [S1_NEW.name, S1_ECN.name]
    cases, checks, bars = new_against_ecn("s1_10M_p0.1", FAIRNESS_TOLERANCE)
    whole_run = [
        _setup_1_fairness(headline=True),
        Near(S1_ECN.name, FAIRNESS, Tolerance(absolute=0.04), target=0.482, headline=True),
    ]
    fairness = BarPlot("s1_10M_p0.1-fairness", "Fairness index, whole run", names, FAIRNESS)
    says = (
        "after roughly ten seconds all New-ECN flows have similar rates, while those of ECN Reno "
        "keep their bias; fairness index 0.99 against 0.48"
    )
    return Experiment(
        id="4.2.2",
        chapter=_FAIRNESS,
        section="4.2.2, Figure 4.8",
        title="Four New-ECN flows against four ECN Reno flows",
        shows="Flows with round-trip times of 190, 70, 30 and 4 ms share 10 Mbit/s: almost "
        "equally with New-ECN, by their round-trip times with ECN Reno.",
        quick=True,
        seconds=12,
        cases=cases,
        checks=[*whole_run, *checks],
        plots=[
            ack_plot("s1_10M_p0.1", "4.8", names, says, [FAIRNESS.key], zoom_s=10),
            fairness,
            bars[1],
        ],
    )


def _many_flows() -> Experiment:
    cases, checks, bars = new_against_ecn("many16", FAIRNESS_TOLERANCE)
    return Experiment(
        id="4.2.3",
        chapter=_FAIRNESS,
        section="4.2.3, Figure 4.9",
        title="Sixteen flows",
        shows="Sixteen New-ECN flows with round-trip times of 10 to 90 ms get similar rates.",
        quick=False,
        seconds=12,
        cases=cases,
        checks=checks,
        plots=[
            ack_plot("many16", "4.9", [cases[0].name], "all flows have similar rates"),
            *bars,
        ],
    )


def _plain_reno() -> Experiment:
    cases = [
        Case("s1_10M_p0.1_reno", "Setup 1"),
        Case("s2_2M_p0.1_reno", "Setup 2, p_max 0.1"),
        Case("s2_2M_p0.2_reno", "Setup 2, p_max 0.2"),
        Case("many16_reno", "Sixteen flows"),
    ]
    names = [case.name for case in cases]
    wide = {"s2_2M_p0.1_reno": Tolerance(absolute=0.08)}
    return Experiment(
        id="4.2-reno",
        chapter=_FAIRNESS,
        section="4.2, the same setups with plain Reno",
        title="Without ECN",
        shows="The paper has no figures for Reno without ECN on these setups; the reference has. "
        "Dropping instead of marking is no fairer.",
        quick=False,
        seconds=14,
        cases=cases,
        checks=[
            check
            for name in names
            for check in rates_and_fairness(name, wide.get(name, FAIRNESS_TOLERANCE))
        ],
        plots=[rate_bars("reno", names)],
    )


def _single_flows() -> Experiment:
    cases = (
        Case("single_5M_reno", "Reno"),
        Case("single_5M_ecn", "ECN Reno"),
        Case("single_5M_newecn", "New-ECN"),
        Case("single_5M_newecn_sink8", "New-ECN, one echo per CE"),
    )
    names = [case.name for case in cases]
    newest = names[2]
    return Experiment(
        id="4.3.1",
        chapter=_FRIENDLINESS,
        section="4.3.1, Figure 4.10, equations 4.4 and 4.5",
        title="One flow alone",
        shows="A single flow of New-ECN gets a little more out of a 5 Mbit/s link than one of "
        "ECN Reno, and both more than plain Reno: a little more, too, than the bound that Floyd "
        "and Fall call TCP-friendly, 1.5 sqrt(2/3) B / (R sqrt(p)), with p from drops alone. The "
        "paper itself doubts that the bound is meant for a sender that is marked instead.",
        quick=False,
        seconds=8,
        cases=cases,
        checks=[
            *(Near(name, WHOLE_TOTAL, Tolerance(relative=0.03)) for name in names),
            *(Near(name, STEADY_RATE, RATE_TOLERANCE, Flows.EACH) for name in names),
            Ascending(names[:3], WHOLE_TOTAL),
            Near(newest, BOTTLENECK, Tolerance(relative=0.02)),
            Near(newest, DROPS, TENTH),
            Near(newest, FRIENDLY, Tolerance(relative=0.05)),
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
        chapter=_FRIENDLINESS,
        section=f"{id_}, Figure {figure}",
        title=f"New-ECN beside {other}",
        shows=f"Three flows of New-ECN and three of {other} share 10 Mbit/s, against six of "
        f"{other}. The scripts had the receivers of New-ECN echo until CWR; the text wants one "
        "echo per CE, which is shown too.",
        quick=False,
        seconds=14,
        cases=cases,
        checks=[
            Near(mixed, SHARE, Tolerance(absolute=0.03), target=share, headline=True),
            *(Near(name, STEADY_SHARE, Tolerance(absolute=0.03)) for name in (mixed, by_text)),
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


NEW_ECN = Paper(
    id="new-ecn",
    citation="T. Hamann, A New Fair Window Algorithm for ECN Capable TCP (New-ECN), "
    "UCB/ERL M99/35, 1999",
    title="New-ECN: sharing a bottleneck fairly",
    question="TCP gives short round trips more of a shared link. Does a window that grows with "
    "the square of the round-trip time, guided by ECN marks, share it equally?",
    main_plots=("s1_10M_p0.1-rates",),
    claim="four flows with round trips of 4 to 190 ms share 10 Mbit/s with a fairness index of "
    "0.99, where ECN Reno has 0.48.",
    experiments=(
        _simple_model(),
        _setup_1(),
        _setup_2(
            "0.1",
            "With the marking of setup 1 on a 2 Mbit/s link New-ECN is no longer fair.",
            Tolerance(absolute=0.08),
            "4.6",
            "no longer a fair sharing: close to what ECN Reno does",
        ),
        _setup_2(
            "0.2",
            "With more marking it is fair again.",
            FAIRNESS_TOLERANCE,
            "4.7",
            "fair again",
        ),
        _section_4_2_2(),
        _many_flows(),
        _plain_reno(),
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
        *on_a_kernel(),
        *beyond_the_paper(),
        several_gateways(),
        two_queues(),
        other_queues(),
        what_it_survives(),
        what_others_lose(),
        the_cycle_model(),
        better_parameters(),
    ),
    modern=MODERN,
)
