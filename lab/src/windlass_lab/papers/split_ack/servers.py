"""The fourth chapter of R. E. G. Normann's thesis: servers, measured from outside. The servers of
2011 cannot be asked again; they have stand-ins whose reaction is known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from windlass_lab.core.experiments.model import (
    Arithmetic,
    AtLeast,
    BarPlot,
    Check,
    Experiment,
    Near,
    Quantity,
    ServersTable,
    Shown,
    Statement,
    TestsPlot,
)
from windlass_lab.core.experiments.servers import SPLITS, ServerCase
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.verdict import Tolerance
from windlass_lab.papers.split_ack import criteria, plan
from windlass_lab.papers.split_ack.arithmetic import predicted_packets
from windlass_lab.papers.split_ack.survey import POPULATION_EXPERIMENT

_CHAPTER = "4 Test results"
_KIND = "servers in a testbed"
# Of figures in whole numbers: this one and no other.
_EXACTLY = Tolerance(absolute=0.5)
_ALL = tuple(SPLITS)
# Tests A to E and S, ten runs, and three seconds of silence in each.
_SECONDS = 220.0


def _figure(test: str, key: str) -> Quantity:
    names = {
        "acks": ("ACKs", ""),
        "data_packets": ("data packets", ""),
        "retransmissions": ("retransmits", ""),
        "total": ("packets in all", ""),
        "kilobytes": ("size", "kB"),
        "gain": ("data packets over those of A", ""),
        "gain_bytes": ("bytes over those of A", ""),
        "shrinks_percent": ("packets smaller than those of A by", "%"),
        "resent_points": ("retransmits of 100 data packets, more than at A", "packets"),
        "sd_rise": ("standard deviation of data packets, more than at A", "packets"),
    }
    label, unit = names[key]
    return Quantity(f"{test.lower()}.{key}", f"test {test}, {label}", unit)


def _is(case: ServerCase, key: str, what: str, headline: bool = False) -> Near:
    """A statement that holds (1) or does not (0)."""
    quantity = Quantity(key, f"{what} (1: so)")
    return Near(
        case.name, quantity, _EXACTLY, target=1, headline=headline, criterion=criteria.STACK
    )


def _packets(case: ServerCase, packets: Mapping[str, float], headline: bool = False) -> list[Check]:
    return [
        Near(
            case.name,
            _figure(test, "data_packets"),
            _EXACTLY,
            target=count,
            headline=headline,
            criterion=criteria.ARITHMETIC,
        )
        for test, count in packets.items()
    ]


def _as_published(case: ServerCase, initial_window: int, reaction: str) -> Iterator[Check]:
    """Without a gain: two packets for each of the ACKs, whatever the split."""
    acked = min(3, initial_window)
    yield from _packets(case, dict.fromkeys(_ALL, initial_window + 2 * acked))
    yield _window(case, initial_window)
    yield _is(case, "initial_window.exact", "the initial window is exact")
    yield _is(case, f"verdict.{reaction}", f"the probe says: {reaction.replace('-', ' ')}")


# Stacks that the lab plays so that they do what the paper saw.
_PLAYED = {plan.WINDOWS_2003.name, plan.FREEBSD_7.name}


def _as_built(check: Check) -> Check:
    """A check on a played stack or on an initial window that the lab set: by construction."""
    set_by_the_lab = isinstance(check, Near) and check.quantity.key == "initial_window.packets"
    if isinstance(check, Near | AtLeast) and (check.case in _PLAYED or set_by_the_lab):
        why = criteria.AS_SET if set_by_the_lab else criteria.PLAYED
        return replace(check, by_construction=True, criterion=why)
    return check


def _window(case: ServerCase, packets: int, headline: bool = False) -> Near:
    quantity = Quantity("initial_window.packets", "initial window", "packets")
    return Near(
        case.name,
        quantity,
        _EXACTLY,
        target=packets,
        headline=headline,
        criterion=criteria.AS_SET,
    )


_WINDOWS = (
    (plan.APPLE, 3),
    (plan.ORACLE, 4),
    (plan.GOOGLE, 10),
    (plan.MICROSOFT, 16),
    (plan.LINUX, 3),
)


def _of_counter(case: ServerCase, prediction: Arithmetic, tests: Sequence[str]) -> list[Check]:
    """An ACK counter by arithmetic, and what the paper predicts of it by the paper's own rule."""
    packets = {test: plan.COUNTER_PACKETS[test] for test in tests}
    return [
        *_packets(case, packets, headline=True),
        *(
            Near(
                case.name,
                _figure(test, "acks"),
                _EXACTLY,
                target=3 * SPLITS[test],
                criterion=criteria.ARITHMETIC,
            )
            for test in tests
        ),
        _window(case, 3),
        _is(case, "verdict.counts-acks", "the probe says: counts ACKs"),
        *(
            Near(
                prediction.name,
                _figure(test, "data_packets"),
                _EXACTLY,
                target=plan.COUNTER.published[test.lower()]["data_packets"],
                claim=True,
                criterion=criteria.BY_ITS_RULE,
            )
            for test in tests
        ),
    ]


