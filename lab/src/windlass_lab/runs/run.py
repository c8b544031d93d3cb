"""The results of a run: its summary and its time series, as polars data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.pandas_frame import to_pandas
from windlass_lab.runs.columns import FLOW_COLUMNS, QUEUE_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

    from windlass_lab.runs.figure import Figure


@dataclass(frozen=True)
class Run:
    """One run of a scenario.

    `summary` is that of `windlass sim run --json` (docs/reference/simulator-output.md). `tables`
    are the time series: `flow-NAME`, and `queue-LINK-forward` or `-backward`. Each has the column
    `time_s` (seconds) and the columns of the CSV series; a value that is not known is null.
    """

    summary: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.summary["name"]

    @property
    def seed(self) -> int:
        """The seed of the random streams."""
        return self.summary["seed"]

    @property
    def flows(self) -> pl.DataFrame:
        """A row per TCP flow. The columns are the keys of the summary's `flows`; keys of an object
        in an object are joined with a dot, as in `packets_per_s.steady` (packets/s).
        """
        return _rows(self.summary["flows"])

    @property
    def queues(self) -> pl.DataFrame:
        """A row per queue, as `flows`; the bottleneck's first."""
        return _rows(self.summary["queues"])

    def series(self, *what: str) -> pl.DataFrame:
        """Time series of all flows, or of all queues, in one frame.

        `what` are some of cwnd, ssthresh (packets), srtt (ms), slope (packets per round trip) and
        acked (packets), or some of queue, average_queue (packets) and delay (ms). There is a row
        for each time at which anything of the flow or queue changed. The first column, `flow` or
        `queue`, is its name. Raises `LabError` for other names, and where these series were not
        kept.
        """
        kind, columns = _columns(what)
        prefix = f"{kind}-"
        frames = [
            table.select(pl.lit(name.removeprefix(prefix)).alias(kind), "time_s", *columns)
            for name, table in self.tables.items()
            if name.startswith(prefix)
        ]
        if not frames:
            raise LabError(f"{self.name}: the run has kept no series of a {kind}")
        # Not joined into one piece of memory: each part stays where the simulator put it.
        return pl.concat(frames, rechunk=False)

    def plot(self, *what: str) -> Figure:
        """A figure with a panel for each of `what`, as in `series` (default: cwnd and queue)."""
        from windlass_lab.runs.figure import DEFAULT, compare

        return compare([(self.name, self)], what or DEFAULT)

    def to_pandas(self, *what: str) -> pd.DataFrame:
        """The flows for pandas, or the time series of `what`, as in `series`. Raises `LabError`
        without the packages of the extra `pandas`.
        """
        return to_pandas(self.series(*what) if what else self.flows)

    def _repr_html_(self) -> str:
        from windlass_lab.runs.notebook import show

        return show(self)


def _columns(what: Sequence[str]) -> tuple[str, list[str]]:
    known = FLOW_COLUMNS | QUEUE_COLUMNS
    unknown = [name for name in what if name not in known]
    if unknown or not what:
        raise LabError(f"series: no {', '.join(unknown) or 'name'}: expected {', '.join(known)}")
    kinds = {"flow" if name in FLOW_COLUMNS else "queue" for name in what}
    if len(kinds) > 1:
        raise LabError("series: flows and queues change at other times: ask for each by itself")
    return kinds.pop(), [known[name] for name in what]


def _rows(items: Sequence[Mapping]) -> pl.DataFrame:
    return pl.DataFrame([_flat(item) for item in items], infer_schema_length=None)


def _flat(item: Mapping, prefix: str = "") -> dict:
    flat: dict = {}
    for key, value in item.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            # One type in a column: whole numbers and fractions of one key are both numbers.
            flat[prefix + key] = float(value) if _is_number(value) else value
    return flat


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
