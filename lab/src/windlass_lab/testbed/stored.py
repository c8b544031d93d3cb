"""Runs that are on the disk already."""

import dataclasses
import hashlib
import json
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.testbed.run import SUMMARY
from windlass_lab.testbed.topology import Experiment


def digest(experiment: Experiment) -> str:
    """Tells whether a run is of this experiment, as it is now."""
    return hashlib.sha256(json.dumps(dataclasses.asdict(experiment)).encode()).hexdigest()


def is_there(folder: Path, experiment: Experiment) -> bool:
    """Whether a folder holds a whole run of this very experiment."""
    try:
        return summary(folder)["testbed"]["experiment_sha256"] == digest(experiment)
    except (LabError, KeyError, TypeError):
        return False


def summary(folder: Path) -> dict:
    """The summary of a run. Raises `LabError` where there is none."""
    try:
        return json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LabError(f"cannot read {folder / SUMMARY}: {error}") from error