def _arithmetic(short: bool) -> Experiment:
    suffix = "-short" if short else ""
    case = _short(plan.COUNTER) if short else plan.COUNTER
    tests = case.tests.split(",")[:-1]
    prediction = _prediction(tests)
    checks = _of_counter(case, prediction, tests)
    servers = [case]
    if short:
        kernel, lwip_like = (_short(each) for each in (plan.GOOGLE, plan.OTHERS[0]))
        servers += [kernel, lwip_like]
        for each, window in ((kernel, 10), (lwip_like, 3)):
            checks += _packets(each, dict.fromkeys(tests, window + 6))
            checks += [
                _window(each, window),
                _is(each, "verdict.counts-bytes", "the probe says: counts bytes"),
            ]
    return Experiment(
        id=f"4.2.2{suffix}",
        chapter=_CHAPTER,
        section="4.2.2, Tables 4.1 and 4.2",
        title="Data packets of the tests where ACKs are counted" + (", in short" if short else ""),
        shows="An ACK counter with an initial window of 3 sends 9, 12, 18, 30, 42 packets: what "
        "three ACKs free, and a segment for each of their parts.",
        reading="The paper predicts its initial window and two packets for each ACK: 9, 15, 27, "
        "51 and 75 (Table 4.2). It prints 39 for test D, which is 3 + 36, the ACKs of test E. "
        "Parts of an ACK free no more than the ACK itself, so that 18 come at a split of 4: the "
        "double of test A, as the paper measured. The packets are judged by that arithmetic; the "
        "table's numbers are judged by the paper's own rule.",
        quick=short,
        short=short,
        seconds=15.0 if short else _SECONDS,
        first_result=criteria.FIRST_RESULT,
        kind=_KIND,
        needs_root=True,
        servers=servers,
        arithmetic=[prediction],
        checks=checks,
        plots=[
            TestsPlot(
                id=f"tests-counter{suffix}",
                title="Packets and bytes by test",
                cases=[each.name for each in servers],
                keys=[_figure(test, "data_packets").key for test in tests],
            )
        ],
        tables=[
            ServersTable("Table 4.2: the prediction, and what comes", [case.name], tests),
        ],
    )


def _prediction(tests: Sequence[str]) -> Arithmetic:
    """Table 4.2 by its own rule, of tests that the experiment has."""
    short = "" if len(tests) == len(_ALL) else "-short"
    return Arithmetic(
        f"table-4.2{short}",
        "two packets for each part",
        lambda: {
            test.lower(): {"data_packets": predicted_packets(3 * SPLITS[test])} for test in tests
        },
        {
            test.lower(): {"data_packets": plan.COUNTER.published[test.lower()]["data_packets"]}
            for test in tests
        },
    )


def _short(case: ServerCase) -> ServerCase:
    return ServerCase(
        f"{case.name}-short",
        case.label,
        case.server,
        case.published,
        tests="A,C,E,S",
        timeout_s=0.3,
        most_runs=3,
    )


