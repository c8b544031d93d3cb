"""The thesis's theory of slow start, in sections 2.4 and 2.5: computed, and run."""

from collections.abc import Mapping

from windlass_lab.core.experiments.model import (
    Arithmetic,
    Case,
    Check,
    Effect,
    Experiment,
    Near,
    Quantity,
    SeriesPlot,
    Shown,
    Statement,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.split_ack import arithmetic, criteria
from windlass_lab.papers.split_ack.plan import CHAPTER_2, COMPLETION

_MSS, _SSTHRESH = 1460, 64 * 1024
_LIMIT_KIB = 123.7
_LARGE_WINDOW, _RUN_WINDOW = 83_000, 8_000
# The initial window of RFC 2581, which RFC 3742 takes.
_TWO = 2
_MAX_SSTHRESH = 100
# A handshake, and half a round trip until the last segment arrives.
_RTT_S, _BESIDE_TRIPS = 0.1, 1.5
_ALIKE = Bounds(0.99, 1.01)


def theory() -> list[Experiment]:
    """The experiments, by section."""
    return [_break_even(), _byte_counting(), _other_ways(), _limited()]


def _near(case: str, quantity: Quantity, published: float) -> Near:
    """A number of the thesis beside the same by its own rule."""
    tolerance = Tolerance(relative=0.02)
    return Near(
        case, quantity, tolerance, target=published, claim=True, criterion=criteria.BY_ITS_RULE
    )


def _break_even() -> Experiment:
    limit = Arithmetic(
        "break-even",
        "slow start, initial window 3, ssthresh 64 KiB",
        lambda: {"sent_kib": arithmetic.sent_in_slow_start(_MSS, 3, _SSTHRESH) / 1024},
        {"sent_kib": _LIMIT_KIB},
    )
    size = arithmetic.sent_in_slow_start(_MSS, 3, _SSTHRESH)
    cases = {
        (name, kind): Case(
            f"break-even-{name}-{kind}", f"{label}, {of_kind}", "slow_start", _transfer(bytes_, how)
        )
        for name, label, bytes_ in (("at", "123.7 KiB", size), ("twice", "247.4 KiB", 2 * size))
        for kind, of_kind, how in (
            ("slow-start", "slow start alone", {}),
            ("ssthresh", "ssthresh 64 KiB", {"defaults.initial_ssthresh": "64 KiB"}),
            (
                "split",
                "ssthresh 64 KiB, each ACK split in four",
                {"defaults.initial_ssthresh": "64 KiB", "defaults.receiver.ack.parts": 4},
            ),
        )
    }
    at, beyond = cases["at", "ssthresh"], cases["twice", "ssthresh"]
    return Experiment(
        id="2.4.1",
        chapter=CHAPTER_2,
        section="2.4.1, the size below which slow start is the limit",
        title="Up to which size splitting can help",
        shows="With segments of 1,460 bytes, an initial window of 3 and a threshold of 64 KiB, "
        "123.7 KiB are sent in slow start. A file of that size takes as many round trips as "
        "without a threshold, and fewer with split ACKs; one of twice the size meets the "
        "threshold.",
        reading="The size is 2 ssthresh less the initial window, as the paper has it: the window "
        "grows by what is acknowledged, and then a whole window is in flight. Its kB are KiB.",
        quick=True,
        seconds=1,
        first_result=criteria.FIRST_THEORY,
        cases=list(cases.values()),
        arithmetic=[limit],
        checks=[
            _near(limit.name, Quantity("sent_kib", "sent in slow start", "KiB"), _LIMIT_KIB),
            _ratio(at, cases["at", "slow-start"], "limited by slow start", _ALIKE),
            _ratio(cases["at", "split"], at, "fewer round trips", Bounds(high=0.99)),
            _ratio(
                beyond, cases["twice", "slow-start"], "limited by more than that", Bounds(low=1.01)
            ),
            *(Shown(case.name, COMPLETION) for case in cases.values()),
        ],
    )


def _transfer(size: int, how: Mapping[str, object]) -> dict[str, object]:
    return {"defaults.mss": _MSS, "flows.0.app.size": f"{size} B", **how}


def _ratio(case: Case, beside: Case, says: str, means: Bounds) -> Effect:
    return Effect(
        case.name,
        beside.name,
        COMPLETION,
        says,
        means,
        exact=True,
        criterion=criteria.ROUND_TRIPS_SAID,
    )


def _byte_counting() -> Experiment:
    published = {"by_bytes": 2460, "by_acks": 3920}
    window = Arithmetic(
        "table-2.2",
        "two ACKs of 730 bytes, a window of 1,000",
        lambda: {
            name: arithmetic.window_after(1000, 2, 730, _MSS, per_ack=per_ack)
            for name, per_ack in (("by_bytes", False), ("by_acks", True))
        },
        published,
    )
    # One segment is acknowledged in two halves: the next flight has two segments, or three, so that
    # four segments take a round trip less where ACKs are counted.
    how = {"defaults.initial_window": "1 segments", "defaults.receiver.ack.parts": 2}
    by_bytes, by_acks = (
        Case(
            f"four-segments-{growth}",
            f"four segments, {label}",
            "slow_start",
            _transfer(4 * _MSS, how | {"defaults.growth": growth}),
        )
        for growth, label in (("per-byte", "bytes counted"), ("per-ack", "ACKs counted"))
    )
    checks: list[Check] = [
        _near(window.name, Quantity(key, f"new window, {label}", "bytes"), published[key])
        for key, label in (("by_bytes", "bytes counted"), ("by_acks", "ACKs counted"))
    ]
    return Experiment(
        id="2.4.3",
        chapter=CHAPTER_2,
        section="2.4.3, Table 2.2",
        title="Two ACKs for one segment, where bytes are counted and where ACKs are",
        shows="Two ACKs of 730 bytes add 1,460 bytes to the window where bytes are counted, and "
        "two segments, 2,920 bytes, where ACKs are.",
        reading="The table's numbers are computed by RFC 5681 and RFC 2581. The engine does the "
        "same in a run: four segments from an initial window of one, its ACK in two halves, take "
        "three flights where bytes are counted and two where ACKs are.",
        quick=True,
        seconds=1,
        first_result=criteria.FIRST_THEORY,
        cases=[by_bytes, by_acks],
        arithmetic=[window],
        checks=[
            *checks,
            *(
                Near(
                    case.name,
                    COMPLETION,
                    Tolerance(relative=0.01),
                    target=time_s,
                    criterion=criteria.ROUND_TRIPS,
                )
                for case, time_s in ((by_bytes, 0.35), (by_acks, 0.25))
            ),
        ],
        plots=[
            SeriesPlot(
                id="cwnd-2.4.3",
                figure="",
                title="Congestion window over time, segments of 1,460 bytes, 100 ms",
                cases=[by_bytes.name, by_acks.name],
                column="cwnd_packets",
                axis="packets",
            )
        ],
    )


def _other_ways() -> Experiment:
    trips = Arithmetic(
        "ways-to-83000",
        "to 83,000 packets",
        lambda: {
            "slow_start": arithmetic.doublings(_LARGE_WINDOW, _TWO),
            "limited": arithmetic.limited_round_trips(_LARGE_WINDOW, _MAX_SSTHRESH, _TWO),
            # The answer to its option comes with the handshake (RFC 4782 section 2).
            "quick_start": 1,
        },
        {"slow_start": 16, "limited": 836},
    )
    first = Arithmetic("jump-start", "Jump Start", lambda: {"shorter_from": _first_gain(_TWO)})
    archive = Arithmetic(
        "archive",
        "Linux 2.6.38.4",
        lambda: {"times": 503_808 / 73_057, "mean_kb": 503_808 / 35_777},
        {"times": 7, "mean_kb": 14},
    )
    run = _to_a_window(_RUN_WINDOW)
    return Experiment(
        id="2.5",
        chapter=CHAPTER_2,
        section="2.5, other ways to a faster start",
        title="Limited Slow Start, Jump Start, Quick-Start, archives",
        shows="Slow start takes 16 round trips to a window of 83,000 packets, as the paper says. "
        "Limited Slow Start takes 1,662 by the paper's own listing, and not 836.",
        reading="From an initial window of 2. Limited Slow Start adds half of max_ssthresh in a "
        "round trip; 836 is what adding max_ssthresh would give: log2(100) + 82,900 / 100. RFC "
        "3742 has the same number. No stack that can be run here has Jump Start or Quick-Start, so "
        "these are arithmetic; experiment 2.5.2 runs Limited Slow Start. Slow start is run up to "
        "8,000 packets: 12 round trips. Jump Start sends all in its first round trip, so it is "
        "shorter where slow start takes two flights: from three packets on with an initial window "
        "of two.",
        quick=True,
        seconds=1,
        first_result=criteria.FIRST_THEORY,
        cases=[run],
        arithmetic=[trips, first, archive],
        checks=[
            *_of_other_ways(trips, first, archive),
            # The handshake, then 13 flights, the last of which takes half a round trip.
            Near(
                run.name,
                COMPLETION,
                Tolerance(relative=0.01),
                target=1.35,
                criterion=criteria.ROUND_TRIPS,
            ),
        ],
    )


def _limited() -> Experiment:
    # All runs are alike, and one has 69 million segments.
    limited = Case("limited_slow_start", "Limited Slow Start, max_ssthresh 100", most_replicates=1)
    segments = _doubled(_LARGE_WINDOW)
    plain = Case(
        "limited_slow_start-off",
        "slow start",
        limited.name,
        {
            "defaults.limited_slow_start": False,
            "flows.0.app.size": f"{segments * _MSS} B",
        },
    )
    trips = arithmetic.limited_round_trips(_LARGE_WINDOW, _MAX_SSTHRESH, _TWO)
    return Experiment(
        id="2.5.2",
        chapter=CHAPTER_2,
        section="2.5.2, Limited Slow Start",
        title="Limited Slow Start run until 83,000 packets are in flight",
        shows="Round trips to a window of 83,000 packets, with Limited Slow Start and without.",
        reading="The engine's option runs by RFC 3742 section 2, with max_ssthresh 100 and an "
        "initial window of 2, on a path of 100 ms without loss, queue or limit. A transfer has as "
        "many packets as the rule sends until 83,000 are in flight; its time is a handshake, the "
        "round trips, and half of one until its last packet arrives. So 836 round trips are 83.75 "
        "s and 16 are 1.75 s.",
        quick=False,
        by_name=True,
        seconds=40,
        first_result=criteria.FIRST_LIMITED,
        cases=[limited, plain],
        checks=[
            *(
                Near(
                    case.name,
                    COMPLETION,
                    Tolerance(relative=0.02),
                    target=_time_s(published),
                    claim=True,
                    criterion=criteria.TRIPS_SAID,
                )
                for case, published in ((limited, 836), (plain, 16))
            ),
            Near(
                limited.name,
                COMPLETION,
                Tolerance(relative=0.01),
                target=_time_s(trips),
                criterion=criteria.LIMITED_TRIPS,
            ),
        ],
    )


def _time_s(trips: int) -> float:
    """The time of a transfer with so many round trips between its first flight and its last."""
    return (trips + _BESIDE_TRIPS) * _RTT_S


def _of_other_ways(trips: Arithmetic, first: Arithmetic, archive: Arithmetic) -> list[Check]:
    slow_start = Quantity("slow_start", "round trips, slow start")
    limited = Quantity("limited", "round trips, Limited Slow Start, max_ssthresh 100")
    return [
        _near(trips.name, slow_start, 16),
        _near(trips.name, limited, 836),
        Statement(
            trips.name,
            Quantity("quick_start", "round trips, Quick-Start"),
            "within one RTT",
            Bounds(high=1),
            by_construction=True,
            exact=True,
            criterion=criteria.BY_ITS_RULE,
        ),
        Statement(
            first.name,
            Quantity("shorter_from", "smallest transfer that it shortens", "packets"),
            "more than 2 packets",
            Bounds(low=3, high=3),
            exact=True,
            criterion=criteria.BY_ITS_RULE,
        ),
        _near(archive.name, Quantity("times", "size of the files over that of the archive"), 7),
        _near(archive.name, Quantity("mean_kb", "mean size of a file", "kB"), 14),
    ]


def _to_a_window(window: int) -> Case:
    """A transfer that is complete when slow start has sent a flight of so many segments."""
    return Case(
        f"to-{window}",
        f"slow start to {window:,} packets",
        "slow_start",
        {
            "flows.0.app.size": f"{_doubled(window) * 512} B",
            "defaults.initial_window": f"{_TWO} segments",
            "defaults.window_limit": "100000 segments",
            "links.0.rate": "100000Gbit/s",
            "links.0.queue.limit": "100000 packets",
        },
    )


def _doubled(window: int) -> int:
    """Segments that slow start sends until a window of them is in flight."""
    return _TWO * (2 ** arithmetic.doublings(window, _TWO) - 1) + window


def _first_gain(initial_window: int) -> int:
    """The smallest number of segments for which slow start takes a second flight."""
    segments = 1
    while arithmetic.flights(segments, initial_window) == 1:
        segments += 1
    return segments
