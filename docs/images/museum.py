#!/usr/bin/env python3
"""Draw docs/images/museum/NAME.svg, the plots of docs/results/museum.md, from records.

The programs of the museum write them.

From the root of the repository:

    for dir in . museum/faulty museum/halfway; do
        (cd stacks/$dir && cargo run --release --bin museum /tmp/museum)
    done
    docs/images/museum.py /tmp/museum
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

OUT = Path(__file__).parent / "museum"
WIDTH, HEIGHT, LEFT, TOP, GAP = 330, 210, 56, 46, 70
COLOURS = {"sent": "#2a6fb0", "resent": "#c0392b", "acked": "#8a8a8a"}


@dataclass
class Run:
    """One version in its case."""

    stack: str
    version: str
    outcome: str
    view: str
    packets: list[tuple[float, str, int, int]]

    def points(self, kind: str) -> list[tuple[float, float]]:
        """Seconds and kilobytes of a kind's packets: where data begins, or what is in flight."""
        column = 2 if self.view == "sequence" else 3
        found = [packet for packet in self.packets if packet[1] == kind]
        return [(packet[0], packet[column] / 1000) for packet in found]


def read(path: Path) -> Run:
    """A file of the museum."""
    with path.open(newline="") as file:
        stack, version, outcome, view, *_ = next(rows := csv.reader(file))
        packets = [(float(row[0]), row[1], int(row[2]), int(row[4])) for row in rows]
    return Run(stack, version, outcome, view, packets)


def by_version(run: Run) -> tuple[int, ...]:
    """A key that sorts versions."""
    return tuple(int(part) for part in run.version.split("."))


def step(most: float) -> float:
    """A round distance between at most six ticks."""
    exponent = 10.0 ** (len(str(int(max(most, 1)))) - 2)
    return next(
        exponent * base for base in (1, 2, 5, 10, 20, 50, 100) if most / (exponent * base) <= 6
    )


def panel(run: Run, left: float, most: tuple[float, float]) -> list[str]:
    """The plot of one run."""

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return left + WIDTH * point[0] / most[0], TOP + HEIGHT * (1 - point[1] / most[1])

    lines = [
        f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
        f'<text x="{left}" y="{TOP - 10}">{run.stack} {run.version}: the case {run.outcome}</text>',
    ]
    for axis in (0, 1):
        distance = step(most[axis])
        for index in range(int(most[axis] / distance) + 1):
            value = index * distance
            x, y = place((value, 0) if axis == 0 else (0, value))
            place_of = f'x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle"'
            if axis == 1:
                place_of = f'x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end"'
            lines.append(f"<text {place_of}>{value:g}</text>")
    # A point of the line for each column of the picture.
    columns = {round(x): round(y) for x, y in map(place, run.points("acked"))}
    acked = " ".join(f"{x},{y}" for x, y in columns.items())
    lines.append(f'<polyline points="{acked}" fill="none" stroke="{COLOURS["acked"]}"/>')
    for kind, radius in (("sent", 1.6), ("resent", 2.6)):
        dots = {(round(x), round(y)) for x, y in map(place, run.points(kind))}
        fill = COLOURS[kind]
        lines += [
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}"/>' for x, y in sorted(dots)
        ]
    return lines


def draw(name: str, runs: list[Run]) -> str:
    """The version with the fault beside the one without."""
    points = [point for run in runs for kind in COLOURS for point in run.points(kind)]
    most = (max(x for x, _ in points) or 1.0, max(y for _, y in points) * 1.05 or 1.0)
    width = LEFT + len(runs) * (WIDTH + GAP) - GAP + 14
    height = TOP + HEIGHT + 62
    what = "first byte of each packet, kB" if runs[0].view == "sequence" else "in flight, kB"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="{name}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="16" fill="#555">{what}, over seconds: '
        f'<tspan fill="{COLOURS["sent"]}">sent</tspan>, '
        f'<tspan fill="{COLOURS["resent"]}">sent again</tspan>, '
        f'<tspan fill="{COLOURS["acked"]}">acknowledged</tspan></text>',
    ]
    for index, run in enumerate(runs):
        lines += panel(run, LEFT + index * (WIDTH + GAP), most)
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw a plot for each exhibit: its oldest version that fails, and its newest that passes."""
    exhibits: dict[str, list[Run]] = {}
    for path in sorted(Path(sys.argv[1]).glob("*.csv")):
        name, _, _ = path.stem.rpartition("-")
        exhibits.setdefault(name, []).append(read(path))
    OUT.mkdir(exist_ok=True)
    for name, runs in exhibits.items():
        runs.sort(key=by_version)
        failed = [run for run in runs if run.outcome == "failed"]
        passed = [run for run in runs if run.outcome == "passed"]
        if not failed or not passed:
            print(f"{name}: no version fails, or none passes", file=sys.stderr)
            continue
        # The last version with the fault, and the first one without.
        (OUT / f"{name}.svg").write_text(draw(name, [failed[-1], passed[0]]))
        print(f"{name}: {failed[-1].version} and {passed[0].version}")


if __name__ == "__main__":
    main()
