"""Scenarios that need no other file."""

import json
import tomllib
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.text_file import read_text


def portable_text(path: Path) -> str:
    """The text of a scenario for other machines: the traces that it names stand in it. A scenario
    without traces, or one that is not TOML, is returned as it is. Raises `LabError`.
    """
    text = read_text(path)
    try:
        keys = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text
    # A date is in no valid scenario; as a text it is refused like any other wrong value.
    return json.dumps(keys, default=str) if _embed(keys, path.parent) else text


def _embed(value: object, folder: Path) -> bool:
    """Replaces the paths of traces by their times; true if there was one. A file that is no trace
    is left to the simulator, which says what is wrong with it.
    """
    if isinstance(value, list):
        return any([_embed(item, folder) for item in value])
    if not isinstance(value, dict):
        return False
    embedded = [_embed(item, folder) for item in value.values()]
    trace = value.get("trace")
    if isinstance(trace, str) and (times := _times(folder / trace)) is not None:
        value["trace"] = times
        return True
    return any(embedded)


def _times(path: Path) -> list[int] | None:
    try:
        lines = [line.strip() for line in read_text(path).splitlines()]
        return [int(line) for line in lines if line and not line.startswith("#")]
    except (LabError, ValueError):
        return None
