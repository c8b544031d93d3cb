"""New-ECN's fairness under disturbances: "which tests should a protocol pass?" (section 5.1)."""

from windlass_lab.core.experiments.model import (
    Ascending,
    Case,
    Experiment,
    Line,
    Quantity,
    Shown,
    Statement,
    SweepPlot,
)
from windlass_lab.papers.new_ecn import criteria
from windlass_lab.papers.new_ecn.plan import FAIR, QUEUE, STEADY_TOTAL

_FLOWS: tuple[dict[str, object], ...] = tuple(
    {"name": f"rtt{rtt}", "from": f"s{sender}", "start": start}
    for rtt, sender, start in ((4, 1, "1.5s"), (30, 2, "1s"), (70, 3, "0.5s"), (190, 4, "0s"))
)
_BACK = [
    {"name": f"back{sender}", "from": "d", "to": f"s{sender}", "start": f"{sender / 4}s"}
    for sender in range(1, 5)
]
_WEB = [
    {
        "name": f"web{sender}",
        "from": f"s{sender}",
        "count": 3,
        "start": "2s",
        "app": {"kind": "repeated", "size": "20kB", "pause": "1s", "exponential": True},
    }
    for sender in range(1, 5)
]
_UDP = [{"name": "cbr", "from": "s1", "to": "d", "packet_bytes": 512, "rate": "3Mbit/s"}]
_LATE: dict[str, object] = {f"flows.{n}.start": f"{10 * n}s" for n in range(4)}
_TESTS: dict[str, tuple[str, dict[str, object]]] = {
    "plain": ("as it stands", {}),
    "delayed": ("delayed ACKs", {"defaults.receiver.ack": "delayed"}),
    "large": ("1500 bytes", {"defaults.mss": 1460}),
    "loss": ("random loss", {"dumbbell.bottleneck.loss": 0.001}),
    "udp": ("UDP", {"udp": _UDP}),
    "late": ("late starts", {"steady_from": "40s"} | _LATE),
    "echo": ("until CWR", {"defaults.receiver.echo": "until-cwr"}),
    "echo3": ("3 echoes", {"defaults.receiver.echo_acks": 3}),
    "echo8": ("8 echoes", {"defaults.receiver.echo_acks": 8}),
    "two-way": ("two-way", {"flows": [*_FLOWS, *_BACK]}),
    "web": ("short flows", {"flows": [*_FLOWS, *_WEB]}),
}
_KINDS: dict[str, tuple[str, str, dict[str, object]]] = {
    "newecn": ("New-ECN", "s1_10M_p0.1_newecn", {}),
    "ecn": ("ECN Reno", "s1_10M_p0.1_ecn", {}),
    "cubic": ("CUBIC with ECN", "s1_10M_p0.1_ecn", {"defaults.controller": "cubic"}),
}
_RIVALS = ("ecn", "cubic")
FOUR = Quantity("fairness_of_four", "Fairness index of the first four flows, steady")


def what_it_survives() -> Experiment:
    """Setup 1 of section 4.2.1 under eleven conditions."""
    cases = {(test, kind): _case(test, kind) for test in _TESTS for kind in _KINDS}
    lines = [
        Line(label, [(text, cases[test, kind].name) for test, (text, _) in _TESTS.items()])
        for kind, (label, _, _) in _KINDS.items()
    ]
    return Experiment(
        id="robustness",
        chapter="Beyond the paper",
        section="5.1, tests that a protocol should pass",
        title="Fairness under disturbances",
        shows="Four flows of setup 1 under eleven conditions: as they stand, with delayed ACKs, "
        "with packets of 1500 bytes, with 0.1 % of random loss, beside 3 Mbit/s of UDP, with a "
        "start every 10 s (from 40 s on), with echoes until CWR or in 3 or 8 ACKs (footnote 13), "
        "beside as many flows the other way, and beside 12 users of 20 kB files. The index is that "
        "of these four flows.",
        reading="New-ECN stays fair with delayed ACKs, larger packets, UDP, late starters and "
        "another echo. It suffers from random loss, from flows the other way and most from short "
        "flows, and is fairer than ECN Reno and CUBIC throughout.",
        quick=False,
        seconds=40,
        first_result=criteria.NEW_SEEDS_ON,
        cases=list(cases.values()),
        checks=[
            *(
                Statement(cases[test, "newecn"].name, FOUR, "fair", FAIR, criterion=criteria.FAIR)
                for test in _TESTS
            ),
            *(
                Ascending(
                    [cases[test, kind].name for kind in (rival, "newecn")],
                    FOUR,
                    "fairer",
                    criterion=criteria.FAIRER,
                )
                for test in _TESTS
                for rival in _RIVALS
            ),
            *(
                Shown(case.name, quantity)
                for case in cases.values()
                for quantity in (FOUR, STEADY_TOTAL, QUEUE)
            ),
        ],
        plots=[SweepPlot("robustness", "Fairness index of the four flows", lines, FOUR, "")],
    )


def _case(test: str, kind: str) -> Case:
    text, changes = _TESTS[test]
    label, stem, of_kind = _KINDS[kind]
    return Case(
        f"s1_{kind}@{test}",
        f"{label}, {text}",
        stem,
        of_kind | changes,
        first_seed=criteria.NEW_SEEDS,
    )
