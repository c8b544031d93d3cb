"""The cycle model beside the simulator: the stochastic model that section 5.1 asks for."""

from datetime import date

from windlass_lab.core.experiments.model import (
    Case,
    Check,
    CycleModel,
    Experiment,
    Flows,
    Line,
    Near,
    Quantity,
    Shown,
    SweepPlot,
)
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.plan import (
    FAIRNESS_TOLERANCE,
    FIGURES_ONLY,
    QUEUE,
    STEADY_FAIRNESS,
    STEADY_RATE,
    STEADY_TOTAL,
    TENTH,
)
from windlass_lab.papers.new_ecn.queues import MARKED

_SHARES = (0.002, 0.01, 0.03, 0.1, 0.3)
# Round trips in ms, and the largest marked share at which the model's assumptions hold: windows of
# ten packets and more, and few ACKs with an echo.
_HOLDS_TO = {10: 0.01, 30: 0.03, 70: 0.1, 100: 0.1, 190: 0.1, 300: 0.1}
WINDOW = Quantity("cwnd_packets.time_mean_steady", "cwnd, mean over time", "packets")
GROWTH = Quantity("growth_per_s", "Growth of a disturbance", "1/s")
# Four flows behind RED: the scenario, what is changed in it, and the same for the model.
_LINKS: dict[str, tuple[str, str, dict[str, object], tuple[str, ...]]] = {
    "s1": ("setup 1", "s1_10M_p0.1_newecn", {}, ("--link", "10M")),
    "s1-5M": (
        "5 Mbit/s",
        "s1_10M_p0.1_newecn",
        {"dumbbell.bottleneck.rate": "5Mbit/s"},
        ("--link", "5M"),
    ),
    "s1-20M": (
        "20 Mbit/s",
        "s1_10M_p0.1_newecn",
        {"dumbbell.bottleneck.rate": "20Mbit/s"},
        ("--link", "20M"),
    ),
    "s2-gentle": (
        "setup 2, gentle",
        "s2_2M_p0.2_newecn",
        {"queues.marking.gentle": True},
        ("--link", "2M", "--p-max", "0.2", "--gentle"),
    ),
}
# More than a tenth of the packets is marked.
_MANY_MARKS = {"s2-gentle"}
# Four equal flows of these round trips: where the balance is stable, and where it is not.
_EQUAL_MS = (10, 20, 30, 50, 100, 200)


def the_cycle_model() -> Experiment:
    """A flow whose packets are marked with a fixed probability; four flows behind RED."""
    alone = {(rtt, share): _alone(rtt, share) for rtt in _HOLDS_TO for share in _SHARES}
    links = {name: _link(name) for name in _LINKS}
    equal = {rtt: _equal(rtt) for rtt in _EQUAL_MS}
    pairs = [*alone.values(), *links.values(), *equal.values()]
    return Experiment(
        id="cycle-model",
        chapter="Beyond the paper",
        section="5.1, a model",
        title="A stochastic model",
        shows="A model of a flow's cycles, from one reduction of its window to the next, beside "
        "the simulator: a flow alone whose packets are marked with a fixed probability, four flows "
        "behind RED, and four equal flows at the edge of stability.",
        reading="With few marks the window grows with R to the power 2/3, so that short round "
        "trips get more. With a mark in every round trip it grows with the square of R, so that "
        "long ones get more. New-ECN is fair in between, at about one mark in a round trip. The "
        "model is off with 30 % of the packets marked, and where windows are of a few packets.",
        quick=False,
        seconds=60,
        first_result=date(2026, 11, 26),
        cases=[case for case, _ in pairs],
        cycle_models=[model for _, model in pairs],
        checks=[
            *(_window(case, share <= _HOLDS_TO[rtt]) for (rtt, share), (case, _) in alone.items()),
            *(check for name, (case, _) in links.items() for check in _of_link(name, case.name)),
            *(
                Near(case.name, MARKED, TENTH, claim=True, criterion=criteria.STABLE)
                for case, _ in equal.values()
            ),
            *(Shown(model.name, GROWTH) for _, model in equal.values()),
        ],
        plots=[
            SweepPlot(
                "cycle-model-rates",
                "Rate of a flow alone; diamonds are the model's",
                [
                    Line(f"{rtt} ms", [(share, alone[rtt, share][0].name) for share in _SHARES])
                    for rtt in _HOLDS_TO
                ],
                STEADY_TOTAL,
                "marked share",
                log=True,
                with_reference=True,
                log_y=True,
            ),
            SweepPlot(
                "cycle-model-marked",
                "Marked share of four equal flows behind RED; diamonds are the model's",
                [Line("marked", [(rtt, case.name) for rtt, (case, _) in equal.items()])],
                MARKED,
                "round trip without the queue (ms)",
                log=True,
                with_reference=True,
            ),
        ],
    )


