"""Learns a congestion controller with PPO of stable-baselines3, and compares it with Reno.

    pip install './lab[environments]' stable-baselines3
    python examples/learning/learn.py

The path is path.toml beside this file; one training takes a few minutes of one core. The last lines
say which reward Reno gets, and which the learned controller gets on seeds that it has not seen.
"""

from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO

import windlass_lab as wl

PATH = Path(__file__).with_name("path.toml")
STEPS = 60_000
UNSEEN = range(1000, 1010)


class Ratios(gymnasium.ObservationWrapper):
    """The agent's observations as ratios, which mean the same on every path."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, shape=(4,), dtype=np.float32)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        """The window, the share of it in flight, the queue, and what was delivered."""
        window, in_flight, srtt_ms, least_ms, rate = observation[:5]
        queued = srtt_ms / max(least_ms, 1.0) - 1.0
        delivered = rate * least_ms / 1000 / max(window, 1.0)
        seen = (np.log2(window + 1) / 5 - 1, in_flight / max(window, 1.0), queued, delivered)
        return np.clip(np.array(seen, dtype=np.float32), -10.0, 10.0)


def make(action: str) -> gymnasium.Env:
    """The path, with ten actions a second."""
    return Ratios(wl.make_env(PATH, flow="flow", step="100ms", action=action))


def mean_reward(env: gymnasium.Env, choose: Callable[[np.ndarray], np.ndarray]) -> float:
    """The mean reward of a step on seeds that the training has not seen."""
    rewards = []
    for seed in UNSEEN:
        seen, _ = env.reset(seed=seed)
        over = False
        while not over:
            seen, reward, terminated, truncated, _ = env.step(choose(seen))
            rewards.append(reward)
            over = terminated or truncated
    return float(np.mean(rewards))


if __name__ == "__main__":
    # So small a network is fastest on one thread.
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", make("factor"), seed=1, gamma=0.98, device="cpu", verbose=1)
    model.learn(STEPS)
    model.save("learned")
    reno = mean_reward(make("watch"), lambda seen: np.zeros(1, dtype=np.float32))
    learned = mean_reward(make("factor"), lambda seen: model.predict(seen, deterministic=True)[0])
    print(f"Reno {reno:.3f}, learned {learned:.3f}: {learned / reno:.2f} times")
