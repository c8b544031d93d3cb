"""The rows of the bench as text."""

from collections.abc import Sequence

FIGURES = (
    "case", "contender", "CPU s median [min..max]", "per CPU s", "ns each", "fairness", "peak MiB",
    "written MiB", "ratio", "all headers",
)  # fmt: skip
TARGETS = ("case", "contender", "target", "measured", "met")

NAMES = {
    "per_s": "work per CPU second",
    "per_wall_s": "work per second of wall time",
    "cpu_per_unit_ns": "CPU time per segment",
    "peak_rss_mib": "peak MiB",
}


def aligned(head: tuple[str, ...], lines: Sequence[tuple[str, ...]], words: int) -> str:
    """A table whose first columns, `words` of them, hold words; the others are right-aligned."""
    columns = list(zip(head, *lines, strict=True))
    widths = [max(map(len, column)) for column in columns]

    def align(line: tuple[str, ...]) -> str:
        fields = zip(line, widths, strict=True)
        padded = [f.ljust(w) if i < words else f.rjust(w) for i, (f, w) in enumerate(fields)]
        return "  ".join(padded).rstrip()

    return "\n".join(align(line) for line in (head, *lines))


def figures(rows: list[dict]) -> str:
    """The table of the contenders' time and memory."""
    return aligned(FIGURES, [figure_cells(row) for row in rows], words=2)


def figure_cells(row: dict) -> tuple[str, ...]:
    cpu = row["cpu_s"]
    fairness = row["fairness_index"]
    at_most = "<=" if row["peak_rss_is_upper_bound"] else ""
    return (
        row["case"],
        row["contender"],
        f"{cpu['median']:.3f} [{cpu['min']:.3f}..{cpu['max']:.3f}]",
        f"{row['per_s']:.0f} {row['unit']}",
        f"{row['cpu_per_unit_ns']:.0f}",
        "-" if fairness is None else f"{fairness:.3f}",
        f"{at_most}{row['peak_rss_mib']:.0f}",
        f"{row['written_mib']:.1f}" if row["written_mib"] else "-",
        ratio_cell(row, "ratio"),
        ratio_cell(row, "ratio_all_headers"),
    )


def ratio_cell(row: dict, name: str) -> str:
    """The ratio of the medians, and the least and the largest ratio of a round."""
    if name not in row:
        return "-"
    rounds = row[f"{name}_rounds"]
    return f"{row[name]:.2f} [{rounds['min']:.2f}..{rounds['max']:.2f}]"


def targets(rows: list[dict]) -> str:
    """The table of the targets, and whether each is met."""
    lines = [target_cells(row, target) for row in rows for target in row["targets"]]
    return aligned(TARGETS, lines, words=3) if lines else ""


def target_cells(row: dict, target: dict) -> tuple[str, ...]:
    over = f" of {target['over']}" if target["over"] else ""
    if target["at_least"] is not None:
        bound = f"at least {target['at_least']:g}{' times' if over else ''}"
    else:
        bound = f"at most {target['at_most']:g}{' times' if over else ''}"
    what = f"{NAMES[target['figure']]}: {bound}{over}"
    met = "yes" if target["met"] else "NO"
    return row["case"], row["contender"], what, f"{target['value']:.4g}", met


def floors(rows: list[dict]) -> str:
    """How far each case is from the event loop with nothing to do."""
    return "\n".join(
        f"{row['case']}, {row['contender']}: {row['events_per_segment']:.2f} events a segment, "
        f"{row['cpu_per_unit_ns']:.0f} ns; those events in an empty loop {row['floor_ns']:.0f} ns; "
        f"{row['times_floor']:.1f} times the floor"
        for row in rows
        if "floor_ns" in row
    )
