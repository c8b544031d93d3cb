"""Experiments of T. Hamann, A New Fair Window Algorithm for ECN Capable TCP (New-ECN), 1999."""

import math
from collections.abc import Callable

from windlass_lab.core.experiments.model import (
    AtLeast,
    BarPlot,
    Case,
    Check,
    Effect,
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
    Statement,
    TracePlot,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.beyond import MODERN, beyond_the_paper
from windlass_lab.papers.new_ecn.friendliness import what_others_lose
from windlass_lab.papers.new_ecn.gateways import several_gateways
from windlass_lab.papers.new_ecn.on_kernel import on_a_kernel
from windlass_lab.papers.new_ecn.parameters import better_parameters
from windlass_lab.papers.new_ecn.plan import (
    CWND,
    CWND_IN_TIME,
    FAIR,
    FAIRNESS,
    FAIRNESS_TOLERANCE,
    MARKS,
    MODEL_CWND,
    MODEL_FAIRNESS,
    NOT_FAIR,
    S1_ECN,
    S1_NEW,
    SLOPE,
    SLOPE_IN_TIME,
    SRTT,
    SRTT_IN_TIME,
    STEADY_FAIRNESS,
    TENTH,
    ack_plot,
    new_against_ecn,
    rate_bars,
    rates_and_fairness,
)
from windlass_lab.papers.new_ecn.published import CWND_RATIOS, POWERS, SLOPE_RATIOS, SRTT_RATIOS
from windlass_lab.papers.new_ecn.queue_papers import two_queues
from windlass_lab.papers.new_ecn.queues import other_queues
from windlass_lab.papers.new_ecn.robustness import what_it_survives
from windlass_lab.papers.new_ecn.section_4_3 import section_4_3
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
        first_result=criteria.BEGINNING,
        models=models,
        checks=[
            AtLeast(printed, MODEL_FAIRNESS, 0.98, criterion=criteria.MODEL),
            Near(printed, MODEL_CWND, TENTH, Flows.EACH, criterion=criteria.MODEL),
            *(
                Near(name, MODEL_FAIRNESS, Tolerance(absolute=0.02), criterion=criteria.MODEL)
                for name in others
            ),
            *(
                Near(name, MODEL_CWND, TENTH, Flows.EACH, criterion=criteria.MODEL)
                for name in others
            ),
        ],
        plots=_model_plots(printed),
    )


def _model_plots(printed: str) -> list[Plot]:
    return [
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
    ]


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
        first_result=criteria.BEGINNING,
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
        *(
            Near(case, quantity, trace, Flows.EACH, criterion=criteria.TABLE_4_4)
            for quantity in (CWND, SRTT, SLOPE)
        ),
        Near(case, MARKS, Tolerance(relative=0.20), Flows.EACH, criterion=criteria.TABLE_4_4),
        *(
            Pairs(case, PairFigure.RATIO, what, published, ratios, criterion=criteria.RATIOS)
            for what, published in (
                (srtt, SRTT_RATIOS),
                (cwnd, CWND_RATIOS),
                (slope, SLOPE_RATIOS),
            )
        ),
        Pairs(
            case,
            PairFigure.EXPONENT,
            power,
            powers,
            Tolerance(absolute=0.1),
            criterion=criteria.RATIOS,
        ),
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
    return Near(
        S1_NEW.name,
        FAIRNESS,
        tolerance,
        target=0.985,
        headline=headline,
        criterion=criteria.WHOLE_RUN,
    )


def _power_of(ratio: float, base: float) -> float:
    return round(math.log(ratio) / math.log(base), 3)


def _setup_2(
    p_max: str,
    shows: str,
    tolerance: Tolerance,
    figure: str,
    says: str,
    statements: Callable[[str, str], list[Check]],
) -> Experiment:
    """`statements` makes the checks of the text's statements, of New-ECN's case and ECN Reno's."""
    stem = f"s2_2M_p{p_max}"
    cases, checks, bars = new_against_ecn(stem, tolerance)
    checks += statements(cases[0].name, cases[1].name)
    acks = ack_plot(stem, figure, [cases[0].name], says)
    return Experiment(
        id=f"4.2.1-setup2-p{p_max}",
        chapter=_FAIRNESS,
        section=f"4.2.1, setup 2, Figure {figure}",
        title=f"A slower bottleneck, p_max {p_max}",
        shows=shows,
        quick=False,
        seconds=5,
        first_result=criteria.BEGINNING,
        cases=cases,
        checks=checks,
        plots=[acks, *bars],
    )


def _no_longer_fair(new: str, ecn: str) -> list[Check]:
    return [
        Statement(
            new, STEADY_FAIRNESS, "no longer fair", NOT_FAIR, criterion=criteria.SETUP_2_UNFAIR
        ),
        Effect(
            new,
            ecn,
            STEADY_FAIRNESS,
            "as ECN Reno",
            Bounds(0.9, 1.1),
            criterion=criteria.SETUP_2_AS_ECN,
        ),
    ]


def _fair_again(new: str, _ecn: str) -> list[Check]:
    return [Statement(new, STEADY_FAIRNESS, "fair again", FAIR, criterion=criteria.SETUP_2_FAIR)]


def _section_4_2_2() -> Experiment:
    names = [S1_NEW.name, S1_ECN.name]
    cases, checks, bars = new_against_ecn("s1_10M_p0.1", FAIRNESS_TOLERANCE)
    # From 10 s to 20 s: the steady span of a run that ends then.
    early = [
        Case(f"{case.name}@20s", f"{case.label}, 10 to 20 s", case.stem, {"duration": "20s"})
        for case in cases
    ]
    after_ten = Quantity(STEADY_FAIRNESS.key, "Fairness index, from 10 s to 20 s")
    whole_run: list[Check] = [
        _setup_1_fairness(headline=True),
        Near(
            S1_ECN.name,
            FAIRNESS,
            Tolerance(absolute=0.04),
            target=0.482,
            headline=True,
            criterion=criteria.WHOLE_RUN,
        ),
        *(
            Statement(case.name, after_ten, says, means, criterion=criteria.AFTER_TEN_SECONDS)
            for case, says, means in zip(
                early,
                ("similar rates after roughly ten seconds", "still biased"),
                (FAIR, NOT_FAIR),
                strict=True,
            )
        ),
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
        first_result=criteria.BEGINNING,
        cases=[*cases, *early],
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
        first_result=criteria.BEGINNING,
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
        first_result=criteria.BEGINNING,
        cases=cases,
        checks=[
            check
            for name in names
            for check in rates_and_fairness(name, wide.get(name, FAIRNESS_TOLERANCE))
        ],
        plots=[rate_bars("reno", names)],
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
            _no_longer_fair,
        ),
        _setup_2(
            "0.2",
            "With more marking it is fair again.",
            FAIRNESS_TOLERANCE,
            "4.7",
            "fair again",
            _fair_again,
        ),
        _section_4_2_2(),
        _many_flows(),
        _plain_reno(),
        *section_4_3(),
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
