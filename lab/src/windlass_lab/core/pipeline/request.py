"""The options of one run of `windlass-lab reproduce`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass_lab.core.binary.windlass import Windlass
from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.model import Experiment, Paper

# Shows one line to the user while experiments run.
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """The options of `windlass-lab reproduce`; `None` stands for the default of the paper.

    `target` is the name as the user typed it; `folder` receives the result. `experiments_folder`
    overrides where the scenario files are. `jobs` runs, or testbeds, run at the same time. `tests`
    are globs over the names of tests; without one all tests run. With `check`, cases on which no
    exit status depends are simulated once. The workers of the Dask scheduler at the address
    `scheduler` run it, where there is one. `left_out` collects what this machine cannot run.
    """

    target: str
    paper: Paper
    experiments: Sequence[Experiment]
    windlass: Windlass
    folder: Path
    progress: Progress
    experiments_folder: Path | None = None
    replicates: int | None = None
    runs: int | None = None
    jobs: int = 1
    seed: int = 1
    scale: float = 1.0
    real: bool = False
    resume: bool = False
    tests: tuple[str, ...] = ()
    check: bool = False
    scheduler: str = ""
    left_out: list[str] = field(default_factory=list)

    def leave_out(self, experiments: Sequence[str], reason: str) -> None:
        """Says that experiments are not run and why, and keeps it for the end."""
        names = ", ".join(experiments)
        self.progress(f"left out: {names}: {reason}")
        self.left_out.append(f"{self.paper.id}/{names}: {reason}")

    def refuse_real_scale_and_tests(self) -> None:
        """Raises `LabError` for `--real`, `--scale` or `--tests`, which the paper does not have."""
        if self.real or self.scale != 1.0 or self.tests:
            raise LabError("--real is for ecn-proxy, --scale and --tests are for tou as well")

    def refuse_check(self) -> None:
        """Raises `LabError` for `--check`, which only the papers without named tests have."""
        if self.check:
            raise LabError("--check is for new-ecn and split-ack")
