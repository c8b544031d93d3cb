"""The criteria of the tests, and their verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median

from windlass_lab.core.estimate import Estimate
from windlass_lab.core.verdict import FAIL, INFORMATIVE, PASS, Comparison, Subject, meets_paper
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
from windlass_lab.papers.ecn_proxy.ratios import ratio
from windlass_lab.papers.ecn_proxy.runs import Run

Runs = Mapping[str, Sequence[Run]]

# Completion time through the proxy over end-to-end ECN's, with cross traffic; and over that without
# ECN, without cross traffic.
AS_NATIVE = (0.90, 1.05)
AS_WITHOUT = (None, 1.01)
_FAIR = (0.99, None)
_ANSWERED = (0.98, None)
_WAITING = (None, 0.06)
Bounds = tuple[float | None, float | None]


def judge(direction: str, load: str, runs: Runs) -> list[Comparison]:
    """Every figure of a table."""
    found = [*_with_cross_traffic(direction, load, runs), *_without(direction, load, runs)]
    return [comparison for comparison in found if comparison is not None]


def _with_cross_traffic(direction: str, load: str, runs: Runs) -> Iterator[Comparison | None]:
    def pair(above: str, bounds: Bounds | None, headline: bool = False) -> Comparison | None:
        tests = [Test(direction, load, True, name) for name in (above, NATIVE)]
        return _ratio(tests, runs, bounds, headline)

    # The paper transferred single files once; they say less.
    yield pair(PROXY, None if load == FILES else AS_NATIVE, headline=load != FILES)
    yield pair(NEITHER, None)
    yield pair(NATIVE_PROXY, None)
    yield pair(OWN_PROXIES, AS_NATIVE)
    test = Test(direction, load, True, PROXY)
    if test.connections > 1:
        yield _fairness(test, runs)
    yield _taken_on(test, runs)
    if direction == "upload":
        yield from _answers(test, runs)


def _without(direction: str, load: str, runs: Runs) -> Iterator[Comparison | None]:
    pairs = ((IDLE_PROXY, NEITHER), (NATIVE_PROXY, NATIVE), (PROXY, NEITHER))
    for names in pairs:
        tests = [Test(direction, load, False, name) for name in names]
        yield _ratio(tests, runs, AS_WITHOUT)


def _ratio_of_medians(above: Sequence[float] | None, below: Sequence[float] | None) -> float | None:
    return round(median(above) / median(below), 3) if above and below else None


def _ratio(
    tests: Sequence[Test], runs: Runs, bounds: Bounds | None, headline: bool = False
) -> Comparison | None:
    above, below = tests
    measured = [[run.seconds for run in runs.get(test.name, ())] for test in tests]
    if not all(measured):
        return None
    found = ratio(*measured)
    theirs = [published().get(test) for test in tests]
    traffic = "with cross traffic" if above.cross else "without cross traffic"
    return _comparison(
        f"Time, {LABELS[above.configuration]} over {LABELS[below.configuration]}, {traffic}",
        above,
        Estimate(found.value, found.sd, found.count),
        bounds,
        published=_ratio_of_medians(*theirs),
        why=f"95 % interval {found.low:.3f} to {found.high:.3f}" if found.count > 1 else "",
        headline=headline,
    )


def _fairness(test: Test, runs: Runs) -> Comparison | None:
    found = [run.fairness for run in runs.get(test.name, ())]
    if not found:
        return None
    what = "Fairness index of the connections, server ECN, proxy, with cross traffic"
    # The median: a connection whose SYN was lost goes on without ECN (RFC 3168 section 6.1.1.1).
    return _comparison(what, test, Estimate(median(found), _estimate(found).sd, len(found)), _FAIR)


def _taken_on(test: Test, runs: Runs) -> Comparison | None:
    """Left alone is one whose SYN was lost, and what goes to a host where that happened."""
    proxies = [proxy for run in runs.get(test.name, ()) for proxy in run.proxies]
    seen = sum(proxy.get("proxied", 0) + proxy.get("bypassed", 0) for proxy in proxies)
    if not seen:
        return None
    share = sum(proxy["proxied"] for proxy in proxies) / seen
    what = "Connections that the proxy took on, with cross traffic"
    return _comparison(what, test, Estimate(share, 0.0, len(proxies)), None)


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
    yield _comparison(what, test, Estimate(answered, 0.0, len(proxies)), _ANSWERED)
    waiting = sum(proxy["ect_waiting"] for proxy in proxies) / max(
        1, sum(p["ect"] for p in proxies)
    )
    what = "Share of ECT packets sent while an answer waits"
    yield _comparison(what, test, Estimate(waiting, 0.0, len(proxies)), _WAITING)


def _estimate(values: Sequence[float]) -> Estimate:
    mean = fmean(values)
    variance = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
    return Estimate(mean, variance**0.5, len(values))


def _comparison(
    quantity: str,
    test: Test,
    measured: Estimate,
    bounds: Bounds | None,
    published: float | None = None,
    why: str = "",
    headline: bool = False,
) -> Comparison:
    low, high = bounds or (None, None)
    inside = (low is None or measured.mean >= low) and (high is None or measured.mean <= high)
    prefix = "Files" if test.load == FILES else f"{test.load} conn."
    return Comparison(
        quantity=f"{test.direction.capitalize()}, {prefix}: {quantity}",
        unit="",
        flow=None,
        published=published,
        reference=None,
        measured=measured,
        target=None,
        allowed=_allowed(low, high),
        low=low,
        high=high,
        verdict=INFORMATIVE if bounds is None else PASS if inside else FAIL,
        paper=meets_paper(Subject(quantity, published=published, measured=measured)),
        why=why,
        headline=headline,
        case=test.name,
        key="",
    )


def _allowed(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if low is not None:
        return f"≥ {low:g}"
    return f"≤ {high:g}" if high is not None else ""
