"""What other flows lose beside New-ECN, compared with beside as many more of their own kind."""

from windlass_lab.core.model import Case, Experiment, Line, Over, Quantity, Shown, SweepPlot

_MARKING = (0.05, 0.2, 0.33, 0.5, 1.0)
OTHERS = Quantity(
    "last_three_packets_per_s", "Rate of the last three flows, from 10 s", "packets/s"
)
LONGEST = Quantity("longest_over_shortest", "Rate of the longest round trip over the shortest's")


def what_others_lose() -> Experiment:
    """Three flows beside three of another kind, against six of their own."""
    reno, ecn = Case("mix_6reno", "6 Reno"), Case("mix_6ecn", "6 ECN Reno")
    beside = [
        (Case("mix_3new_3reno", "3 New-ECN, 3 Reno"), reno),
        (_first_three("mix_3new_3reno", "vegas", "3 Vegas, 3 Reno", ecn=False), reno),
        (Case("mix_3new_3ecn", "3 New-ECN, 3 ECN Reno"), ecn),
        (_first_three("mix_3new_3ecn", "cubic", "3 CUBIC, 3 ECN Reno", ecn=True), ecn),
    ]
    marked = {
        p_max: [_at(stem, p_max) for stem in ("mix_3new_3ecn", "mix_6ecn")] for p_max in _MARKING
    }
    bias = {p_max: _at("s1_10M_p0.1_newecn", p_max) for p_max in _MARKING}
    return Experiment(
        id="friendliness",
        chapter="Beyond the paper",
        section="4.3, in the other flows' rates",
        title="What others lose beside New-ECN",
        shows="Section 4.3 has New-ECN's share of the link. What counts for the others is what "
        "they would have without it: beside three flows of New-ECN three of Reno get an eighth "
        "less than beside three more of Reno, and three of ECN Reno a twelfth less.",
        quick=False,
        seconds=30,
        cases=[
            *(case for case, _ in beside),
            reno,
            ecn,
            *(case for pair in marked.values() for case in pair),
            *bias.values(),
        ],
        checks=[
            *(Over(case.name, own.name, OTHERS) for case, own in beside),
            *(Over(new.name, own.name, OTHERS) for new, own in marked.values()),
            *(Shown(case.name, LONGEST) for case in bias.values()),
        ],
        plots=[
            SweepPlot(
                "bias",
                "Rate of the flow of 190 ms over that of 4 ms on setup 1, New-ECN",
                [Line("New-ECN", [(p_max, case.name) for p_max, case in bias.items()])],
                LONGEST,
                "p_max",
                log=True,
            )
        ],
    )


def _first_three(stem: str, controller: str, label: str, *, ecn: bool) -> Case:
    overrides: dict[str, object] = {f"flows.{n}.controller": controller for n in range(3)}
    overrides |= {f"flows.{n}.ecn": ecn for n in range(3)}
    return Case(f"{stem}@{controller}", label, stem, overrides)


def _at(stem: str, p_max: float) -> Case:
    overrides: dict[str, object] = {"queues.marking.p_max": p_max}
    return Case(f"{stem}@lose-p{p_max:g}", f"{stem}, p_max {p_max:g}", stem, overrides)
