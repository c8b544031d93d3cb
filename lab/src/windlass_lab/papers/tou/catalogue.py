"""The paper in the lab's catalogue: an experiment for each of its network environments."""

from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.papers.tou import criteria
from windlass_lab.papers.tou.beside import catalogue as beside
from windlass_lab.papers.tou.plan import CELLS, EMULATED, PAPER, Cell

_CHAPTER = "5.2 Test results"
SHORT = "short"
EMULATION = "emulation"
# Of the paper's sizes, in the short form.
SHORT_SCALE = 0.05


def _experiment(id_: str, figure: int, loss: float, title: str, seconds: float) -> Experiment:
    return Experiment(
        id=id_,
        chapter=_CHAPTER,
        section=f"5.2, Figure {figure}",
        title=title,
        shows="ToU takes no longer than the kernel's TCP with the same controller on the same path "
        "with the same segments lost, and its window is as large.",
        quick=False,
        seconds=seconds,
        first_result=criteria.FIRST_RESULT,
        kind="testbed",
        needs_root=True,
    )


# By experiment: its figure and its cells.
FIGURES = {"nice": 16, "regular": 17, "bad": 18}
_LOSS = {"nice": 0.0, "regular": 0.0001, "bad": 0.01}
_TITLES = {
    "nice": "Nice network: 100 MB, no loss",
    "regular": "Regular network: 100 MB, loss 0.01 %",
    "bad": "Bad network: 30 MB, loss 1 %",
}
# Of eleven seeds on two cores with nothing else to do.
_SECONDS = {"nice": 1500.0, "regular": 1500.0, "bad": 4200.0}

TOU = Paper(
    id=PAPER,
    citation="C.-H. Lee and others, TCP-over-UDP (ToU), project report, about 2009",
    title="TCP over UDP",
    question="Does TCP in UDP datagrams do what the kernel's TCP does?",
    experiments=[
        *(
            _experiment(id_, FIGURES[id_], _LOSS[id_], _TITLES[id_], _SECONDS[id_])
            for id_ in FIGURES
        ),
        Experiment(
            id=EMULATION,
            chapter="5.1 Environment",
            section="5.1, Figure 15 and the text beside it",
            title="Loss of 0.1 %, jitter, reordering, duplicates",
            shows="ToU takes no longer than the kernel's TCP where the delay varies, packets "
            "overtake each other or arrive twice.",
            reading="The paper lists these settings of netem and shows no figure of them. Here "
            "they are on the way of the data: 30 MB, RTT 100 ms, a jitter of 10 ms to either "
            "side, in order or not, one packet in a hundred twice.",
            quick=False,
            seconds=900.0,
            first_result=criteria.FIRST_EMULATED,
            kind="testbed",
            needs_root=True,
        ),
        Experiment(
            id=SHORT,
            chapter="In short",
            section="5.2, Figure 18 in short",
            title="1.5 MB, loss 1 %, once each",
            shows="The bad network with a twentieth of the bytes; shown, not judged.",
            quick=True,
            seconds=20.0,
            first_result=criteria.FIRST_RESULT,
            kind="testbed",
            needs_root=True,
            short=True,
        ),
        *beside.experiments(),
    ],
    against="what they must show",
    main_plots=("figure-18-time",),
    claim="ToU takes longer than the kernel's TCP Reno, and the longer the delay the smaller the "
    "difference.",
)


def cells_of(id_: str) -> list[Cell]:
    """The cells of an experiment."""
    if id_ == EMULATION:
        return list(EMULATED)
    if id_ == SHORT:
        return [cell for cell in CELLS if cell.loss == _LOSS["bad"] and cell.rtt_ms < 300]
    return [cell for cell in CELLS if cell.loss == _LOSS[id_]]
