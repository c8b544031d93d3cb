#!/usr/bin/env python3
"""Draw the plots beside the tables of docs/results/, from those tables, so that both say the same.

From the root of the repository, in the lab's environment:

    .venv/bin/python docs/images/results.py            # writes the files
    .venv/bin/python docs/images/results.py --check    # 1 if a file is not that of its table
"""

import argparse
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

IMAGES = Path(__file__).resolve().parent
RESULTS = IMAGES.parent / "results"
# Distinct for the colour-blind, and in grey by their lightness.
COLOURS = ("#2a6fb0", "#c9803a", "#4f9d69", "#8a5aa8", "#555555", "#b8b83a")
MARKERS = "osD^vP"
Table = list[list[str]]


def table(page: str, head: str) -> Table:
    """The table of a page whose first line begins with `head`; its rule is left out."""
    text = (RESULTS / f"{page}.md").read_text()
    start = text.index(f"\n{head}") + 1
    lines = text[start : text.index("\n\n", start)].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [rows[0], *rows[2:]]


def number(cell: str) -> float:
    """The first number of a cell; its digits may be grouped by commas."""
    found = re.search(r"-?\d[\d,]*(?:\.\d+)?", cell)
    if not found:
        raise ValueError(f"no number in {cell!r}")
    return float(found[0].replace(",", ""))


def intervals(cells: list[str]) -> tuple[list[float], list[list[float]]]:
    """The numbers of cells such as "1.5 (1.2 to 1.8)", and how far their intervals reach."""
    found = [re.findall(r"-?\d[\d,]*(?:\.\d+)?", cell) for cell in cells]
    rows = [[float(part.replace(",", "")) for part in parts] for parts in found]
    below = [max(0.0, middle - low) for middle, low, _ in rows]
    return [row[0] for row in rows], [below, [max(0.0, high - middle) for middle, _, high in rows]]


def points_across(axes: Axes, groups: list[str], series: dict[str, list[str]]) -> None:
    """A point with its interval for each name in each group, from the first group at the top."""
    height = 0.5 / len(series)
    for place, (name, cells) in enumerate(series.items()):
        values, errors = intervals(cells)
        at = [group + (place - (len(series) - 1) / 2) * height for group in range(len(groups))]
        axes.errorbar(values, at, xerr=errors, color=COLOURS[place], marker=MARKERS[place],
                      markersize=3.5, linestyle="none", label=name)  # fmt: skip
    axes.set_yticks(range(len(groups)), groups)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#dddddd")
    legend(axes)


def lines(axes: Axes, xs: list[float], series: dict[str, list[float]]) -> None:
    """A line for each name."""
    for place, (name, values) in enumerate(series.items()):
        axes.plot(xs, values, color=COLOURS[place], marker=MARKERS[place], label=name)
    axes.set_xticks(xs)
    legend(axes)


def legend(axes: Axes) -> None:
    """The names above the plot, where no line runs."""
    axes.legend(
        frameon=False,
        ncols=2,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        columnspacing=1,
        handlelength=1.4,
    )


def bars(axes: Axes, groups: list[str], series: dict[str, list[float]]) -> None:
    """A bar for each name in each group."""
    width = 0.8 / len(series)
    for place, (name, values) in enumerate(series.items()):
        at = [group + (place - (len(series) - 1) / 2) * width for group in range(len(groups))]
        axes.bar(at, values, width * 0.9, color=COLOURS[place], label=name)
    axes.set_xticks(range(len(groups)), groups)
    legend(axes)


def bars_across(axes: Axes, groups: list[str], series: dict[str, list[float]]) -> None:
    """The same with the bars lying, from the first group at the top: long names have room."""
    height = 0.8 / len(series)
    for place, (name, values) in enumerate(series.items()):
        at = [group + (place - (len(series) - 1) / 2) * height for group in range(len(groups))]
        axes.barh(at, values, height * 0.9, color=COLOURS[place], label=name)
    axes.set_yticks(range(len(groups)), groups)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#dddddd")
    legend(axes)


def new_ecn(axes: Axes) -> None:
    """Fairness on a modern stack."""
    head, *rows = table("new-ecn", "| | New-ECN as in the paper")
    chosen = [1, 2, 4, 5]
    bars(axes, [row[0].replace(",", "\n") for row in rows],
         {head[at]: [number(row[at]) for row in rows] for at in chosen})  # fmt: skip
    axes.set_ylabel("fairness index")
    axes.set_ylim(0, 1)


def gateways(axes: Axes) -> None:
    """The long flow's share by the number of gateways."""
    head, *rows = table("new-ecn", "| gateways |")
    names = [1, 2, 4, 5, 6]
    lines(axes, [number(row[0]) for row in rows],
          {head[at]: [number(row[at]) for row in rows] for at in names})  # fmt: skip
    axes.set_xlabel("congested gateways on the long flow's path")
    axes.set_ylabel("its rate over that of a cross flow")
    axes.set_ylim(0, None)


