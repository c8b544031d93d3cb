"""Many environments that step together, in one process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from windlass_lab.core.files.scalars import whole
from windlass_lab.environments.spec import Restorable, Reward, Spec, power


class CongestionVectorEnv(Restorable, gymnasium.vector.VectorEnv):
    """Runs of one scenario with different seeds (Gymnasium's vector API). A run that is over
    restarts at the next step, whose action it ignores. They can be pickled and copied at any step.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, spec: Spec, n: int) -> None:
        """Raises `LabError` for a scenario or an option that cannot be."""
        self._spec = spec
        self._native = spec.native(n)
        self.num_envs = n
        self.single_action_space = spec.action_space()
        self.single_observation_space = spec.observation_space()
        self.action_space = batch_space(self.single_action_space, n)
        self.observation_space = batch_space(self.single_observation_space, n)
        self.render_mode = None
        self._over = np.zeros(n, dtype=bool)

    def reset(
        self, *, seed: int | None = None, options: Mapping | None = None
    ) -> tuple[np.ndarray, dict]:
        """Restarts all runs. A seed makes all later runs the same. Raises `ArgumentError` for an
        invalid seed.
        """
        super().reset(seed=None if seed is None else whole("seed", seed, 0))
        for member in range(self.num_envs):
            self._native.reset(member, self._draw())
        self._over[:] = False
        return self._spec.first_observations(np.array(self._native.controls())), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        """Sets the windows or pacing rates, and runs all on for a step. Raises `ArgumentError` for
        actions that the space does not have; nothing has run then. Ctrl-C ends all episodes.
        """
        flat = self._spec.numbers_of(actions, self.num_envs)
        for member in np.flatnonzero(self._over):
            self._native.reset(int(member), self._draw())
        controls = np.array(self._native.controls())
        observations = self._spec.first_observations(controls)
        rewards = np.zeros(self.num_envs)
        endings = np.zeros(self.num_envs, dtype=np.uint8)
        running = np.flatnonzero(~self._over)
        wanted = self._spec.next_controls(controls[running], flat[running])
        data, found = self._native.step(running.tolist(), wanted.tolist())
        seen = np.frombuffer(data, dtype=np.float64).reshape(len(running), len(self._spec.names))
        observations[running] = seen
        rewards[running] = self._spec.reward(seen)
        endings[running] = np.frombuffer(found, dtype=np.uint8)
        self._over = endings > 0
        return observations, rewards, endings == 2, endings == 1, {}

    def _draw(self) -> int:
        return int(self.np_random.integers(2**32))


def make_vec_env(
    path: str | Path,
    *,
    flow: str,
    n: int,
    step: str = "rtt",
    action: str = "factor",
    reward: Reward = power,
    set: Mapping[str, object] | None = None,
    signals: bool = False,
) -> CongestionVectorEnv:
    """`n` environments of a scenario that step together; the options are those of `make_env`.
    Raises `LabError` for a scenario or an option that cannot be.
    """
    spec = Spec.of(path, flow, step, action, reward, set, signals)
    return CongestionVectorEnv(spec, whole("n", n, 1))
