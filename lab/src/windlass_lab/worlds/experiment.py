"""The experiment in a file: a scenario on this kernel, or a testbed's own format."""

import tomllib
from collections.abc import Callable
from pathlib import Path

from windlass_lab.core.files.text_file import read_text
from windlass_lab.testbed import check, controller, load
from windlass_lab.testbed.topology import Experiment
from windlass_lab.worlds import outline
from windlass_lab.worlds.names import KERNEL
from windlass_lab.worlds.plan import plan

# Keys of scenarios that a testbed's file never has.
_OF_SCENARIOS = frozenset(
    {
        *("bottleneck", "defaults", "dumbbell", "ecmp", "fat_tree", "jitter"),
        *("leaf_spine", "middleboxes", "parking_lot"),
        *("published", "queues", "seed", "source", "udp", "until_done"),
    }
)


def read(path: Path, time_s: float | None, say: Callable[[str], None]) -> Experiment:
    """The experiment in a file, lasting `time_s` where that is given. `say` gets a line for each
    key of a scenario that holds in the simulator alone. Raises `LabError`.
    """
    if not is_scenario(path):
        return load.load(path, time_s)
    overrides = [] if time_s is None else [f'duration="{time_s:g}s"']
    scenario = outline.read(path, overrides)
    # `windlass cc` or `windlass-lab run` loads New-ECN; `check.require` says whether it is there.
    found = plan(scenario, path.parent, KERNEL, {*check.controllers(), controller.NAME})
    for note in found.notes:
        say(note)
    return found.experiment


def is_scenario(path: Path) -> bool:
    """Whether a file is one of `windlass sim`: by its version, its own keys, or links between
    names. Both formats have version 1.
    """
    if path.suffix == ".json":
        return True
    try:
        keys = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError:
        # `load` reports the fault.
        return False
    return (
        keys.get("schema") == 2
        or not _OF_SCENARIOS.isdisjoint(keys)
        or _has_named_ends(keys.get("links"))
    )


def _has_named_ends(links: object) -> bool:
    """A testbed's links have tables as their ends."""
    return isinstance(links, list) and any(
        isinstance(link, dict) and isinstance(link.get("a"), str) for link in links
    )