def _preliminary() -> Experiment:
    servers = [*plan.SYSTEMS, *plan.COMPANIES]
    shown = [_figure("A", key) for key in ("data_packets", "retransmissions", "total", "kilobytes")]
    return Experiment(
        id="4.3",
        chapter=_CHAPTER,
        section="4.3, Tables 4.3 to 4.11",
        title="Servers without splitting",
        shows="A server's packets for three ACKs tell its initial window: that, and two packets "
        "for each ACK.",
        reading="Each server of 2011 has a stand-in of today, named beside it; their figures are "
        "held against the stand-in's initial window and not against those of 2011, whose "
        "stacks, pages and paths are not known. Retransmissions are those within three seconds: "
        "the retransmission timer's. Sizes are the data of all packets.",
        quick=False,
        seconds=_SECONDS,
        first_result=criteria.FIRST_RESULT,
        kind=_KIND,
        needs_root=True,
        servers=servers,
        checks=[
            *(
                replace(_window(case, window, headline=case is plan.GOOGLE), by_construction=True)
                for case, window in _WINDOWS
            ),
            *(
                _is(case, "initial_window.exact", "the initial window is exact")
                for case, _ in _WINDOWS
            ),
            *(Shown(case.name, quantity) for case in servers for quantity in shown),
        ],
        plots=[
            *_bars("4.2", "4.3", "operating systems", plan.SYSTEMS),
            *_bars("4.4", "4.5", "companies", plan.COMPANIES),
        ],
        tables=[
            ServersTable("Tables 4.3 to 4.7: operating systems", [c.name for c in plan.SYSTEMS]),
            ServersTable("Tables 4.8 to 4.11: companies", [c.name for c in plan.COMPANIES]),
        ],
    )


def _bars(packets: str, size: str, whose: str, servers: Sequence[ServerCase]) -> Iterator[BarPlot]:
    names = [case.name for case in servers]
    short = whose.split(" ")[0]
    for figure, key, title in (
        (packets, "data_packets", f"Data packets of the {whose} at test A"),
        (packets, "retransmissions", f"Retransmissions of the {whose} at test A"),
        (size, "kilobytes", f"File size of the {whose} at test A"),
    ):
        yield BarPlot(f"{short}-{key}", title, names, _figure("A", key), figure=figure)


def _split_figures() -> Iterator[TestsPlot]:
    gains = ("b.gain", "c.gain", "e.gain", "e.resent_points")
    for figure, chosen, says in (
        (
            "4.6",
            [plan.SOLARIS],
            "four ACKs for one double what comes, twelve bring four times as much, without more "
            "retransmissions",
        ),
        ("4.7", [plan.LINUX], "no effect"),
        (
            "4.8",
            [plan.WINDOWS_2003],
            "four ACKs for one double what comes; around three times as much data in the end",
        ),
        ("4.9", [plan.FREEBSD_7], "no more data, smaller packets, more retransmissions"),
        ("4.10", [plan.WINDOWS_7], "no effect"),
        ("4.11", [plan.APPLE, plan.ORACLE], "no effect"),
        ("4.12", [plan.MICROSOFT], "less data, and runs that differ less"),
        ("4.13", [plan.GOOGLE], "no gain"),
    ):
        keys = ("e.gain_bytes", "e.shrinks_percent") if chosen == [plan.FREEBSD_7] else gains
        yield TestsPlot(
            id=f"split-{chosen[0].name}",
            figure=figure,
            title=" and ".join(case.label.partition(":")[0] for case in chosen) + ", by test",
            cases=[case.name for case in chosen],
            says=says,
            keys=keys,
        )


def _gains(case: ServerCase, packets: Mapping[str, float]) -> Iterator[Near]:
    """Two servers gained in the paper. Both are held against their stand-in's arithmetic, and by
    the rules of the paper's words against those.
    """
    for test in ("B", "C", "E"):
        target = round(packets[test] / packets["A"], 2)
        yield Near(
            case.name,
            _figure(test, "gain"),
            Tolerance(relative=0.05),
            target=target,
            headline=test == "E",
            criterion=criteria.ARITHMETIC,
        )


def _resent() -> Iterator[Statement]:
    """Servers that gained did so at the cost of few retransmissions."""
    for case, says, most in (
        (plan.SOLARIS, "retransmissions did not increase", 0.0),
        (plan.WINDOWS_2003, "only 2.5 % more are sent again", 2.5),
    ):
        quantity = _figure("E", "resent_points")
        built = case.name in _PLAYED
        yield Statement(
            case.name,
            quantity,
            says,
            Bounds(high=most),
            by_construction=built,
            criterion=criteria.said("section 4.4"),
        )


