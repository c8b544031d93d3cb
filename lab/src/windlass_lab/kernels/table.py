"""Tables of the probe's results on each kernel: initial windows, packets by test, reactions."""

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.emulated.machine import kernel_of
from windlass_lab.kernels.trace import RUNS

_TESTS = "ABCDES"


@dataclass(frozen=True)
class Run:
    """One probe of a kernel. `found` is what it shows; `None` if there was nothing to probe."""

    kernel: str
    controller: str
    setting: str | None
    value: str | None
    found: "Found | None"


@dataclass(frozen=True)
class Found:
    """The initial window in packets, data packets by test, and the reaction in words."""

    window: str
    packets: dict[str, int]
    reaction: str


def read(folders: list[Path]) -> list[Run]:
    """The runs of folders of `kernels trace`. Raises `LabError` for any other folder."""
    return [run for folder in folders for run in _of_folder(folder)]


def _of_folder(folder: Path) -> list[Run]:
    kernel = kernel_of(folder)
    try:
        lines = [json.loads(line) for line in (folder / RUNS).read_text().splitlines()]
        return [
            Run(kernel, one["controller"], one["setting"], one["value"], _found(one["probe"]))
            for one in lines
        ]
    except (OSError, ValueError, KeyError) as error:
        raise LabError(f"{folder / RUNS}: not of `kernels trace`: {error}") from error


def _found(probe: dict | None) -> Found | None:
    if probe is None:
        return None
    verdict = probe["verdict"] or {}
    window = verdict.get("initial_window") or {}
    exact = "" if window.get("exact") else "at least "
    return Found(
        f"{exact}{window['packets']}" if window else "unknown",
        {
            test["test"]: test["data_packets"]["median"]
            for test in probe["tests"]
            if test["data_packets"]
        },
        _words(verdict["reaction"]) if verdict else str(probe["failure"]),
    )


def _words(reaction: dict) -> str:
    if "why" in reaction:
        return f"{reaction['kind']}: {reaction['why'].split(':')[0]}"
    limit = reaction.get("limit")
    if limit is None:
        return str(reaction["kind"])
    return f"{reaction['kind']}, {'no limit' if limit == 'none' else f'L = {limit}'}"


def defaults(runs: list[Run]) -> dict[tuple[str, str], Run]:
    """The run of each kernel and controller with no setting changed."""
    return {(run.kernel, run.controller): run for run in runs if run.setting is None}


def by_controller(runs: list[Run]) -> str:
    """Markdown: controllers that did the same share a line."""
    same = defaultdict(list)
    for (kernel, controller), run in defaults(runs).items():
        same[kernel, _row(run.found)].append(controller)
    head = f"| Linux | controllers | initial window | {' | '.join(_TESTS)} | the probe says |"
    lines = [head, "|---" * (4 + len(_TESTS)) + "|"]
    lines += [f"| {kernel} | {', '.join(names)} | {row} |" for (kernel, row), names in same.items()]
    return "\n".join(lines)


def _row(found: Found | None) -> str:
    if found is None:
        return " | ".join(["not in this kernel", *[""] * (1 + len(_TESTS))])
    return " | ".join([found.window, *(_cell(found, test) for test in _TESTS), found.reaction])


def _cell(found: Found, test: str) -> str:
    return str(found.packets.get(test, ""))


def by_setting(runs: list[Run]) -> str:
    """Markdown: how many settings were tried, and each that changed what the probe saw."""
    before = defaults(runs)
    tried: dict[str, set[str]] = defaultdict(set)
    refused: dict[str, int] = defaultdict(int)
    changed = []
    for run in runs:
        if run.setting is None:
            continue
        tried[run.kernel].add(run.setting)
        refused[run.kernel] += run.found is None
        if run.found and _differs(before[run.kernel, run.controller].found, run.found):
            cells = " | ".join(_cell(run.found, test) for test in "ACES")
            shown = f"{run.found.window} | {cells} | {run.found.reaction}"
            changed.append(f"| {run.kernel} | `{run.setting}` | {run.value} | {shown} |")
    lines = [
        f"Linux {kernel}: {len(names)} settings, {_values(runs, kernel)} values, of which the "
        f"kernel refused {refused[kernel]}."
        for kernel, names in tried.items()
    ]
    lines += ["", "| Linux | setting | value | initial window | A | C | E | S | the probe says |"]
    return "\n".join([*lines, "|---" * 9 + "|", *changed])


def _values(runs: list[Run], kernel: str) -> int:
    return sum(run.kernel == kernel and run.setting is not None for run in runs)


def _differs(before: Found | None, after: Found) -> bool:
    if before is None:
        return True
    same_packets = all(before.packets.get(test) == after.packets.get(test) for test in "ACES")
    return not same_packets or (before.window, before.reaction) != (after.window, after.reaction)
