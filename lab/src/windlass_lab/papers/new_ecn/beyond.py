"""New-ECN beyond its paper: a modern stack, the limit cycle, what the result is sensitive to."""

from collections.abc import Mapping, Sequence

from windlass_lab.core.experiments.model import (
    Ascending,
    Case,
    Check,
    Effect,
    Experiment,
    Line,
    Near,
    SeriesPlot,
    Shown,
    Statement,
    SweepPlot,
)
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.p_max import how_much_p_max_matters
from windlass_lab.papers.new_ecn.plan import (
    DROPS,
    FAIRNESS_TOLERANCE,
    FIGURES_ONLY,
    QUEUE,
    RED_AVERAGE,
    S1_ECN,
    S1_NEW,
    STEADY_FAIRNESS,
    STEADY_SHARE,
    STEADY_TOTAL,
    TIMEOUTS,
    UNMARKED,
)

_CHAPTER = "Beyond the paper"
# RED's upper threshold in the scenario of 16 flows, in packets.
_UPPER = 20

# Linux has no limit of 128 segments; what bounds its window here are buffers of 4 MiB. The slow
# start threshold stays that of the scenarios: a first slow start without any would say more about
# the first seconds than about fairness.
_LINUX = {"defaults.profile": "linux", "defaults.window_limit": "100000 segments"}

_SETUPS = (
    ("s1_10M_p0.1", "setup 1"),
    ("s2_2M_p0.1", "setup 2, p_max 0.1"),
    ("s2_2M_p0.2", "setup 2, p_max 0.2"),
    ("many16", "16 flows"),
)
_ALSO_MODERN = (
    "single_5M_reno",
    "single_5M_ecn",
    "single_5M_newecn",
    "mix_3new_3reno",
    "mix_3new_3ecn",
    "mix_6ecn",
)
MODERN = {
    name: f"{name}@linux"
    for name in (
        *(f"{stem}_{kind}" for stem, _ in _SETUPS for kind in ("newecn", "ecn")),
        *_ALSO_MODERN,
    )
}


def beyond_the_paper() -> list[Experiment]:
    """The experiments that the paper does not have."""
    return [_modern_stack(), _limit_cycle(), how_much_p_max_matters(), _window_limit()]


def _linux(scenario: str, label: str, suffix: str = "", **overrides: object) -> Case:
    replaced = {f"defaults.{key}": value for key, value in overrides.items()}
    return Case(f"{scenario}@linux{suffix}", label, scenario, _LINUX | replaced)


def _modern_setup(stem: str, setup: str) -> tuple[list[Case], list[Check]]:
    """New-ECN, with and without a handshake, and its rivals on one setup."""
    new = _linux(f"{stem}_newecn", f"New-ECN, {setup}")
    bare = _linux(f"{stem}_newecn", f"New-ECN without handshake, {setup}", "-bare", handshake=False)
    ecn = _linux(f"{stem}_ecn", f"ECN Reno, {setup}")
    cubic = _linux(f"{stem}_ecn", f"CUBIC with ECN, {setup}", "-cubic", controller="cubic")
    original, rivals = f"{stem}_newecn", [ecn.name, cubic.name]
    checks: list[Check] = []
    for case in (new, bare):
        checks.append(
            Effect(
                case.name,
                original,
                STEADY_FAIRNESS,
                "as fair as before",
                Bounds(low=0.95),
                criterion=criteria.MODERN,
            )
        )
        checks += [
            Ascending([rival, case.name], STEADY_FAIRNESS, criterion=criteria.MODERN_ORDER)
            for rival in rivals
        ]
    cases = [new, bare, ecn, cubic]
    checks += [Shown(case.name, quantity) for case in cases for quantity in (UNMARKED, DROPS)]
    before = [Case(f"{stem}_newecn", "New-ECN"), Case(f"{stem}_ecn", "ECN Reno")]
    return [*before, *cases], checks


