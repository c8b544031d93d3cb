"""What an agent sees, does and is rewarded for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from windlass_lab.core.errors import LabError
from windlass_lab.runs.simulate import load_native, override

if TYPE_CHECKING:
    from gymnasium.spaces import Box

    from windlass_lab._native import Environments

OBSERVATION = (
    "cwnd_packets",
    "in_flight_packets",
    "srtt_ms",
    "min_rtt_ms",
    "acked_packets_per_s",
    "retransmitted_packets",
    "timeouts",
    "ecn_reductions",
    "step_s",
)
"""The numbers of an observation. Rates and counts are those of the step; RTTs are 0 before the
first sample."""
ACTIONS = ("cwnd", "factor", "increment", "pacing_rate", "pacing_factor", "watch")
WINDOW_MAX = 10_000.0
"""The largest window in packets."""
RATE_MAX = 10_000_000.0
"""The largest pacing rate in packets per second."""
_INCREMENT_MAX = 32.0

Number = TypeVar("Number", float, np.ndarray)
Reward = Callable[[np.ndarray], np.ndarray]
"""The rewards of observations, which are along the last axis."""


def power(observation: np.ndarray) -> np.ndarray:
    """Kleinrock's power, scaled: the acknowledged packets per millisecond, times the share of the
    smallest RTT in the smoothed one.
    """
    rate = observation[..., OBSERVATION.index("acked_packets_per_s")]
    srtt = observation[..., OBSERVATION.index("srtt_ms")]
    least = observation[..., OBSERVATION.index("min_rtt_ms")]
    # Both are 0 before the first sample.
    return rate * least / (1000 * np.maximum(srtt, 1e-9))


@dataclass(frozen=True)
class Spec:
    """An environment's options."""

    path: Path
    flow: str
    step: str
    action: str
    reward: Reward
    set: Mapping[str, object]

    def native(self, count: int) -> Environments:
        """So many simulations. Raises `LabError` for a scenario or an option that cannot be."""
        if self.action not in ACTIONS:
            raise LabError(f"action={self.action!r}: expected {', '.join(ACTIONS)}")
        try:
            text = self.path.read_text(encoding="utf-8")
        except OSError as error:
            raise LabError(f"{self.path}: cannot read: {error.strerror}") from None
        overrides = [override(key, value) for key, value in self.set.items()]
        try:
            return load_native().Environments(
                str(self.path), text, overrides, self.flow, count, self.step, self.control
            )
        except ValueError as error:
            raise LabError(str(error)) from None

    def action_space(self) -> Box:
        """One number: the window in packets, the power of two that it is multiplied by, or the
        packets that are added to it; the pacing rate in packets per second, or the power of two
        that it is multiplied by. To watch there is nothing to do, and the number is ignored.
        """
        from gymnasium.spaces import Box

        low, high = {
            "cwnd": (1.0, WINDOW_MAX),
            "factor": (-1.0, 1.0),
            "increment": (-_INCREMENT_MAX, _INCREMENT_MAX),
            "pacing_rate": (1.0, RATE_MAX),
            "pacing_factor": (-1.0, 1.0),
            "watch": (-1.0, 1.0),
        }[self.action]
        return Box(low, high, shape=(1,), dtype=np.float32)

    def observation_space(self) -> Box:
        """`OBSERVATION`, none below 0."""
        from gymnasium.spaces import Box

        return Box(0.0, np.inf, shape=(len(OBSERVATION),), dtype=np.float32)

    @property
    def control(self) -> str:
        """What the agent sets: "window", "pacing_rate", or nothing: the flow's "own" controller."""
        if self.action == "watch":
            return "own"
        return "pacing_rate" if self.action.startswith("pacing") else "window"

    def next_controls(self, controls: Number, actions: Number) -> Number:
        """The windows in packets, or the pacing rates in packets per second, after actions."""
        if self.action == "watch":
            return controls
        if self.action in {"cwnd", "pacing_rate"}:
            wanted = actions
        elif self.action == "increment":
            wanted = controls + actions
        else:
            wanted = controls * np.exp2(actions)
        # np.clip takes three times as long.
        return np.minimum(
            np.maximum(wanted, 1.0), RATE_MAX if self.control == "pacing_rate" else WINDOW_MAX
        )

    def first_observations(self, controls: np.ndarray) -> np.ndarray:
        """What is seen after a reset: the initial windows, and nothing else yet."""
        observations = np.zeros((len(controls), len(OBSERVATION)), dtype=np.float32)
        observations[:, 0] = 0.0 if self.control == "pacing_rate" else controls
        return observations
