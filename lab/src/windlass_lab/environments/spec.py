"""Observations, actions and rewards of an agent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from windlass_lab.core.errors import ArgumentError, LabError
from windlass_lab.core.files.scalars import plain
from windlass_lab.runs.portable import portable_text
from windlass_lab.runs.simulate import load_native, override

if TYPE_CHECKING:
    from typing import Self

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
SIGNALS = (
    "delivery_rate_packets_per_s",
    "lost_packets",
    "marked_packets",
    "app_limited_share",
)
"""The numbers that follow with `signals`: those of a controller (docs/internals/controllers.md),
in the step."""
ACTIONS = ("cwnd", "factor", "increment", "pacing_rate", "pacing_factor", "watch")
WINDOW_MAX = 10_000.0
"""The largest window in packets."""
RATE_MAX = 10_000_000.0
"""The largest pacing rate in packets per second."""
_INCREMENT_MAX = 32.0
_BOUNDS = {
    "cwnd": (1.0, WINDOW_MAX),
    "factor": (-1.0, 1.0),
    "increment": (-_INCREMENT_MAX, _INCREMENT_MAX),
    "pacing_rate": (1.0, RATE_MAX),
    "pacing_factor": (-1.0, 1.0),
    "watch": (-1.0, 1.0),
}
"""The least and the largest number of each kind of action."""

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
    text: str
    """The scenario's, which no longer needs the file."""
    flow: str
    step: str
    action: str
    reward: Reward
    set: Mapping[str, object]
    signals: bool

    @staticmethod
    def of(
        path: str | Path,
        flow: str,
        step: str,
        action: str,
        reward: Reward,
        set_: Mapping[str, object] | None,
        signals: bool,
    ) -> Spec:
        """The options of a scenario's file. Raises `LabError` if it cannot be read."""
        values = {key: plain(value) for key, value in (set_ or {}).items()}
        text = portable_text(Path(path))
        return Spec(Path(path), text, flow, str(plain(step)), action, reward, values, signals)

    def native(self, count: int) -> Environments:
        """So many simulations. Raises `LabError` for a scenario or an option that cannot be."""
        if self.action not in ACTIONS:
            raise LabError(f"action={self.action!r}: expected {', '.join(ACTIONS)}")
        overrides = [override(key, value) for key, value in self.set.items()]
        try:
            return load_native().Environments(
                str(self.path),
                self.text,
                overrides,
                self.flow,
                count,
                self.step,
                self.control,
                self.signals,
            )
        except ValueError as error:
            raise LabError(str(error)) from None

    def action_space(self) -> Box:
        """One number: the window in packets, the power of two that it is multiplied by, or the
        packets that are added to it; the pacing rate in packets per second, or the power of two
        that it is multiplied by. To watch there is nothing to do, and the number is ignored.
        """
        from gymnasium.spaces import Box

        low, high = _BOUNDS[self.action]
        return Box(low, high, shape=(1,), dtype=np.float32)

    def numbers_of(self, actions: object, count: int) -> np.ndarray:
        """The numbers of `count` actions, each of which may stand in a list of its own. Raises
        `ArgumentError` for other shapes, NaN, and numbers outside the space.
        """
        low, high = _BOUNDS[self.action]
        expected = (
            f"expected {count} of {low:g} to {high:g}"
            if count > 1
            else (f"expected a number from {low:g} to {high:g}")
        )
        try:
            numbers = np.asarray(actions, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArgumentError(f"action: {expected}, found {actions!r}") from None
        if numbers.size != count or numbers.shape[:1] not in ((), (1,), (count,)):
            raise ArgumentError(f"action: {expected}, found the shape {numbers.shape}")
        numbers = numbers.reshape(count)
        # NaN is within no bounds.
        outside = numbers[~((numbers >= low) & (numbers <= high))]
        if outside.size:
            raise ArgumentError(f"action: {expected}, found {outside[0]:g}")
        return numbers

    def observation_space(self) -> Box:
        """The numbers of `names`, none below 0."""
        from gymnasium.spaces import Box

        return Box(0.0, np.inf, shape=(len(self.names),), dtype=np.float32)

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers of an observation: `OBSERVATION`, and `SIGNALS` where they are asked for."""
        return OBSERVATION + SIGNALS if self.signals else OBSERVATION

    @property
    def control(self) -> str:
        """The agent sets the "window" or the "pacing_rate"; "own": the flow's controller does."""
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
        """The observations after a reset: the initial windows, and zeros for the rest."""
        observations = np.zeros((len(controls), len(self.names)), dtype=np.float32)
        observations[:, 0] = 0.0 if self.control == "pacing_rate" else controls
        return observations


class Restorable:
    """An environment that can be copied and pickled, in an episode too: the copy simulates it again
    up to the same step. Its attribute `_native` has the simulations.
    """

    _spec: Spec
    _native: Environments

    def __copy__(self) -> Self:
        """Has random numbers of its own, as a deep copy has."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict:
        """Its attributes, and what its runs came from."""
        members = len(self._native.controls())
        runs = [self._native.state(member) for member in range(members)]
        return {**self.__dict__, "_native": runs}

    def __setstate__(self, state: dict) -> None:
        """Simulates its runs again."""
        runs = state["_native"]
        self.__dict__.update(state)
        self._native = self._spec.native(len(runs))
        for member, run in enumerate(runs):
            if run:
                self._native.restore(member, *run)
