"""Split ACKs in a line."""

from collections.abc import Mapping

from windlass_lab.core.report.measured import figures
from windlass_lab.papers.split_ack.plan import COMPLETION, COUNTER, GOOGLE

CLAIM = "a split of four doubles what comes in slow start where ACKs are counted; few servers do"
_SHORT = "-short"
_SPLIT = "slow_start-split"


def finding(results: Mapping) -> str:
    """The packets of servers with and without a split; without servers a time in theory."""
    found = figures(results)
    servers = (
        _packets(found, COUNTER.name, "where ACKs are counted"),
        _packets(found, GOOGLE.name, "from nginx"),
    )
    if parts := [part for part in servers if part]:
        return f"packets, split in 4 and whole: {'; '.join(parts)}"
    ratio = found.get((_SPLIT, COMPLETION.key))
    return f"simulated: a split of two takes {ratio:.2f} of the time" if ratio else ""


def _packets(found: Mapping[tuple[str, str], float], server: str, words: str) -> str:
    for case in (server, f"{server}{_SHORT}"):
        split, whole = (found.get((case, f"{test}.data_packets")) for test in "ca")
        if split and whole:
            return f"{split:g} and {whole:g} {words}"
    return ""