def _alone(rtt_ms: int, share: float) -> tuple[Case, CycleModel]:
    name, label = f"alone_{rtt_ms}ms_{share:g}", f"{rtt_ms} ms, {share:.1%} marked"
    changes: dict[str, object] = {
        "dumbbell.access.0.delay": f"{rtt_ms / 2 - 1:g}ms",
        "queues.marking.probability": share,
    }
    arguments = ["--rtt", f"{rtt_ms}ms", "--probability", f"{share:g}", "--window-limit", "2000"]
    return _pair(name, label, "fixed_probability", changes, arguments)


def _link(name: str) -> tuple[Case, CycleModel]:
    label, stem, changes, arguments = _LINKS[name]
    rtts = ["--rtt", "4ms,30ms,70ms,190ms"]
    return _pair(f"cycles_{name}", label, stem, changes, [*rtts, *arguments])


def _equal(rtt_ms: int) -> tuple[Case, CycleModel]:
    changes: dict[str, object] = {
        "flows": [{"from": "s1", "count": 4, "start_step": f"{rtt_ms}ms"}],
        "dumbbell.access": [{"rate": "100Mbit/s", "delay": f"{rtt_ms / 2 - 1:g}ms"}],
        "defaults.window_limit": "2000 segments",
        "queues.marking.gentle": True,
        "duration": "100s",
    }
    arguments = ["--rtt", ",".join([f"{rtt_ms}ms"] * 4), "--link", "10M", "--gentle"]
    label = f"four flows of {rtt_ms} ms"
    stem = "s1_10M_p0.1_newecn"
    return _pair(f"equal_{rtt_ms}ms", label, stem, changes, [*arguments, "--window-limit", "2000"])


def _pair(
    name: str, label: str, stem: str, changes: dict[str, object], arguments: list[str]
) -> tuple[Case, CycleModel]:
    model = CycleModel(f"{name}_model", label, arguments)
    return Case(name, label, stem, changes, FIGURES_ONLY, beside=model.name), model


def _window(case: Case, holds: bool) -> Check:
    """Where the model's assumptions do not hold it may be off, and the page says by how much."""
    criterion = criteria.CYCLE_MODEL if holds else criteria.CYCLE_MODEL_BEYOND
    return Near(case.name, WINDOW, TENTH, Flows.EACH, claim=not holds, criterion=criterion)


def _of_link(name: str, case: str) -> list[Check]:
    beyond = name in _MANY_MARKS
    criterion = criteria.CYCLE_MODEL_BEYOND if beyond else criteria.CYCLE_MODEL
    return [
        Near(case, STEADY_FAIRNESS, FAIRNESS_TOLERANCE, claim=beyond, criterion=criterion),
        Near(case, STEADY_RATE, TENTH, Flows.EACH, claim=True, criterion=criteria.CYCLE_RATES),
        Shown(case, QUEUE),
        Shown(case, MARKED),
    ]