def _modern_stack() -> Experiment:
    cases: list[Case] = []
    checks: list[Check] = []
    for stem, setup in _SETUPS:
        more_cases, more_checks = _modern_setup(stem, setup)
        cases += more_cases
        checks += more_checks
    with_cubic = {f"flows.{number}.controller": "cubic" for number in (3, 4, 5)}
    cases += [_linux(name, name) for name in _ALSO_MODERN]
    beside_cubic = Case(
        "mix_3new_3ecn@linux-cubic",
        "3 New-ECN, 3 CUBIC with ECN",
        "mix_3new_3ecn",
        _LINUX | with_cubic,
    )
    checks += [Shown(beside_cubic.name, STEADY_SHARE), Shown(beside_cubic.name, STEADY_FAIRNESS)]
    return Experiment(
        id="linux",
        chapter=_CHAPTER,
        section="Profile linux: SACK, timestamps, delayed ACKs, initial window 10, RTO of 200 ms",
        title="Does the fairness survive a modern stack?",
        shows="The same scenarios with the profile linux and no window limit of 128 segments. The "
        "column Linux in the tables above is from these runs. Fairness counts as surviving when "
        "the index is no more than 0.05 below that of the paper's stack and above those of ECN "
        "Reno and CUBIC with ECN. Setup 2 at p_max 0.1 was not fair to begin with.",
        reading="A modern stack hurts New-ECN above all in the handshake. A SYN "
        "is not ECN-capable (RFC 3168 section 6.1.1); where one is dropped at a full queue, the "
        "next goes out without ECN, and that flow is never marked, only dropped, for as long as "
        "it lives. Without marks New-ECN is Reno, and its share follows its round-trip time "
        "again. The original had no handshake, and the same stack without one shows what "
        "the rest of it does: whole segments, to which Linux cuts, cost a little where windows "
        "are small. Linux goes on asking for ECN with net.ipv4.tcp_ecn_fallback = 0.",
        quick=False,
        seconds=45,
        first_result=criteria.BEGINNING,
        cases=[*cases, beside_cubic],
        checks=checks,
        plots=[_modern_plot()],
    )


def _modern_plot() -> SweepPlot:
    def line(label: str, suffix: str) -> Line:
        return Line(label, [(setup, f"{stem}{suffix}") for stem, setup in _SETUPS])

    return SweepPlot(
        "linux-fairness",
        "Fairness index from 10 s on, by stack and controller",
        [
            line("New-ECN, the paper's stack", "_newecn"),
            line("New-ECN, linux", "_newecn@linux"),
            line("New-ECN, linux without handshake", "_newecn@linux-bare"),
            line("ECN Reno, the paper's stack", "_ecn"),
            line("ECN Reno, linux", "_ecn@linux"),
            line("CUBIC with ECN, linux", "_ecn@linux-cubic"),
        ],
        STEADY_FAIRNESS,
        "",
    )


def _crowd(kind: str, flows: int, gentle: bool) -> Case:
    label = {"newecn": "New-ECN", "ecn": "ECN Reno"}[kind]
    each = flows // 16
    overrides: dict[str, object] = {f"flows.{number}.count": each for number in range(16)}
    overrides |= {"queues.marking.p_max": 0.1, "queues.marking.gentle": gentle}
    overrides |= {"duration": "40s"}
    slope = "gentle" if gentle else "not gentle"
    return Case(
        f"crowd{flows}_{kind}{'_gentle' if gentle else ''}",
        f"{flows} flows of {label}, {slope}",
        f"many16_{kind}",
        overrides,
    )


def _limit_cycle() -> Experiment:
    sizes = (16, 32, 48, 64)
    crowds = {
        (kind, size, gentle): _crowd(kind, size, gentle)
        for kind in ("newecn", "ecn")
        for size in sizes
        for gentle in (False, True)
    }
    shown = [
        crowds[key].name
        for key in (("newecn", 16, False), ("newecn", 16, True), ("ecn", 16, False))
    ]

    def line(kind: str, gentle: bool, label: str) -> Line:
        return Line(label, [(size, crowds[kind, size, gentle].name) for size in sizes])

    lines = [
        line("newecn", False, "New-ECN, not gentle"),
        line("newecn", True, "New-ECN, gentle"),
        line("ecn", False, "ECN Reno, not gentle"),
        line("ecn", True, "ECN Reno, gentle"),
    ]
    return Experiment(
        id="limit-cycle",
        chapter=_CHAPTER,
        section="Many flows and RED that is not gentle",
        title="The limit cycle",
        shows="With 16 or more flows of New-ECN at p_max 0.1 the average queue passes the upper "
        "threshold, and from there on RED that is not gentle drops every packet, marked or not. "
        "Windows that lose several packets end in timeouts, the link runs empty, the average "
        "falls, the flows come back by slow start, and the average passes the threshold again: "
        "several times a second. Gentle RED, which lets the probability grow from p_max to 1 "
        "between the threshold and twice that, breaks the cycle. ECN Reno, which yields half its "
        "window at a mark, has no cycle with 16 flows, and the same one from 32 on. "
        "docs/internals/limit-cycle.md tells how to see it.",
        quick=False,
        seconds=25,
        first_result=criteria.BEGINNING,
        cases=list(crowds.values()),
        checks=_checks_of_cycle(crowds, sizes),
        plots=[
            _cycle_plot("average_queue", "Average queue, as RED sees it", "packets", shown),
            _cycle_plot("total_cwnd_packets", "Sum of the windows", "packets", shown),
            _cycle_plot("flows_at_one_segment", "Flows with a window below 2", "flows", shown),
            SweepPlot("cycle-timeouts", "Timeouts of a flow in 40 s", lines, TIMEOUTS, "flows"),
            SweepPlot("cycle-rate", "Total rate from 10 s on", lines, STEADY_TOTAL, "flows"),
        ],
    )