def kernel(axes: Axes) -> None:
    """Rates by RTT, kernel beside simulator."""
    head, *rows = table("new-ecn", "| packets/s by RTT")
    bars(axes, [f"RTT {name}" for name in head[1:]],
         {row[0]: [number(cell) for cell in row[1:]] for row in rows})  # fmt: skip
    axes.set_ylabel("packets/s")


def ecn_proxy(axes: Axes) -> None:
    """The time that transfers without ECN take longer, paper and here."""
    head, *rows = table("ecn-proxy", "| no ECN over both ECN: connections")
    lines(axes, [number(cell) for cell in head[1:]],
          {row[0]: [number(cell) for cell in row[1:]] for row in rows})  # fmt: skip
    axes.set_xlabel("connections at once")
    axes.set_ylabel("time without ECN over time with it")
    axes.set_ylim(1, None)


def tou_speed(axes: Axes) -> None:
    """Goodput of transports on one machine."""
    _, *rows = table("tou", "| transport |")
    names = [re.sub(r"[,(].*", "", row[0]) + "\n" + _after_comma(row[0]) for row in rows]
    series = {"offloads on": 1, "offloads off": 3}
    bars_across(axes, names, {key: [number(row[at]) for row in rows] for key, at in series.items()})
    axes.set_xlabel("Gbit/s")


def _after_comma(name: str) -> str:
    return name.partition(", ")[2].replace(" (with its encryption)", "")


def limit_cycle(axes: Axes) -> None:
    """Timeouts of a flow by the number of flows."""
    head, *rows = table("new-ecn", "| flows |")
    lines(axes, [number(row[0]) for row in rows],
          {head[at]: [number(row[at]) for row in rows] for at in range(1, 5)})  # fmt: skip
    axes.set_xlabel("flows")
    axes.set_ylabel("timeouts of a flow within 40 s")


def bbr_probe_rtt(axes: Axes) -> None:
    """The change of utilisation by longer intervals of ProbeRTT."""
    head, *rows = table("bbr-probe-rtt", "| case | utilisation")
    series = {head[at]: [row[at] for row in rows] for at in (2, 3)}
    points_across(axes, [row[0] for row in rows], series)
    axes.axvline(0, color="#555555", linewidth=0.8)
    axes.set_xlabel("change of utilisation (points)")


def bbr_drain(axes: Axes) -> None:
    """The share of Drains that the bound ends."""
    head, *rows = table("bbr-drain", "| case | rounds")
    at = head.index("by the bound (%)")
    points_across(axes, [row[0] for row in rows], {head[at]: [row[at] for row in rows]})
    axes.set_xlim(-2, 102)


def bbr_min_rtt(axes: Axes) -> None:
    """The rate of the flow that joins, over the mean of the others."""
    head, *rows = table("bbr-min-rtt", "| case | knows after")
    series = {head[at]: [row[at] for row in rows] for at in (3, 4)}
    points_across(axes, [row[0] for row in rows], series)
    axes.axvline(1, color="#555555", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("rate over the mean of the other flows")


PLOTS: dict[str, Callable[[Axes], None]] = {
    "new-ecn": new_ecn,
    "new-ecn-gateways": gateways,
    "new-ecn-kernel": kernel,
    "ecn-proxy": ecn_proxy,
    "tou-speed": tou_speed,
    "limit-cycle": limit_cycle,
    "bbr-probe-rtt": bbr_probe_rtt,
    "bbr-drain": bbr_drain,
    "bbr-min-rtt": bbr_min_rtt,
}


# Of plots that are higher than the others, in inches.
HEIGHTS: dict[Callable[[Axes], None], float] = {
    bbr_probe_rtt: 5.2,
    bbr_drain: 6.2,
    bbr_min_rtt: 5.2,
}


def drawn(draw: Callable[[Axes], None]) -> str:
    """A plot as SVG, the same for the same table."""
    style: dict[Any, Any] = {
        "svg.hashsalt": "windlass",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with mpl.rc_context(style):
        figure, axes = plt.subplots(figsize=(4.6, HEIGHTS.get(draw, 3.6)), layout="constrained")
        axes.grid(axis="y", color="#dddddd")
        axes.set_axisbelow(True)
        draw(axes)
        out = io.StringIO()
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": "docs/images/results.py"}
        )
        plt.close(figure)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def main() -> int:
    """Write or check every plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    mpl.use("svg")
    stale = 0
    for name, draw in PLOTS.items():
        file, text = IMAGES / f"{name}.svg", drawn(draw)
        if not check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            print(f"{file.name} is not the plot of its table: run docs/images/results.py")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
