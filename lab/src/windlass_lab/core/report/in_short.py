"""The results of all papers in short, for a terminal: for each its claim and what was found."""

from collections.abc import Mapping, Sequence
from textwrap import wrap

from windlass_lab.core.report.front_page import Found
from windlass_lab.core.text import verdicts
from windlass_lab.core.text.verdicts import Count

# Columns of a terminal that is not wide.
_WIDTH = 100
_INDENT = "  "
_NOT_JUDGED = "shown, not judged"


def in_short(papers: Sequence[Found], not_run: Sequence[str]) -> str:
    """Title, claim and finding of each paper that has a result, and apart a list of the rest."""
    lines = [line for found in papers if found.results for line in _of_paper(found, found.results)]
    missing = [f"{found.paper.title}: {found.why_not}" for found in papers if not found.results]
    if absent := [*missing, *not_run]:
        lines += ["Not run here:", *(line for each in absent for line in _indented("", each))]
    return "".join(f"{line}\n" for line in lines)


def _of_paper(found: Found, results: Mapping) -> list[str]:
    verdict = verdict_in_short(results)
    lines = [f"{found.paper.title} ({verdict})"]
    if found.claim:
        lines += _indented("claimed  ", found.claim)
    return lines + _indented("found    ", found.finding or "see its page")


def _indented(label: str, text: str) -> list[str]:
    first, rest = f"{_INDENT}{label}", _INDENT + " " * len(label)
    return wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def verdict_in_short(results: Mapping) -> str:
    """The counts of a result: held against the reference or the lab's bounds, and published."""
    tally = verdicts.counts(results)
    own, paper = _count(verdicts.total(tally.own)), _count(verdicts.total(tally.paper))
    parts = [own, f"of the published figures {paper}" if paper else ""]
    if tally.built.not_met:
        parts.append(f"by construction {_count(tally.built)}")
    return "; ".join(part for part in parts if part) or _NOT_JUDGED


def _count(count: Count) -> str:
    """Empty where nothing was decided: a count of none met would read as a miss."""
    decided = count.met + count.not_met
    if not decided:
        return ""
    return f"{count.met} of {decided} met" if count.not_met else f"all {decided} met"
