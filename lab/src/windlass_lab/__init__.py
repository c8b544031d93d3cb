"""Runs and shows experiments: your own scenarios, and those behind Windlass.

import windlass_lab as wl
run = wl.simulate("my.toml", seed=7, set={"flows.0.controller.beta": 8})
run.flows
run.plot("cwnd", "queue").save("run.svg")
"""

from typing import TYPE_CHECKING

from windlass_lab.core.errors import LabError
from windlass_lab.core.version import VERSION

if TYPE_CHECKING:
    from windlass_lab.clauses.controller import Controller
    from windlass_lab.clauses.judge import judge
    from windlass_lab.environments.single import make_env
    from windlass_lab.environments.vector import make_vec_env
    from windlass_lab.runs.figure import Figure
    from windlass_lab.runs.run import Run
    from windlass_lab.runs.simulate import simulate
    from windlass_lab.runs.stored import read
    from windlass_lab.searches.search import search
    from windlass_lab.sweeps.results import read_study
    from windlass_lab.sweeps.sweep import sweep

__version__ = VERSION
__all__ = [
    "Controller",
    "Figure",
    "Run",
    "judge",
    "make_env",
    "make_vec_env",
    "read",
    "read_study",
    "search",
    "simulate",
    "sweep",
]

_HOMES = {
    "Controller": "windlass_lab.clauses.controller",
    "Figure": "windlass_lab.runs.figure",
    "Run": "windlass_lab.runs.run",
    "judge": "windlass_lab.clauses.judge",
    "make_env": "windlass_lab.environments.single",
    "make_vec_env": "windlass_lab.environments.vector",
    "read": "windlass_lab.runs.stored",
    "read_study": "windlass_lab.sweeps.results",
    "search": "windlass_lab.searches.search",
    "simulate": "windlass_lab.runs.simulate",
    "sweep": "windlass_lab.sweeps.sweep",
}

# The extras that packages are in which not everybody needs.
_EXTRAS = {"gymnasium": "environments"}


def __dir__() -> list[str]:
    # For the completion of names in notebooks.
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    # Loaded when they are used: the command needs neither polars nor the simulator for most things.
    if name not in _HOMES:
        raise AttributeError(f"module 'windlass_lab' has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        extra = f"pip install 'windlass-lab[{_EXTRAS[error.name]}]'"
        raise LabError(f"{name} takes the package {error.name}: {extra}") from None
