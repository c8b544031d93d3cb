"""Every paper of the lab: its experiments, how they run, and how their report is made.

A new paper is added here: no other module, but the command, knows all of them.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.report import report
from windlass_lab.core.report.bar_rows import BarRow, headlines
from windlass_lab.core.report.front_page import Found
from windlass_lab.papers.coexistence import in_short as coexistence_in_short
from windlass_lab.papers.coexistence import reproduce as coexistence
from windlass_lab.papers.coexistence.catalogue import COEXISTENCE
from windlass_lab.papers.ecn_proxy import in_short as ecn_proxy_in_short
from windlass_lab.papers.ecn_proxy import reproduce as ecn_proxy
from windlass_lab.papers.ecn_proxy.catalogue import ECN_PROXY
from windlass_lab.papers.new_ecn import in_short as new_ecn_in_short
from windlass_lab.papers.new_ecn import reproduce as new_ecn
from windlass_lab.papers.new_ecn.catalogue import NEW_ECN
from windlass_lab.papers.new_ecn.over_tou import NEW_ECN_TOU
from windlass_lab.papers.split_ack import in_short as split_ack_in_short
from windlass_lab.papers.split_ack import reproduce as split_ack
from windlass_lab.papers.split_ack.catalogue import SPLIT_ACK
from windlass_lab.papers.tou import in_short as tou_in_short
from windlass_lab.papers.tou import reproduce as tou
from windlass_lab.papers.tou.catalogue import TOU


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper, and the functions that run and report its experiments.

    `reproduce` returns the documents for results.json and series.json. `files` returns the files
    of the report by their path in the output directory. `claim` is the paper's main claim in a
    line, `finding` makes a line of the figures for it (empty where a result has none), and `bars`
    their bars on the front page. A `study` of the lab's own is no part of `reproduce all`, and may
    run on a cluster.
    """

    paper: Paper
    reproduce: Callable[[Request], tuple[dict, dict]]
    finding: Callable[[Mapping], str]
    claim: str = ""
    files: Callable[[Paper, Mapping, Mapping], dict[str, str]] = report.files
    bars: Callable[[Paper, Mapping], list[BarRow]] = headlines
    study: bool = False

    def found(self, results: Mapping) -> Found:
        """A result of it, for the front page and the account in short."""
        rows = self.bars(self.paper, results)
        return Found(self.paper, results, "", self.claim, self.finding(results), rows)


ENTRIES = {
    entry.paper.id: entry
    for entry in (
        Entry(NEW_ECN, new_ecn.reproduce, new_ecn_in_short.finding, new_ecn_in_short.CLAIM),
        Entry(
            ECN_PROXY,
            ecn_proxy.CAMPAIGN.reproduce,
            ecn_proxy_in_short.finding,
            ecn_proxy_in_short.CLAIM,
            ecn_proxy.CAMPAIGN.files,
            ecn_proxy_in_short.bars,
        ),
        Entry(SPLIT_ACK, split_ack.reproduce, split_ack_in_short.finding, split_ack_in_short.CLAIM),
        Entry(
            TOU,
            tou.reproduce,
            tou_in_short.finding,
            tou_in_short.CLAIM,
            tou.files,
            tou_in_short.bars,
        ),
        Entry(
            COEXISTENCE,
            coexistence.CAMPAIGN.reproduce,
            coexistence_in_short.finding,
            files=coexistence.files,
            study=True,
        ),
        Entry(NEW_ECN_TOU, new_ecn.reproduce, new_ecn_in_short.finding_over_tou),
    )
}


def all_papers() -> list[Paper]:
    """Every paper in the catalogue."""
    return [entry.paper for entry in ENTRIES.values()]


def papers_of_all() -> list[Paper]:
    """Those that `reproduce all` runs."""
    return [entry.paper for entry in ENTRIES.values() if not entry.study]


def find(
    target: str, quick: bool, kernel: bool = False, sim: bool = False
) -> tuple[Paper, list[Experiment]]:
    """The paper and the experiments that `PAPER` or `PAPER/EXPERIMENT` names.

    A paper's name stands for its experiments in the simulator and those that probe servers. With
    `kernel`, or where a paper has no others, it includes all that need root; with `sim`, none of
    them. `quick` selects the experiments that end within a minute. One that is `by_name` is chosen
    only by its own name.

    Raises `LabError` for a name that is not in the catalogue.
    """
    paper_id, _, experiment_id = target.partition("/")
    if paper_id not in ENTRIES:
        raise _unknown("paper", target, ENTRIES)
    paper = ENTRIES[paper_id].paper
    if not experiment_id:
        kernel = kernel or all(e.needs_root for e in paper.experiments)
        wanted = [e for e in paper.experiments if _is_wanted(e, kernel, sim)]
        return paper, [e for e in wanted if (e.quick if quick else not (e.short or e.by_name))]
    chosen = [e for e in paper.experiments if e.id == experiment_id]
    if not chosen:
        raise _unknown("experiment", target, [f"{paper.id}/{e.id}" for e in paper.experiments])
    return paper, chosen


def _is_wanted(experiment: Experiment, kernel: bool, sim: bool) -> bool:
    if not experiment.needs_root:
        return True
    return not sim and (kernel or bool(experiment.servers))


def _unknown(kind: str, target: str, known: Sequence[str] | Mapping[str, Entry]) -> LabError:
    """The error for a name that is not in the catalogue, with the nearest name that is."""
    every = [*ENTRIES, *(f"{p.id}/{e.id}" for p in all_papers() for e in p.experiments)]
    near = difflib.get_close_matches(target, every, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there is: {', '.join(known)}"
    return LabError(f"no {kind} {target!r} in the catalogue; {hint}")
