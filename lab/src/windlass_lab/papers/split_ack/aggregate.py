"""Figures of all servers of a survey together, behind the thesis's statements on its Figures 4.14
to 4.17.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
_DATA, _AGAIN, _TOTAL = "data_packets", "retransmissions", "total"
# The ranges that the thesis reads from its figures, in packets.
_USUAL, _GAINED = range(6, 14), range(10, 17)
# Half as many data packets again, and one retransmission more: beyond what losses of 1 % do.
_GAIN, _MORE = 1.5, 1.0


def aggregate(rows: Sequence[Row]) -> dict:
    """Figures of all servers with both tests; empty without any.

    `new_data`, `traffic`: data packets, and packets in all, of test C over those of A.
    `resent_part`: the part of the added packets that are retransmissions (0 where none are added).
    `usual_data`, `usual_total`: share of servers with 6 to 13 packets at test A.
    `spread`: standard deviation over the servers of all packets over that of data packets, test A.
    `gained_share`: share of servers with 10 to 16 data packets at C, less the same at A.
    `peak`: the number of data packets that most servers have at C.
    `gaining`, `resending`: share of servers with half as many data packets again, and with a
    retransmission more, at C. `said`: shares by the probe's verdict.
    `negative_less_gaining`: share of negative servers less that of gaining ones.
    """
    both = [row for row in rows if f"a_{_TOTAL}" in row and f"c_{_TOTAL}" in row]
    if not both:
        return {}
    data, again, total = (
        {test: [row[f"{test}_{key}"] for row in both] for test in "ac"}
        for key in (_DATA, _AGAIN, _TOTAL)
    )
    added = sum(total["c"]) - sum(total["a"])
    said = {
        kind: sum(row.get("reaction") == kind for row in both) / len(both)
        for kind in ("counts-acks", "counts-bytes", "negative")
    }
    gaining = _share(c >= _GAIN * a for a, c in zip(data["a"], data["c"], strict=True))
    return {
        "new_data": sum(data["c"]) / sum(data["a"]),
        "traffic": sum(total["c"]) / sum(total["a"]),
        "resent_part": (sum(again["c"]) - sum(again["a"])) / added if added > 0 else 0.0,
        "usual_data": _within(data["a"], _USUAL),
        "usual_total": _within(total["a"], _USUAL),
        "spread": statistics.pstdev(total["a"]) / (statistics.pstdev(data["a"]) or 1.0),
        "gained_share": _within(data["c"], _GAINED) - _within(data["a"], _GAINED),
        "peak": Counter(map(round, data["c"])).most_common(1)[0][0],
        "gaining": gaining,
        "resending": _share(c >= a + _MORE for a, c in zip(again["a"], again["c"], strict=True)),
        "said": said,
        "negative_less_gaining": said["negative"] - gaining,
    }


def _share(holds: Iterable[bool]) -> float:
    found = list(holds)
    return sum(found) / len(found)


def _within(values: Sequence[float], of: range) -> float:
    """The share of values that are in the range when rounded."""
    return _share(round(value) in of for value in values)
