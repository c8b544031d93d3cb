"""Section 4.5 of R. E. G. Normann's thesis: a survey of 600 servers, and what its text says of the
figures 4.14 to 4.17, statement by statement. The scan has no pictures.
"""

import math
from typing import NamedTuple

from windlass_lab.core.experiments.model import (
    AtLeast,
    Check,
    Experiment,
    HistogramPlot,
    Near,
    Quantity,
    Shown,
    Statement,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.split_ack import criteria, plan
from windlass_lab.papers.split_ack.population import mean_data_packets

_NAME = plan.POPULATION.name
# "Some" of the thesis are six of 600 at least: losses move two or three from run to run.
_SHARE_MIN = 0.01
# The increase that 600 sites show in four cases of five, where 20 of them come into a range or
# leave it: 1.96 + 0.84 standard errors of 20 moves, 12.5 sites.
_SHOWN = 0.02
_FEW = 0.1
# A change that counts: a tenth.
_UNCHANGED, _MORE = Bounds(0.9, 1.1), Bounds(low=1.1)
# More. All servers are counted, not a sample, so any difference is real.
_INCREASE = Bounds(low=math.nextafter(1.0, 2.0))


def _built(key: str, label: str, says: str, means: Bounds, headline: bool = False) -> Statement:
    """A statement that the mix of servers was chosen to meet."""
    return Statement(
        _NAME,
        Quantity(key, label),
        says,
        means,
        headline,
        by_construction=True,
        exact=True,
        criterion=criteria.built("section 4.5"),
    )


def _found(key: str, label: str, says: str, means: Bounds) -> Statement:
    """A statement on what the stacks do, of which nothing was chosen."""
    return Statement(
        _NAME, Quantity(key, label), says, means, exact=True, criterion=criteria.said("section 4.5")
    )


# By figure or table. The bounds are the rule of each statement.
STATEMENTS: dict[str, tuple[Statement, ...]] = {
    "4.14": (
        _built("a.data_packets", "test A, data packets", "around 8 to 9", Bounds(8, 9)),
        _built("all.usual_data", "test A, share with 6 to 13", "about 83 %", Bounds(0.75, 0.91)),
    ),
    "4.15": (
        _built(
            "all.new_data",
            "data packets, C over A",
            "no significant impact",
            _UNCHANGED,
            headline=True,
        ),
        _found(
            "all.gained_share",
            "share with 10 to 16 data packets, C less A",
            "a small increase",
            Bounds(_SHOWN, _FEW),
        ),
        _built(
            "all.peak",
            "test C, the commonest number of data packets",
            "no peak at 16 to 17",
            Bounds(high=15),
        ),
        _built(
            "all.gaining", "share that gains", "a small number of sites", Bounds(_SHARE_MIN, _FEW)
        ),
        _built(
            "all.said.counts-bytes",
            "share without reaction",
            "most did not support it",
            Bounds(low=0.5),
        ),
        _built(
            "all.negative_less_gaining",
            "share that loses, less share that gains",
            "most that reacted did so poorly",
            Bounds(low=_SHARE_MIN),
        ),
    ),
    "Table 4.12": (
        _found(
            "counts-acks.new_data",
            "ACK counters, data packets, C over A",
            "nearly twice",
            Bounds(1.7, 2.3),
        ),
    ),
    "4.16": (
        _built("all.usual_total", "test A, share with 6 to 13 in all", "most", Bounds(low=0.5)),
        _found(
            "all.spread",
            "test A, spread of all packets over that of data packets",
            "more spread out",
            _INCREASE,
        ),
    ),
    "4.17": (
        _built(
            "all.traffic",
            "packets in all, C over A",
            "clearly increased",
            _MORE,
            headline=True,
        ),
        _built(
            "all.resent_part",
            "retransmissions among the added packets",
            "caused by retransmissions",
            Bounds(low=0.5),
            headline=True,
        ),
        _built(
            "all.resending",
            "share with more retransmissions",
            "a large portion of the sites",
            Bounds(low=0.25),
        ),
    ),
}


def _by_arithmetic() -> list[Check]:
    """Losses of 1 % on every tenth path take a little from what the stacks send."""
    return [
        Near(
            _NAME,
            Quantity(f"{test}.data_packets", f"test {test.upper()}, data packets by arithmetic"),
            Tolerance(relative=0.03),
            target=round(mean_data_packets(parts), 2),
            by_construction=True,
            criterion=criteria.ARITHMETIC,
        )
        for test, parts in (("a", 1), ("c", 4))
    ]


def _of_one_site() -> list[Check]:
    """Table 4.12: the averages of one site beside those of all that count ACKs."""
    names = {
        "data_packets": "data packets",
        "retransmissions": "retransmits",
        "total": "packets in all",
    }
    return [
        Near(
            _NAME,
            Quantity(f"counts-acks.{test}.{key}", f"ACK counters, test {test.upper()}, {label}"),
            Tolerance(relative=0.1),
            target=plan.POPULATION.published["counts-acks"][test][key],
            claim=True,
            criterion=criteria.TABLE_4_12,
        )
        for test in "ac"
        for key, label in names.items()
    ]


def _shown() -> list[Check]:
    quantities = [
        Quantity("answering", "servers that answer"),
        Quantity("tests_made", "tests made"),
        Quantity("elapsed_s", "time", "s"),
        Quantity("memory_mib", "memory of the survey", "MiB"),
        *(Quantity(f"{test}.total", f"test {test.upper()}, packets in all") for test in "ac"),
    ]
    return [Shown(_NAME, quantity) for quantity in quantities]


class Histogram(NamedTuple):
    """A figure of section 4.5: of which test and figure it is, and what the text says of it."""

    figure: str
    test: str
    key: str
    title: str
    axis: str
    says: str


HISTOGRAMS = (
    Histogram(
        "4.14",
        "a",
        "data_packets",
        "Data packets, test A",
        "data packets",
        "8 to 9 on average; 6 to 13 from 83 sites of 100",
    ),
    Histogram(
        "4.15",
        "c",
        "data_packets",
        "Data packets, test C",
        "data packets",
        "somewhat more sites with 10 to 16 packets, and no peak at 16 or 17",
    ),
    Histogram(
        "4.16",
        "a",
        "total",
        "All packets, test A",
        "packets",
        "most sites from 6 to 13, more spread than the data packets",
    ),
    Histogram(
        "4.17",
        "c",
        "total",
        "All packets, test C",
        "packets",
        "clearly more packets than at test A, by retransmissions",
    ),
)


def _histograms() -> list[HistogramPlot]:
    return [
        HistogramPlot(
            id=f"population-{of.test}-{of.key}",
            figure=of.figure,
            title=of.title,
            case=_NAME,
            key=f"{of.test}.hosts_by_{of.key}",
            axis=of.axis,
            says=of.says,
            keys=[statement.quantity.key for statement in STATEMENTS[of.figure]],
        )
        for of in HISTOGRAMS
    ]


POPULATION_EXPERIMENT = Experiment(
    id="4.5",
    chapter="4 Test results",
    section="4.5, Figures 4.14 to 4.17, Table 4.12",
    title="A population of 600 servers",
    shows="Of all servers together splitting raises the traffic, by retransmissions, and not the "
    "new data. The survey tells each server's reaction and initial window.",
    reading="The 600 most visited sites of 2011 cannot be asked again. These servers are played in "
    "a mix that is like the thesis's text: 5 of 100 count ACKs, 30 react poorly as FreeBSD 7 did, "
    "65 count bytes; initial windows of 1 to 16, so that 83 of 100 send 6 to 13 packets. The "
    "mix's properties hold by construction, and show that the survey finds them. RTTs are 5 to 300 "
    "ms, and every tenth path has a loss of 1 %. Not tested: the heights of the bars, since the "
    "scan has no pictures; that splitting had extreme effects on some sites, which the thesis does "
    "not name; and its time of over five hours, one test after the other.",
    quick=False,
    seconds=190.0,
    first_result=criteria.FIRST_SURVEY,
    kind="servers in a testbed",
    needs_root=True,
    servers=[plan.POPULATION],
    checks=[
        AtLeast(
            _NAME,
            Quantity("right_share", "reaction and initial window right, of those that answer"),
            0.99,
            headline=True,
            exact=True,
            criterion=criteria.RIGHT,
        ),
        *(statement for about in STATEMENTS.values() for statement in about),
        *_by_arithmetic(),
        *_of_one_site(),
        *_shown(),
    ],
    plots=_histograms(),
)
