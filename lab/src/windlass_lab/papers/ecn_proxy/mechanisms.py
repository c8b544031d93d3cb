"""The paper's mechanisms for uploads, so that its published times stand beside its own proxy's.

Section 3.1.2 names three ways to slow down a sender that has no ECN. All published uploads (Tables
C.6 to C.10) are of the first: the proxy leaves the sender's data Not-ECT (sections 3.2.1, 4.3.2).
The paper did not measure the other two. Its third one is in `duplicate_acks`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.statistics.interval import FEWEST_SEEDS
from windlass_lab.core.verdicts.verdict import MECHANISM, Asked, Comparison
from windlass_lab.papers.ecn_proxy import criteria, duplicate_acks
from windlass_lab.papers.ecn_proxy.by_connections import (
    COUNTS,
    HEADINGS,
    bars,
    medians,
    panel,
    ratios,
    row,
    table,
)
from windlass_lab.papers.ecn_proxy.plan import NATIVE, NEITHER, PROXY, Test, proxy
from windlass_lab.papers.ecn_proxy.published import published
from windlass_lab.papers.ecn_proxy.supplement import Runs, Supplement, Variant, case, over, seconds

_RUNS = FEWEST_SEEDS
# The paper's hosts ran Linux 3.19: SACK, PRR and tail loss probes, and no RACK (Linux 4.4).
_LINUX_3_19: dict[str, object] = {"defaults.rack": False}
_NO_SACK: dict[str, object] = {"defaults.sack": False}


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A proxy's treatment of a sender without ECN; `keys` are those of the simulator's proxy.

    `configuration` is that of the paper's tests; `sack` whether the senders have SACK.
    """

    name: str
    label: str
    configuration: str
    keys: Mapping[str, object]
    sack: bool = True

    def test(self, load: str) -> Variant:
        """The upload with cross traffic by so many connections."""
        changed: dict[str, object] = _LINUX_3_19 if self.sack else {**_LINUX_3_19, **_NO_SACK}
        if self.keys:
            changed = {**changed, "middleboxes": [{**proxy(), **self.keys}]}
        return Variant(Test("upload", load, True, self.configuration), self.name, changed)


_NEITHER = Mechanism("linux-3.19", "no ECN", NEITHER, {})
_NATIVE = Mechanism("linux-3.19", "both ECN", NATIVE, {})
_NEITHER_NO_SACK = Mechanism("no-sack", "no ECN, no SACK", NEITHER, {}, sack=False)
_NATIVE_NO_SACK = Mechanism("no-sack", "both ECN, no SACK", NATIVE, {}, sack=False)
_NO_ECT = Mechanism("no-ect", "data left Not-ECT", PROXY, {"policy": "no-ect"})
_DROP = Mechanism("drop", "the proxy drops a packet", PROXY, {"policy": "drop"})
_DUPLICATES = Mechanism(
    "duplicates",
    "Windlass's duplicate ACKs, no SACK",
    PROXY,
    {"policy": "virtual-loss", "without_sack": True},
    sack=False,
)
_VIRTUAL = Mechanism("virtual-loss", "virtual loss", PROXY, {"policy": "virtual-loss"})
_ALL = (
    *(_NEITHER, _NATIVE, _NO_ECT, _DROP, _VIRTUAL),
    *(_NEITHER_NO_SACK, _NATIVE_NO_SACK, _DUPLICATES),
)


def tests() -> Sequence[Variant]:
    """Uploads by 1, 2, 3 and 5 connections, each with every mechanism, with cross traffic; and
    without, those of the paper's state machine.
    """
    own = [mechanism.test(load) for load in COUNTS for mechanism in _ALL]
    return [*own, *duplicate_acks.tests()]


def judge(runs: Runs) -> list[Comparison]:
    """Each mechanism over ECN at both ends; the paper's own beside its published ratios."""
    found = [each for load in COUNTS for each in _of_load(load, runs)]
    return [comparison for comparison in found if comparison is not None]


