"""Experiments of R. E. G. Normann, A Client-side Split ACK Tool for TCP Slow Start Investigation,
2011: what its second chapter shows of ACK division in theory and in a simulated study, and its
fourth of servers (`split_ack_servers`).
"""

from windlass_lab.core.experiments.model import (
    Case,
    Compared,
    Effect,
    Experiment,
    Line,
    Near,
    Paper,
    Quantity,
    SeriesPlot,
    Shown,
    SweepPlot,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.split_ack import criteria
from windlass_lab.papers.split_ack.plan import CHAPTER_2, COMPLETION
from windlass_lab.papers.split_ack.servers import SERVERS
from windlass_lab.papers.split_ack.theory import theory

_DROPS = Quantity("drops", "Drops", "packets")
_SENT = Quantity("bottleneck_packets", "Packets sent for the same data", "packets")
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
# The bounds of each word of the paper, for the ratio of a figure with division to that without.
_OF_TIMES = {
    "improves": Bounds(high=0.95),
    "no-op": Bounds(0.95, 1.05),
    "mostly degrades": Bounds(low=1.05),
    "OK": Bounds(0.95, 1.05),
}
# The paper says that division degrades a large file by congestion, so timeouts are counted. A fifth
# more of them is what 20 runs show reliably: they vary by 17 % from run to run without division.
_OF_TIMEOUTS = {
    "mostly degrades": Bounds(low=1.2),
    "OK": Bounds(0.8, 1.2),
}
_SMALL = {"SS": "improves", "CA": "no-op", "SS + CA": "improves"}
_LARGE = {"SS": "mostly degrades", "CA": "OK", "SS + CA": "mostly degrades"}
# A window that grows faster fills the queue sooner, in either phase, and so more often.
_MORE = Bounds(low=1.2)


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


def _small(size: str, phases: str) -> Effect:
    word = _SMALL[phases]
    means = _OF_TIMES[word]
    case, beside = _name(size, phases), _name(size, "off")
    return Effect(
        case,
        beside,
        COMPLETION,
        word,
        means,
        must=means,
        headline=True,
        criterion=criteria.TABLE_2_1_TIMES,
    )


def _large(phases: str) -> list[Effect | Compared]:
    """Timeouts are judged; what else division changes is shown beside them."""
    word = _LARGE[phases]
    case, beside = _name("1.5 MB", phases), _name("1.5 MB", "off")
    return [
        Effect(
            case,
            beside,
            _TIMEOUTS,
            word,
            _OF_TIMEOUTS[word],
            headline=True,
            criterion=criteria.TABLE_2_1_TIMEOUTS,
        ),
        Effect(case, beside, _TIMEOUTS, must=_MORE, criterion=criteria.MORE_TIMEOUTS),
        Effect(case, beside, COMPLETION, word, _OF_TIMES[word], criterion=criteria.TABLE_2_1_TIMES),
        *(Compared(case, beside, what) for what in (_DROPS, _SENT)),
    ]


def _study() -> Experiment:
    cases = [_of_study(*file, phases) for file in _FILES for phases in _PHASES]
    small = [_small(size, phases) for size in ("15 kB", "150 kB") for phases in _SMALL]
    large = [check for phases in _LARGE for check in _large(phases)]
    shown = [Shown(case.name, what) for case in cases for what in (_DROPS, _TIMEOUTS)]
    lines = [
        Line(phases, [(size, _name(size, phases)) for size, _ in _FILES]) for phases in _PHASES
    ]
    return Experiment(
        id="2.1",
        chapter=CHAPTER_2,
        section="2.4.2, Table 2.1",
        title="Does ACK division pay for files of three sizes?",
        shows="Where a file ends in slow start, division makes it shorter. A large file meets the "
        "queue, and division in either phase fills that sooner, at the cost of timeouts; the paper "
        "has OK for congestion avoidance.",
        reading="Every receiver splits each ACK in four; where the sender counts bytes it is as if "
        "it did not, so that division can be had in one phase alone. How many parts, rates, delays "
        "and queue are not in the paper: here four hosts send to four others through 10 Mbit/s, 84 "
        "to 96 ms and a queue of 40 packets. Each word of the table is judged by the 95 % interval "
        "of a ratio, which must lie within the word's bounds. Small files are judged by their "
        "times: to improve is to take 0.95 of the time or less, a no-op changes it by 5 % at most, "
        "to degrade is to take 1.05 of it. The paper says that division degrades the large file by "
        "congestion, so it is judged by timeouts as well: degraded is a file with 1.2 times as "
        "many or more, OK from 0.8 to 1.2. By theory there are 1.2 times as many in every phase, "
        "since a window that grows faster fills the queue more often; the paper's OK for "
        "congestion avoidance contradicts that.",
        quick=False,
        seconds=25,
        first_result=criteria.FIRST_RESULT,
        cases=cases,
        checks=[*small, *large, *shown],
        plots=[
            SweepPlot(
                id="study-times",
                title="Mean time of a transfer by size, with division in no phase, one, or both",
                lines=lines,
                quantity=COMPLETION,
                axis="file",
            ),
            SweepPlot(
                id="study-timeouts",
                title="Timeouts of a flow, 1.5 MB, with division in no phase, one, or both",
                lines=[Line(phases, [("1.5 MB", _name("1.5 MB", phases))]) for phases in _PHASES],
                quantity=_TIMEOUTS,
                axis="file",
            ),
        ],
    )


def _theory(id_: str, figure: str, title: str, shows: str, other: Case, ratio: float) -> Experiment:
    """Slow start against slow start with something more; `ratio` is that of round trips."""
    plain = Case("slow_start", "slow start, initial window 3")
    # A handshake, then flights, the last of which takes half a round trip: 6 of them.
    target = Near(
        plain.name,
        COMPLETION,
        Tolerance(relative=0.01),
        target=0.65,
        criterion=criteria.ROUND_TRIPS,
    )
    shorter = Effect(
        other.name,
        plain.name,
        COMPLETION,
        must=Bounds(ratio * 0.99, ratio * 1.01),
        exact=True,
        criterion=criteria.ROUND_TRIPS,
    )
    return Experiment(
        id=id_,
        chapter=CHAPTER_2,
        section=f"Figure {figure}",
        title=title,
        shows=shows,
        quick=True,
        seconds=1,
        first_result=criteria.FIRST_RESULT,
        cases=[plain, other],
        checks=[target, shorter],
        plots=[
            SeriesPlot(
                id=f"cwnd-{id_}",
                figure=figure,
                title="Congestion window over time, segments of 512 bytes, 100 ms",
                cases=[plain.name, other.name],
                column="cwnd_packets",
                axis="packets",
                keys=[COMPLETION.key],
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
    experiments=[_divided(), _larger(), *theory(), _study(), *SERVERS],
    against="the theory and the stacks' arithmetic",
    main_plots=("tests-counter", "tests-counter-short"),
    claim="where a server counts ACKs a split of four doubles what comes in slow start; on most "
    "servers of 2011 nothing changes.",
)