def _checks_of_cycle(
    crowds: Mapping[tuple[str, int, bool], Case], sizes: Sequence[int]
) -> list[Check]:
    by_gentle = [
        [crowds["newecn", size, gentle].name for gentle in (True, False)] for size in sizes
    ]
    by_kind = [crowds[kind, 16, False].name for kind in ("ecn", "newecn")]
    return [
        *(Ascending(pair, TIMEOUTS, criterion=criteria.CYCLE) for pair in by_gentle),
        *(Ascending(pair[::-1], STEADY_TOTAL, criterion=criteria.CYCLE) for pair in by_gentle),
        Ascending(by_kind, TIMEOUTS, criterion=criteria.CYCLE),
        *(
            Statement(
                crowds["newecn", size, False].name,
                RED_AVERAGE,
                "close to the upper threshold",
                Bounds(low=0.9 * _UPPER),
                criterion=criteria.LONG_QUEUE,
            )
            for size in sizes
        ),
        *(
            Shown(case.name, quantity)
            for case in crowds.values()
            for quantity in (TIMEOUTS, STEADY_FAIRNESS, STEADY_TOTAL, QUEUE)
        ),
    ]


def _cycle_plot(column: str, title: str, axis: str, cases: Sequence[str]) -> SeriesPlot:
    return SeriesPlot(f"cycle-{column}", "", title, cases, column, axis, zoom_s=25, zoom_from_s=20)


def _variant(base: Case, name: str, label: str, key: str, value: object) -> Case:
    return Case(name, label, base.stem, {key: value}, FIGURES_ONLY)


def _window_limit() -> Experiment:
    reference = ((16, 0.476), (32, 0.756), (64, 0.918), (100, 0.980), (128, 0.992))
    kinds = (S1_NEW, S1_ECN)
    cases = {
        (base.name, limit): _variant(
            base,
            f"{base.name}@w{limit}",
            f"{base.label}, limit {limit}",
            "defaults.window_limit",
            f"{limit} segments",
        )
        for base in kinds
        for limit, _ in reference
    }
    lines = [
        Line(
            base.label,
            [(limit, cases[base.name, limit].name) for limit, _ in reference],
            reference if base is S1_NEW else (),
        )
        for base in kinds
    ]
    return Experiment(
        id="window-limit",
        chapter=_CHAPTER,
        section="4.2.1, what the paper says of the maximum window",
        title="How much depends on the window limit",
        shows="A flow of 190 ms needs a window of 113 packets for its share of setup 1; with less "
        "than that it cannot claim it, whatever the algorithm.",
        quick=False,
        seconds=15,
        first_result=criteria.BEGINNING,
        cases=list(cases.values()),
        checks=[
            Near(
                cases[S1_NEW.name, limit].name,
                STEADY_FAIRNESS,
                FAIRNESS_TOLERANCE,
                target=target,
                criterion=criteria.WINDOW_LIMIT,
            )
            for limit, target in reference
        ],
        plots=[
            SweepPlot(
                "window-fairness",
                "Fairness index from 10 s on over the window limit",
                lines,
                STEADY_FAIRNESS,
                "window limit (segments)",
                log=True,
                says="the achievable fairness is bounded by the maximum window",
                keys=[STEADY_FAIRNESS.key],
            )
        ],
    )
