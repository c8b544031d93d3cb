"""The criteria of the tests, and their verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median

from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.interval import Interval
from windlass_lab.core.statistics.ratios import ratio
from windlass_lab.core.verdicts.verdict import (
    TRIVIAL,
    Asked,
    Comparison,
    Subject,
    informative,
    meets_paper,
    within,
)
from windlass_lab.papers.ecn_proxy import criteria
from windlass_lab.papers.ecn_proxy.plan import (
    FILES,
    IDLE_PROXY,
    LABELS,
    NATIVE,
    NATIVE_PROXY,
    NEITHER,
    OWN_PROXIES,
    PROXY,
    Test,
)
from windlass_lab.papers.ecn_proxy.published import published
from windlass_lab.papers.ecn_proxy.runs import Run

Runs = Mapping[str, Sequence[Run]]


# Runs of the simulator of tests that are alike by their nature, or shown only: start times alone
# make them differ, and files are a hundred transfers a run. Kernels have as many as for the others.
SEEDS_ALIKE = 3


def takes_fewer_runs(test: Test) -> bool:
    """Whether all configurations do the same, as where nothing is marked, or it is shown only."""
    return not test.cross or test.load == FILES


# Bounds that other tests have too.
AS_NATIVE, AS_WITHOUT = criteria.AS_NATIVE, criteria.AS_WITHOUT


def judge(
    direction: str, load: str, runs: Runs, fewest: int, of_alike: int = SEEDS_ALIKE
) -> list[Comparison]:
    """Every figure of a table; `fewest` runs decide a bound, and `of_alike` runs one between tests
    that are alike by their nature.
    """
    found = [
        *_with_cross_traffic(direction, load, runs, fewest),
        *_without(direction, load, runs, of_alike),
    ]
    return [comparison for comparison in found if comparison is not None]


def _with_cross_traffic(
    direction: str, load: str, runs: Runs, fewest: int
) -> Iterator[Comparison | None]:
    def pair(above: str, asked: Asked | None, headline: bool = False) -> Comparison | None:
        tests = [Test(direction, load, True, name) for name in (above, NATIVE)]
        return _ratio(tests, runs, asked, fewest, headline)

    # The paper transferred single files once; they say less.
    yield pair(PROXY, None if load == FILES else AS_NATIVE, headline=load != FILES)
    yield pair(NEITHER, None)
    yield pair(NATIVE_PROXY, None)
    yield pair(OWN_PROXIES, AS_NATIVE)
    test = Test(direction, load, True, PROXY)
    if test.connections > 1:
        yield _fairness(test, runs, fewest)
    yield _taken_on(test, runs)
    if direction == "upload":
        yield from _answers(test, runs)


def _without(direction: str, load: str, runs: Runs, fewest: int) -> Iterator[Comparison | None]:
    pairs = ((IDLE_PROXY, NEITHER), (NATIVE_PROXY, NATIVE), (PROXY, NEITHER))
    for names in pairs:
        tests = [Test(direction, load, False, name) for name in names]
        # Without congestion there is nothing to mark: whatever the proxy does, it is 1.
        found = _ratio(tests, runs, AS_WITHOUT, fewest)
        yield replace(found, kind=TRIVIAL) if found else None


def _ratio_of_medians(above: Sequence[float] | None, below: Sequence[float] | None) -> float | None:
    return round(median(above) / median(below), 3) if above and below else None


def _ratio(
    tests: Sequence[Test],
    runs: Runs,
    asked: Asked | None,
    fewest: int,
    headline: bool = False,
) -> Comparison | None:
    above, below = tests
    measured = [[run.seconds for run in runs.get(test.name, ())] for test in tests]
    if not all(measured):
        return None
    found = ratio(*measured)
    theirs = [published().get(test) for test in tests]
    traffic = "with cross traffic" if above.cross else "without cross traffic"
    subject = replace(
        _subject(
            f"Time, {LABELS[above.configuration]} over {LABELS[below.configuration]}, {traffic}",
            above,
            found.estimate,
        ),
        published=_ratio_of_medians(*theirs),
        headline=headline,
        fewest=fewest,
    )
    compared = held(subject, asked, found.interval)
    # An idle proxy changes nothing, with cross traffic or without: neither where no end has ECN nor
    # where both ends ask for it.
    idle = above.configuration in (IDLE_PROXY, NATIVE_PROXY)
    return replace(compared, kind=TRIVIAL) if idle else compared


def held(subject: Subject, asked: Asked | None, span: Interval | None) -> Comparison:
    """Against its bounds, if it has some, and against the published figure, if there is one."""
    if asked is None:
        about = replace(subject, criterion=criteria.PUBLISHED if subject.published else None)
        return replace(informative(about), paper=meets_paper(about), interval=_ends(span))
    return within(replace(subject, criterion=asked.criterion), asked.bounds, span)


def _ends(span: Interval | None) -> tuple[float, float] | None:
    return (span.low, span.high) if span else None


def _fairness(test: Test, runs: Runs, fewest: int) -> Comparison | None:
    found = [run.fairness for run in runs.get(test.name, ())]
    if not found:
        return None
    what = "Fairness index of the connections, server ECN, proxy, with cross traffic"
    # The median: a connection whose SYN was lost goes on without ECN (RFC 3168 section 6.1.1.1).
    middle = Estimate(median(found), _deviation(found), len(found))
    return held(replace(_subject(what, test, middle), fewest=fewest), criteria.FAIR, None)


def _taken_on(test: Test, runs: Runs) -> Comparison | None:
    """Left alone is one whose SYN was lost, and what goes to a host where that happened."""
    proxies = [proxy for run in runs.get(test.name, ()) for proxy in run.proxies]
    seen = sum(proxy.get("proxied", 0) + proxy.get("bypassed", 0) for proxy in proxies)
    if not seen:
        return None
    share = sum(proxy["proxied"] for proxy in proxies) / seen
    what = "Connections that the proxy took on, with cross traffic"
    return held(_subject(what, test, Estimate(share, 0.0, len(proxies))), None, None)


def _answers(test: Test, runs: Runs) -> Iterator[Comparison]:
    """The proxy's counters, summed over the runs of a test: single runs have few marks."""
    proxies = [proxy for run in runs.get(test.name, ()) for proxy in run.proxies]
    proxies = [proxy for proxy in proxies if proxy.get("episodes")]
    if not proxies:
        return
    ended = [
        sum(value for key, value in proxy.items() if key.startswith("answered_"))
        for proxy in proxies
    ]
    passed = [proxy["passed_over"] for proxy in proxies]
    answered = sum(ended) / max(1, sum(ended) + sum(passed))
    what = "Marks (ECE episodes) answered by the sender, with cross traffic"
    yield _of_all(what, test, Estimate(answered, 0.0, len(proxies)), criteria.ANSWERED)
    waiting = sum(proxy["ect_waiting"] for proxy in proxies) / max(
        1, sum(p["ect"] for p in proxies)
    )
    what = "Share of ECT packets sent while an answer waits"
    yield _of_all(what, test, Estimate(waiting, 0.0, len(proxies)), criteria.WAITING)


def _of_all(what: str, test: Test, measured: Estimate, asked: Asked) -> Comparison:
    """A share of thousands of packets, over all runs together."""
    return held(replace(_subject(what, test, measured), exact=True), asked, None)


def _deviation(values: Sequence[float]) -> float:
    # In floating point, to the last digit as earlier results have it.
    mean = fmean(values)
    return (sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)) ** 0.5


def _subject(quantity: str, test: Test, measured: Estimate) -> Subject:
    prefix = "Files" if test.load == FILES else f"{test.load} conn."
    return Subject(
        f"{test.direction.capitalize()}, {prefix}: {quantity}", measured=measured, case=test.name
    )