# The text's statements on the companies' servers, by test E beside test A: data packets, the spread
# of the runs (a standard deviation, in packets), and retransmissions.
_COMPANIES = (
    (plan.APPLE, "4.11(a)", "gain", "a small decrease of the data packets", Bounds(0.9, 0.99)),
    (plan.APPLE, "4.11(a)", "resent_points", "slightly more sent again", Bounds(low=0.1)),
    (plan.ORACLE, "4.11(b)", "gain", "no effect", Bounds(0.95, 1.05)),
    (plan.MICROSOFT, "4.12", "gain", "less data: 10 packets of 24.6 fewer", Bounds(0.49, 0.69)),
    (plan.MICROSOFT, "4.12", "sd_rise", "runs that differ less", Bounds(high=-0.1)),
    (plan.GOOGLE, "4.13", "gain", "no gain", Bounds(high=1.05)),
    (plan.GOOGLE, "4.13", "sd_rise", "less stable", Bounds(low=0.1)),
)


def _of_companies() -> Iterator[Statement]:
    """Their stand-ins have a path without losses or other traffic, so that runs do not differ."""
    for case, figure, key, says, means in _COMPANIES:
        yield Statement(
            case.name,
            _figure("E", key),
            says,
            means,
            criterion=criteria.said(f"section 4.4.2, Figure {figure}", criteria.FIRST_THEORY),
        )


def _of_many_parts() -> Iterator[Statement]:
    """The text's statements on 200 ACKs for one, beside the same server without splitting."""
    for key, says, means in (
        ("resent_points", "a large amount of retransmissions", Bounds(low=50)),
        ("kilobytes", "a few bytes", Bounds(high=1)),
        ("gain", "no beneficial use", Bounds(high=1.05)),
    ):
        yield Statement(
            plan.LINUX_200.name,
            _figure(plan.MANY_PARTS, key),
            says,
            means,
            criterion=criteria.said("section 4.4.1, Linux 2.6.9", criteria.FIRST_THEORY),
        )


def _split() -> Experiment:
    judged: list[Check] = [
        *_packets(plan.SOLARIS, plan.COUNTER_PACKETS),
        *_gains(plan.SOLARIS, plan.COUNTER_PACKETS),
        *_gains(plan.WINDOWS_2003, plan.WINDOWS_2003_PACKETS),
        *_resent(),
        *(
            _is(case, "verdict.counts-acks", "the probe says: counts ACKs")
            for case in (plan.SOLARIS, plan.WINDOWS_2003)
        ),
        *_packets(plan.FREEBSD_7, dict.fromkeys(SPLITS, 9)),
        AtLeast(
            plan.FREEBSD_7.name,
            _figure("E", "shrinks_percent"),
            10,
            criterion=criteria.said("section 4.4"),
        ),
        _is(plan.FREEBSD_7, "bytes_fall", "the size falls from A to E", headline=True),
        _is(
            plan.FREEBSD_7,
            "retransmissions_rise",
            "retransmissions rise from A to E",
            headline=True,
        ),
        _is(plan.FREEBSD_7, "verdict.negative", "the probe says: negative"),
    ]
    for case, window in (*_WINDOWS, (plan.WINDOWS_7, 2)):
        judged += _as_published(case, window, "counts-bytes")
        judged += [
            Near(
                case.name,
                _figure(test, "gain"),
                Tolerance(absolute=0.01),
                target=1,
                criterion=criteria.ARITHMETIC,
            )
            for test in ("C", "E")
        ]
    checks = [*(_as_built(check) for check in judged), *_of_companies(), *_of_many_parts()]
    servers = [*plan.SYSTEMS, *plan.COMPANIES]
    return Experiment(
        id="4.4",
        chapter=_CHAPTER,
        section="4.4, Figures 4.6 to 4.13",
        title="Servers under split ACKs",
        shows="Where ACKs are counted splitting multiplies what comes; where bytes or packets are, "
        "as in Linux, nothing changes.",
        reading="Two stand-ins do what the paper saw, by a mechanism that is assumed. Windows 2003 "
        "counts ACKs and has 24 segments in flight at most: a send buffer of its own, or the "
        "receive window of the paper's client, would do that. FreeBSD 7 counts whole segments "
        "and has six packets in flight at most: what an ACK frees goes out at once as a short "
        "packet, which takes up the place of a full one; and the rest of a segment that an ACK "
        "ends in is sent again. So packets stay, bytes fall and retransmissions rise.",
        quick=False,
        seconds=_SECONDS,
        first_result=criteria.FIRST_RESULT,
        kind=_KIND,
        needs_root=True,
        servers=[*servers, plan.LINUX_200],
        checks=checks,
        plots=list(_split_figures()),
        tables=[ServersTable("All tests", [case.name for case in servers], _ALL)],
    )