def _of_load(load: str, runs: Runs) -> Iterator[Comparison | None]:
    def pair(
        above: Mechanism, below: Mechanism, asked: Asked | None, printed: bool = False
    ) -> Comparison | None:
        quantity = f"Upload, {load} conn.: Time, {above.label}, over {below.label}"
        tests_ = above.test(load), below.test(load)
        theirs = _published(*tests_) if printed else None
        found = over(
            quantity,
            runs,
            *tests_,
            asked,
            FEWEST_SEEDS,
            theirs,
            headline=above is _VIRTUAL,
        )
        return replace(found, kind=MECHANISM) if found and printed else found

    yield pair(_NO_ECT, _NATIVE, None, printed=True)
    same = pair(_NO_ECT, _NEITHER, criteria.NO_SLOWER, printed=True)
    # Data without ECT are dropped as they would be without ECN.
    yield replace(same, by_construction=True) if same else None
    yield pair(_NEITHER, _NATIVE, None, printed=True)
    yield pair(_DROP, _NATIVE, None)
    yield pair(_DROP, _NEITHER, None)
    yield pair(_DUPLICATES, _NATIVE_NO_SACK, None)
    yield pair(_NEITHER_NO_SACK, _NATIVE_NO_SACK, None)
    yield pair(_VIRTUAL, _NATIVE, criteria.MECHANISMS)
    yield from duplicate_acks.judge(load, runs)


def _published(above: Variant, below: Variant) -> float:
    """The published ratio of medians of the two tests that the variants are of."""
    times = (median(published()[each.test]) for each in (above, below))
    return round(next(times) / next(times), 3)


def draw(runs: Runs) -> list[Drawn]:
    """Bars: each mechanism's time over that of ECN at both ends, and what was published."""
    shown = [
        (_NO_ECT, _NATIVE),
        (_NEITHER, _NATIVE),
        (_DROP, _NATIVE),
        (_DUPLICATES, _NATIVE_NO_SACK),
        (_VIRTUAL, _NATIVE),
    ]
    theirs = {load: _published(_NO_ECT.test(load), _NATIVE.test(load)) for load in COUNTS}
    groups = [bars("published", "published", theirs)]
    for number, (above, below) in enumerate(shown):
        groups.append(bars(above.label, number, ratios(runs, above.test, below.test)))
    drawn = Drawn(
        id="mechanisms",
        figure="",
        title="Uploads with cross traffic over ECN at both ends, by what the proxy does",
        note="Ratios of medians. Published is the paper's proxy, which leaves data Not-ECT. "
        "Senders without SACK are divided by ECN at both ends without SACK.",
        panels=[panel("mechanisms-0", "", groups)],
        headings=HEADINGS,
        rows=[row(group["name"], group) for group in groups],
    )
    own = [drawn] if any(group["x"] for group in groups[1:]) else []
    return own + duplicate_acks.draw(runs)


def tables(runs: Runs) -> list[dict]:
    """The median time of each mechanism by connections, and the paper's beside it."""
    rows = [
        medians(mechanism.label, [seconds(runs, mechanism.test(load)) for load in COUNTS])
        for mechanism in _ALL
    ]
    for label, name in (("no ECN", NEITHER), ("proxy", PROXY), ("both ECN", NATIVE)):
        theirs = [published()[Test("upload", load, True, name)] for load in COUNTS]
        rows.append(medians(f"published: {label}", theirs))
    caption = "Uploads with cross traffic: completion time in seconds, medians"
    return [table(caption, rows, opened=True), *duplicate_acks.tables(runs)]


MECHANISMS = Supplement(
    experiment=Experiment(
        id="mechanisms",
        chapter="4.3.2 Uploads",
        section="3.1.2, and Tables C.6 to C.9 with the paper's own mechanism",
        title="Three ways to slow down a sender without ECN, and virtual loss",
        shows="The paper's published uploads are of a proxy that leaves the sender's data Not-ECT, "
        "because its duplicate ACKs broke connections (sections 3.2.1 and 4.3.2). Here the same "
        "mechanism stands beside these figures, with senders like the paper's Linux 3.19: SACK and "
        "no RACK. The paper has no times of the other two mechanisms. Duplicate ACKs that carry no "
        "SACK block reach a sender without SACK only (RFC 6675 section 2), so that row is of such "
        "senders, and its duplicates end with the repair. The paper's own state machine goes on: "
        "its figures say which connections are complete after 1,000 s.",
        quick=False,
        seconds=240.0,
        first_result=criteria.FIRST_BEYOND,
        cases=[case(test, test.name) for test in tests()],
    ),
    tests=tests,
    most_runs=_RUNS,
    judge=judge,
    tables=tables,
    draw=draw,
    shown=duplicate_acks.tests,
)
