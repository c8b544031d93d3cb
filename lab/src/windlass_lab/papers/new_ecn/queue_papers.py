"""Two queues of 1999 that steer by the load, against what their papers say of them."""

from datetime import date

from windlass_lab.core.experiments.model import (
    Ascending,
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
from windlass_lab.papers.new_ecn.plan import QUEUE, STEADY_TOTAL

DROPPED = Quantity("dropped_share", "Share of the packets that was dropped")
_FLOWS = (4, 8, 16, 32, 64)
_FENG: dict[str, tuple[str, dict[str, object]]] = {
    "low": ("RED, p_max 1/64", {"queues.marking.p_max": 1 / 64}),
    "high": ("RED, p_max 1/4", {"queues.marking.p_max": 1 / 4}),
    "feng": ("self-configuring RED", {"queues.marking.kind": "self-configuring-red"}),
}
_MANY = (10, 30, 100, 300)
_BOTTLENECK = "dumbbell.bottleneck"
_OTT: dict[str, tuple[str, dict[str, object]]] = {
    "sred": ("SRED", {"kind": "sred", "limit": "1000 packets"}),
    "simple-sred": ("simple SRED", {"kind": "sred", "limit": "1000 packets", "full": False}),
    "red": (
        "RED",
        {
            "kind": "red",
            "limit": "1000 packets",
            "min": "167 packets",
            "max": "500 packets",
            "mean_packet_bytes": 1000,
        },
    ),
}


def two_queues() -> Experiment:
    """Self-configuring RED over 4 to 64 flows, SRED over 10 to 300."""
    feng = {(queue, flows): _feng(queue, flows) for queue in _FENG for flows in _FLOWS}
    ott = {(queue, flows): _ott(queue, flows) for queue in _OTT for flows in _MANY}
    return Experiment(
        id="queue-papers",
        chapter="Beyond the paper",
        section="4.2.1, other queues",
        title="Self-configuring RED and SRED by themselves",
        shows="Feng, Kandlur, Saha and Shin (1999): RED with a low p_max loses many packets when "
        "there are many flows, and with a high one few flows do not fill the link; a p_max that "
        "configures itself does neither. Ott, Lakshman and Wong (1999): SRED keeps the buffer a "
        "third full, whatever the number of flows.",
        reading="Both do here what their papers say. Packets are dropped, as there.",
        quick=False,
        seconds=10,
        first_result=date(2026, 11, 26),
        cases=[*feng.values(), *ott.values()],
        checks=[
            # Few flows: the link is full, which it is not with a high p_max.
            *(
                Ascending(
                    [feng["high", flows].name, feng["feng", flows].name],
                    STEADY_TOTAL,
                    criterion=criteria.FENG,
                )
                for flows in (4, 8)
            ),
            # Many: fewer losses than with a low p_max.
            *(
                Ascending(
                    [feng["feng", flows].name, feng["low", flows].name],
                    DROPPED,
                    criterion=criteria.FENG,
                )
                for flows in (32, 64)
            ),
            *(
                Effect(
                    ott["sred", flows].name,
                    ott["sred", 30].name,
                    QUEUE,
                    must=Bounds(0.8, 1.25),
                    criterion=criteria.SRED,
                )
                for flows in (10, 100, 300)
            ),
            Compared(ott["red", 300].name, ott["red", 10].name, QUEUE),
        ],
        plots=[
            _plot(feng, _FENG, _FLOWS, "feng-rate", "Rate of the link", STEADY_TOTAL),
            _plot(feng, _FENG, _FLOWS, "feng-dropped", "Dropped packets", DROPPED),
            _plot(ott, _OTT, _MANY, "sred-queue", "Mean queue, of 1000 packets", QUEUE),
        ],
    )


def _feng(queue: str, flows: int) -> Case:
    label, changes = _FENG[queue]
    return Case(
        f"load_{flows}@{queue}",
        f"{flows} flows, {label}",
        "load",
        {"flows.0.count": flows} | changes,
    )


def _ott(queue: str, flows: int) -> Case:
    label, settings = _OTT[queue]
    changes: dict[str, object] = {
        "flows.0.count": flows,
        "flows.0.start_step": "10ms",
        "duration": "60s",
        f"{_BOTTLENECK}.rate": "45Mbit/s",
        f"{_BOTTLENECK}.delay": "20ms",
        f"{_BOTTLENECK}.queue": settings,
    }
    return Case(f"load45_{flows}@{queue}", f"{flows} flows, {label}", "load", changes)


def _plot(
    cases: dict[tuple[str, int], Case],
    queues: dict[str, tuple[str, dict[str, object]]],
    counts: tuple[int, ...],
    id: str,
    title: str,
    quantity: Quantity,
) -> SweepPlot:
    lines = [
        Line(label, [(flows, cases[queue, flows].name) for flows in counts])
        for queue, (label, _) in queues.items()
    ]
    return SweepPlot(id, title, lines, quantity, "flows", log=True)
