"""The keys of a scenario that a kernel, or ToU, cannot follow: each with its place.

A key whose meaning would be lost is a problem, and nothing is run; one that a kernel has a rule of
its own for is a note beside the results.
"""

from collections.abc import Collection, Iterator, Mapping

from windlass_lab.core.errors import LabError
from windlass_lab.worlds import tou
from windlass_lab.worlds.names import KERNEL, TOU
from windlass_lab.worlds.outline import Flow, Outline

# The kernel's names of the simulator's controllers. Linux's "reno" recovers as NewReno (RFC 6582).
_KERNEL_NAMES = {"newreno": "reno", "new-ecn": "new_ecn"}
_WHERE_AND_WHEN = frozenset(
    {
        "name",
        "from",
        "to",
        "count",
        "start",
        "start_step",
        "stop",
        "app",
        "controller",
        "mss",
        "ecn",
    }
)
_KERNEL_KEYS = _WHERE_AND_WHEN | {
    *("initial_window", "ecn_fallback", "timestamps", "sack", "window_scaling", "receiver.ecn"),
}
_TOU_KEYS = _WHERE_AND_WHEN | tou.KEYS
# The settings under which the simulator does as Linux does.
_LINUX = {
    "profile": "linux",
    "receiver.ack": "linux",
    "receiver.echo": "until-cwr",
    **dict.fromkeys(
        ("rack", "tail_loss_probe", "prr", "hystart", "hystart_trains", "cubic_as_linux"), True
    ),
    **dict.fromkeys(("undo", "frto", "ecn_prr", "handshake", "whole_segment_cuts"), True),
    **dict.fromkeys(("whole_segment_growth", "cwnd_validation", "idle_restart"), True),
    "pacing": False,
}
# Those of the papers, which `windlass cc load new-ecn` has.
_NEW_ECN = {"alpha_wnd": 0.9, "alpha_slp": 0.9, "beta": 16}
_PATHS = ("links", "dumbbell", "parking_lot", "leaf_spine", "fat_tree")


def controller(flow: Flow, world: str) -> str:
    """The name of a flow's congestion controller in a world."""
    return (
        _KERNEL_NAMES.get(flow.controller, flow.controller) if world == KERNEL else flow.controller
    )


def require(outline: Outline, world: str, controllers: Collection[str]) -> None:
    """Raises `LabError`, a line for each key that the world cannot follow. `controllers` are the
    names of those that it has.
    """
    problems = list(dict.fromkeys(_problems(outline, world, controllers)))
    if problems:
        raise LabError("\n".join(problems))


def notes(outline: Outline, world: str) -> list[str]:
    """The keys that hold in the simulator alone, a line each."""
    found = list(_root_notes(outline))
    for flow in outline.flows:
        found += _flow_notes(outline, flow, world)
    return list(dict.fromkeys(found))


def _problems(outline: Outline, world: str, controllers: Collection[str]) -> Iterator[str]:
    for key, what in (("udp", "UDP sources"), ("middleboxes", "middleboxes")):
        if outline.at(key):
            yield outline.message(key, f"simulator only: the other worlds have no {what}")
    yield from _topology_problems(outline)
    for link in outline.links:
        for key in (link.key, f"{link.key}.back"):
            yield from _path_problems(outline, key)
    for flow in outline.flows:
        yield from _flow_problems(outline, flow, world, controllers)


def _topology_problems(outline: Outline) -> Iterator[str]:
    key = next(key for key in _PATHS if outline.at(key))
    if len(outline.links) >= len(outline.nodes):
        yield outline.message(key, "simulator only: there is a loop, and two ways for a packet")
    ends = [node for link in outline.links for node in (link.a, link.b)]
    for flow in outline.flows:
        for end, node in (("from", flow.source), ("to", flow.to)):
            if ends.count(node) > 1:
                text = f"simulator only: a flow's end has one link, and {node} is a router"
                yield outline.message(f"{flow.key}.{end}", text)


def _path_problems(outline: Outline, key: str) -> Iterator[str]:
    path = outline.table(key)
    loss = path.get("loss")
    if isinstance(loss, Mapping) and "packets" in loss:
        text = "simulator only: a kernel's run has other packets than the ordinals are of"
        yield outline.message(f"{key}.loss", text)
    for name in ("reorder", "bleach_ecn", "handovers"):
        if path.get(name):
            yield outline.message(
                f"{key}.{name}", "simulator only: `windlass link` has no such key"
            )


def _flow_problems(
    outline: Outline, flow: Flow, world: str, controllers: Collection[str]
) -> Iterator[str]:
    if not flow.is_bulk:
        yield outline.message(f"{flow.key}.app", "simulator only: the other worlds' flows are bulk")
    key = f"{flow.key}.controller"
    name = controller(flow, world)
    if name not in controllers:
        what = "this kernel" if world == KERNEL else "ToU"
        has = ", ".join(sorted(controllers))
        yield outline.message(key, f"{what} has no controller {name}; it has {has}")
    for setting, value in outline.table(key).items():
        if setting != "kind" and not (
            flow.controller == "new-ecn" and _NEW_ECN.get(setting) == value
        ):
            text = "simulator only: a controller has its own parameters in the other worlds"
            yield outline.message(f"{key}.{setting}", text)


def _root_notes(outline: Outline) -> Iterator[str]:
    if outline.at("until_done"):
        yield outline.message("until_done", "simulator only: bulk flows last to the end")


def _flow_notes(outline: Outline, flow: Flow, world: str) -> Iterator[str]:
    known = _KERNEL_KEYS if world == KERNEL else _TOU_KEYS
    for key, value in outline.settings(flow).items():
        if key not in known and (text := _note(key, value, world)):
            yield outline.message(f"{flow.key}.{key}", text)


def _note(key: str, value: object, world: str) -> str:
    """Why a setting of a flow holds in the simulator alone; empty where it holds."""
    if world == TOU:
        return "simulator only: `windlass tou perf` has no such flag"
    if key not in _LINUX:
        return "simulator only: the kernel has its own"
    kind = value["kind"] if isinstance(value, Mapping) and "kind" in value else value
    return "" if kind == _LINUX[key] else f"simulator only: the kernel is as {_shown(_LINUX[key])}"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'
