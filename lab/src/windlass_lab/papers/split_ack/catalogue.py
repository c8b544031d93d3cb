"""Experiments of R. E. G. Normann, A Client-side Split ACK Tool for TCP Slow Start Investigation,
2011: what its second chapter shows of ACK division in theory and in a simulated study, and its
fourth of servers (`split_ack_servers`).
"""

from windlass_lab.core.model import (
    Case,
    Check,
    Experiment,
    Line,
    Near,
    Over,
    Paper,
    Quantity,
    SeriesPlot,
    Shown,
    SweepPlot,
)
from windlass_lab.core.verdict import Tolerance
from windlass_lab.papers.split_ack.servers import SERVERS

_CHAPTER = "2 Background"
_COMPLETION = Quantity("completion_s", "Time of a transfer", "s")
_DROPS = Quantity("drops", "Drops", "packets")
_TIMEOUTS = Quantity("timeouts_per_flow", "Timeouts of a flow", "timeouts")

# Files of the study, and how many each sender sends: enough for a mean, and some minutes simulated.
_FILES = (("15 kB", 60), ("150 kB", 40), ("1.5 MB", 20))
_PER_ACK, _PER_BYTE = "per-ack", "per-byte"
# Where ACKs are counted: in slow start, in congestion avoidance.
_PHASES = {
    "off": (_PER_BYTE, _PER_BYTE),
    "SS": (_PER_ACK, _PER_BYTE),
    "CA": (_PER_BYTE, _PER_ACK),
    "SS + CA": (_PER_ACK, _PER_ACK),
}
# What the paper says of each cell, and the ratio of times with and without division that it means.
_IMPROVES = ("improves", None, 0.95)
_NO_OP = ("no-op", 0.95, 1.05)
_DEGRADES = ("mostly degrades", 1.0, None)
_OK = ("OK", 0.95, 1.05)
_TABLE: dict[str, dict[str, tuple[str, float | None, float | None]]] = {
    "15 kB": {"SS": _IMPROVES, "CA": _NO_OP, "SS + CA": _IMPROVES},
    "150 kB": {"SS": _IMPROVES, "CA": _NO_OP, "SS + CA": _IMPROVES},
    "1.5 MB": {"SS": _DEGRADES, "CA": _OK, "SS + CA": _DEGRADES},
}


def _of_study(size: str, count: int, phases: str) -> Case:
    slow_start, avoidance = _PHASES[phases]
    overrides: dict[str, object] = {
        "defaults.growth": slow_start,
        "defaults.avoidance_growth": avoidance,
    }
    for flow in range(4):
        overrides |= {f"flows.{flow}.app.size": size, f"flows.{flow}.app.count": count}
    label = f"{size}, no division" if phases == "off" else f"{size}, division in {phases}"
    return Case(_name(size, phases), label, "study", overrides)


def _name(size: str, phases: str) -> str:
    return f"study-{size}-{phases}".replace(" ", "")


def _study() -> Experiment:
    cases = [_of_study(*file, phases) for file in _FILES for phases in _PHASES]
    checks: list[Check] = []
    for size, row in _TABLE.items():
        for phases, (says, low, high) in row.items():
            beside = _name(size, "off")
            checks.append(
                Over(_name(size, phases), beside, _COMPLETION, low, high, says, headline=True)
            )
    checks += [Shown(case.name, what) for case in cases for what in (_DROPS, _TIMEOUTS)]
    lines = [
        Line(phases, [(size, _name(size, phases)) for size, _ in _FILES]) for phases in _PHASES
    ]
    return Experiment(
        id="2.1",
        chapter=_CHAPTER,
        section="2.4.2, Table 2.1",
        title="Does ACK division pay for files of three sizes?",
        shows="Where a file ends in slow start, division makes it shorter. A large file meets the "
        "queue: division fills it earlier, and what it gains at first it pays for in losses.",
        reading="Every receiver splits each ACK in four; where the sender counts bytes it is as if "
        "it did not, so that division can be had in one phase alone. Small files never leave slow "
        "start, so that division in congestion avoidance changes nothing. How many parts, rates, "
        "delays and queue are not in the paper: here four hosts send to four others through "
        "10 Mbit/s, 84 to 96 ms and a queue of 40 packets. What division loses a large file is "
        "little, and less than what one run differs from the next.",
        quick=False,
        seconds=25,
        cases=cases,
        checks=checks,
        plots=[
            SweepPlot(
                id="study-times",
                title="Mean time of a transfer by size, with division in no phase, one, or both",
                lines=lines,
                quantity=_COMPLETION,
                axis="file",
            )
        ],
    )


def _theory(id_: str, figure: str, title: str, shows: str, other: Case, ratio: float) -> Experiment:
    """Slow start against slow start with something more; `ratio` is that of round trips."""
    plain = Case("slow_start", "slow start, initial window 3")
    # A handshake, then flights, the last of which takes half a round trip: 6 of them.
    target = Near(plain.name, _COMPLETION, Tolerance(relative=0.01), target=0.65)
    return Experiment(
        id=id_,
        chapter=_CHAPTER,
        section=f"Figure {figure}",
        title=title,
        shows=shows,
        quick=True,
        seconds=1,
        cases=[plain, other],
        checks=[target, Over(other.name, plain.name, _COMPLETION, ratio * 0.99, ratio * 1.01)],
        plots=[
            SeriesPlot(
                id=f"cwnd-{id_}",
                figure=figure,
                title="Congestion window over time, segments of 512 bytes, 100 ms",
                cases=[plain.name, other.name],
                column="cwnd_packets",
                axis="packets",
                keys=[_COMPLETION.key],
            )
        ],
    )


def _divided() -> Experiment:
    split = {"defaults.receiver.ack.parts": 2}
    return _theory(
        "2.7",
        "2.7",
        "Slow start in theory, and with each ACK split in two",
        "With n parts the window grows (n + 1)-fold in each round trip instead of twofold: 3, 9, "
        "27 segments instead of 3, 6, 12.",
        Case("slow_start-split", "each ACK split in two", "slow_start", split),
        0.45 / 0.65,
    )


def _larger() -> Experiment:
    ten = {"defaults.initial_window": "10 segments"}
    return _theory(
        "2.8",
        "2.8",
        "Slow start from an initial window of 3 and of 10 segments",
        "A larger initial window saves the first round trips; the growth is the same.",
        Case("slow_start-iw10", "slow start, initial window 10", "slow_start", ten),
        0.45 / 0.65,
    )


SPLIT_ACK = Paper(
    id="split-ack",
    citation="R. E. G. Normann, A Client-side Split ACK Tool for TCP Slow Start Investigation, "
    "Master's thesis, University of Oslo, 2011",
    title="Split ACKs",
    question="What does a receiver gain that acknowledges each segment in several parts?",
    experiments=[_divided(), _larger(), _study(), *SERVERS],
    against="the paper's words and the arithmetic",
    main_plots=("tests-counter", "tests-counter-short"),
    claim="where a server counts ACKs a split of four doubles what comes in slow start; on most "
    "servers of 2011 nothing changes.",
)