def _stacks() -> Experiment:
    rfc3465_2, linux, reno = plan.OTHERS
    checks = [
        *_as_published(rfc3465_2, 3, "counts-bytes"),
        *_as_published(linux, 10, "counts-bytes"),
        *_as_published(reno, 10, "counts-bytes"),
        _is(rfc3465_2, "limit.two", "the probe says: L = 2", headline=True),
        _is(linux, "limit.none", "the probe says: without a limit"),
        _is(reno, "limit.none", "the probe says: without a limit"),
    ]
    return _more(
        "stacks", "Other stacks", "Test S tells the limit L of byte counting.", plan.OTHERS, checks
    )


def _lwip() -> Experiment:
    checks = [
        *_as_published(plan.LWIP, 3, "counts-bytes"),
        _is(plan.LWIP, "limit.two", "the probe says: L = 2", headline=True),
    ]
    shows = (
        "lwIP counts bytes, at most two segments an ACK, from 4,380 bytes on, as its source says."
    )
    return _more("lwip", "A stack of other people: lwIP", shows, [plan.LWIP], checks)


def _smoltcp() -> Experiment:
    new, old = plan.SMOLTCP, plan.SMOLTCP_BEFORE
    exact = "initial_window.exact"
    checks = [
        # One segment of 1,460 bytes goes into its 2,048.
        *_as_published(new, 1, "counts-bytes"),
        _is(old, "verdict.no-congestion-window", "the probe says: no congestion window", True),
        Near(
            old.name,
            Quantity(exact, "the initial window is exact"),
            _EXACTLY,
            target=0,
            criterion=criteria.STACK,
        ),
    ]
    shows = (
        "smoltcp counts bytes, at most a segment an ACK, from 2,048 bytes on; before 0.14 it fills "
        "whatever receive window there is. Its source says both."
    )
    return _more("smoltcp", "A stack of other people: smoltcp", shows, [new, old], checks)


def _https() -> Experiment:
    checks: list[Check] = []
    segments = Quantity("initial_window.segments", "initial window at least", "segments")
    for case, window in zip(plan.HTTPS, (3, 10), strict=True):
        checks += [
            # No more than it is.
            Near(
                case.name,
                segments,
                Tolerance(absolute=1.5),
                target=window - 1,
                criterion=criteria.STACK,
            ),
            _is(case, "verdict.counts-bytes", "the probe says: counts bytes"),
            Near(
                case.name,
                Quantity("initial_window.packets", "first flight", "packets"),
                _EXACTLY,
                target=window,
                criterion=criteria.STACK,
            ),
            Near(
                case.name,
                Quantity(
                    "initial_window.exact", "said to be the initial window (0: a lower bound)"
                ),
                _EXACTLY,
                target=0,
                headline=True,
                criterion=criteria.STACK,
            ),
        ]
    shows = (
        "With TLS the first flight begins with the handshake's short packets: what is seen of the "
        "initial window is a lower bound, and the probe says so."
    )
    return _more("https", "Through TLS", shows, plan.HTTPS, checks)


def _more(
    id_: str, title: str, shows: str, servers: Sequence[ServerCase], checks: Sequence[Check]
) -> Experiment:
    names = [case.name for case in servers]
    return Experiment(
        id=id_,
        chapter=_CHAPTER,
        section="beyond the paper",
        title=title,
        shows=shows,
        quick=False,
        seconds=_SECONDS,
        first_result=criteria.FIRST_RESULT,
        kind=_KIND,
        needs_root=True,
        servers=servers,
        checks=checks,
        plots=[TestsPlot(id=f"tests-{id_}", title="Packets and bytes by test", cases=names)],
        tables=[ServersTable("All tests", names, _ALL)],
    )


SERVERS = [
    _arithmetic(short=False),
    _preliminary(),
    _split(),
    _stacks(),
    _lwip(),
    _smoltcp(),
    _https(),
    POPULATION_EXPERIMENT,
    _arithmetic(short=True),
]
