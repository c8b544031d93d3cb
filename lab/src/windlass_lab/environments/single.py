"""One environment."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from windlass_lab.core.files.scalars import whole
from windlass_lab.environments.spec import Restorable, Reward, Spec, power


class CongestionEnv(Restorable, gymnasium.Env):
    """A scenario in which an agent sets window or pacing rate of one flow (Gymnasium's API).

    An episode is a run of the scenario. It is truncated at the end of the scenario's duration, and
    terminated where `until_done` ends it before. It can be pickled and copied at any step.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  Gymnasium's own type

    def __init__(self, spec: Spec) -> None:
        """Raises `LabError` for a scenario or an option that cannot be."""
        self._spec = spec
        self._native = spec.native(1)
        self.action_space = spec.action_space()
        self.observation_space = spec.observation_space()
        self.render_mode = None

    def reset(
        self, *, seed: int | None = None, options: Mapping | None = None
    ) -> tuple[np.ndarray, dict]:
        """Restarts the run. A seed makes all later runs the same. Raises `ArgumentError` for an
        invalid seed.
        """
        super().reset(seed=None if seed is None else whole("seed", seed, 0))
        self._native.reset(0, int(self.np_random.integers(2**32)))
        return self._spec.first_observations(np.array(self._native.controls()))[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Sets the window or the pacing rate, and runs on for a step. Raises `ArgumentError` for an
        action that the space does not have; nothing has run then. Ctrl-C ends the episode.
        """
        (number,) = self._spec.numbers_of(action, 1)
        control, *_ = self._native.controls()
        wanted = self._spec.next_controls(control, float(number))
        data, endings = self._native.step([0], [float(wanted)])
        observation = np.frombuffer(data, dtype=np.float64, count=len(self._spec.names))
        reward = float(self._spec.reward(observation))
        return observation.astype(np.float32), reward, endings[0] == 2, endings[0] == 1, {}

    def summary(self) -> dict:
        """The summary of the run so far, which ends it (docs/reference/simulator-output.md)."""
        return json.loads(self._native.finish(0))


def make_env(
    path: str | Path,
    *,
    flow: str,
    step: str = "rtt",
    action: str = "factor",
    reward: Reward = power,
    set: Mapping[str, object] | None = None,
    signals: bool = False,
) -> CongestionEnv:
    """An environment of a scenario (docs/reference/environments.md).

    `flow` is the name of the flow that the agent controls. `step` is "rtt", a number of ACKs such
    as "8 acks", or a time such as "100ms". `action` is "cwnd" (packets), "factor" (the power of two
    that the window is multiplied by), "increment" (packets), "pacing_rate" (packets per second),
    "pacing_factor", or "watch" (none: the flow keeps its controller). `set` replaces keys of the
    scenario. `signals` adds the signals of a controller to the observations. Raises `LabError` for
    a scenario or an option that cannot be.
    """
    return CongestionEnv(Spec.of(path, flow, step, action, reward, set, signals))
