"""New-ECN with other queues than RED, which section 4.2.1 of the paper leaves open."""

from windlass_lab.core.experiments.model import (
    Case,
    Experiment,
    Line,
    Quantity,
    Shown,
    Statement,
    SweepPlot,
)
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.plan import (
    FAIR,
    FIGURES_ONLY,
    QUEUE,
    STEADY_FAIRNESS,
    STEADY_TOTAL,
)

_QUEUE = "dumbbell.bottleneck.queue"
_SETUPS: dict[str, tuple[str, str, dict[str, object]]] = {
    "s1": ("setup 1", "s1_10M_p0.1", {}),
    "s2": ("setup 2", "s2_2M_p0.2", {}),
    "many16": ("16 flows", "many16", {}),
    "eight": (
        "8 flows, 20 Mbit/s",
        "s1_10M_p0.1",
        {"dumbbell.bottleneck.rate": "20Mbit/s"} | {f"flows.{n}.count": 2 for n in range(4)},
    ),
}
_QUEUES: dict[str, tuple[str, dict[str, object]]] = {
    "red": ("RED as in the paper", {}),
    "gentle": ("gentle RED", {"queues.marking.gentle": True}),
    "adaptive-red": ("Adaptive RED (Floyd 2001)", {_QUEUE: {"kind": "adaptive-red"}}),
    "feng": ("Self-configuring RED (1999)", {_QUEUE: {"kind": "self-configuring-red"}}),
    "sred": ("SRED (1999)", {_QUEUE: {"kind": "sred"}}),
    "codel": ("CoDel", {_QUEUE: {"kind": "codel"}}),
    "pie": ("PIE", {_QUEUE: {"kind": "pie"}}),
    # By default PIE drops where it would mark more than a tenth of the packets.
    "pie-marks": ("PIE that always marks", {_QUEUE: {"kind": "pie", "mark_up_to": 1.0}}),
    "fq-codel": ("FQ-CoDel", {_QUEUE: {"kind": "fq-codel"}}),
}
_KINDS = {"newecn": "New-ECN", "ecn": "ECN Reno"}
MARKED = Quantity("marked_share", "Share of the packets that was marked")
_SHOWN = (STEADY_FAIRNESS, MARKED, STEADY_TOTAL, QUEUE)


def other_queues() -> Experiment:
    """New-ECN and ECN Reno behind nine queues, on four setups."""
    cases = {
        (setup, queue, kind): _case(setup, queue, kind)
        for setup in _SETUPS
        for queue in _QUEUES
        for kind in _KINDS
    }
    return Experiment(
        id="queues",
        chapter="Beyond the paper",
        section="4.2.1, other queues",
        title="Adaptive RED, CoDel, PIE and FQ-CoDel",
        shows="On setup 1 and with 16 flows New-ECN is fair behind each of these queues, though "
        "all were made for senders that halve their window. On setup 2 all but FQ-CoDel, which "
        "shares by itself, are unfair, and where they mark more than a tenth of the packets the "
        "bias is reversed: the longest round trip gets the most.",
        reading="New-ECN reacts at most once in a round trip. Where a flow is marked in nearly "
        "every round trip, more marks do not slow it further. On setup 2 the queues that hold a "
        "short queue mark a seventh of the packets and more. The flow of 190 ms has 50 packets in "
        "flight and is marked in every round trip, but that is five times a second; the flow of "
        "4 ms has three, and is cut seven times a second. A longer queue with fewer marks repairs "
        "it: RED as in the paper, with p_max 0.2, marks 8 %.",
        quick=False,
        seconds=60,
        first_result=criteria.NEW_SEEDS_ON,
        cases=list(cases.values()),
        checks=[
            *(
                Statement(
                    cases[setup, queue, "newecn"].name,
                    STEADY_FAIRNESS,
                    "fair",
                    FAIR,
                    criterion=criteria.FAIR,
                )
                for setup in _SETUPS
                for queue in _QUEUES
            ),
            *(Shown(case.name, quantity) for case in cases.values() for quantity in _SHOWN),
        ],
        plots=[
            _plot(cases, "queues-fairness", "Fairness index from 10 s on, New-ECN", "newecn"),
            _plot(cases, "queues-fairness-ecn", "Fairness index from 10 s on, ECN Reno", "ecn"),
            _plot(cases, "queues-marked", "Share of marked packets, New-ECN", "newecn", MARKED),
        ],
    )


def _case(setup: str, queue: str, kind: str) -> Case:
    label, stem, changes = _SETUPS[setup]
    queue_label, queue_changes = _QUEUES[queue]
    return Case(
        f"{setup}_{kind}@{queue}",
        f"{_KINDS[kind]}, {label}, {queue_label}",
        f"{stem}_{kind}",
        changes | queue_changes,
        FIGURES_ONLY if kind == "ecn" else None,
        first_seed=criteria.NEW_SEEDS,
    )


def _plot(
    cases: dict[tuple[str, str, str], Case],
    id: str,
    title: str,
    kind: str,
    quantity: Quantity = STEADY_FAIRNESS,
) -> SweepPlot:
    lines = [
        Line(
            queue_label,
            [(label, cases[setup, queue, kind].name) for setup, (label, _, _) in _SETUPS.items()],
        )
        for queue, (queue_label, _) in _QUEUES.items()
    ]
    return SweepPlot(id, title, lines, quantity, "")
