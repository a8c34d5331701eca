"""Worlds of corral where CleanRL's scripts make theirs, in one line:

>>> envs = corral.cleanrl.make(args.env_id, args.num_envs, gamma=args.gamma)
"""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers import utils

from .vector_env import CorralVectorEnv

Array = npt.NDArray[Any]
# what normalised observations and rewards are clipped to, and what their variances have added
BOUND = 10.0
EPSILON = 1e-8


class Normalised(gym.vector.VectorWrapper):
    """Actions clipped to their bounds; observations and returns by running means and variances, as CleanRL's are.

    Gymnasium's own wrappers refuse episodes that start anew in the step that ends them, on which CleanRL relies.
    """

    def __init__(self, env: Any, gamma: float) -> None:
        super().__init__(env)
        self._gamma = gamma
        running: Any = utils.RunningMeanStd
        self.observation_rms = running(shape=env.single_observation_space.shape, dtype=np.float64)
        self._return_rms = running(shape=(), dtype=np.float64)
        self._returns = np.zeros(env.num_envs)
        shape = env.single_observation_space.shape
        self.single_observation_space = gym.spaces.Box(-BOUND, BOUND, shape, np.float32)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def _seen(self, rows: Array) -> Array:
        rms = self.observation_rms
        rms.update(rows)
        seen: Array = np.clip((rows - rms.mean) / np.sqrt(rms.var + EPSILON), -BOUND, BOUND).astype(np.float32)
        return seen

    def reset(self, **given: Any) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes."""
        observations, infos = self.env.reset(**given)
        self._returns[:] = 0
        return self._seen(observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One control step of every world."""
        space: Any = self.env.single_action_space
        observations, rewards, terminated, truncated, infos = self.env.step(np.clip(actions, space.low, space.high))
        self._returns = self._returns * self._gamma * (1 - terminated) + rewards
        self._return_rms.update(self._returns)
        scaled = np.clip(rewards / np.sqrt(self._return_rms.var + EPSILON), -BOUND, BOUND).astype(np.float32)
        return self._seen(observations), scaled, terminated, truncated, infos


class FinalInfos(gym.vector.VectorWrapper):
    """``infos["final_info"]`` as CleanRL reads it: a list with a dictionary for each world whose episode ended, else None."""

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One control step of every world."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        if "episode" in infos:
            episode, ended = infos["episode"], infos["_episode"]
            rows: list[dict[str, Any] | None] = [None] * self.num_envs
            for world in np.flatnonzero(ended).tolist():
                rows[world] = {"episode": {"r": episode["r"][world : world + 1], "l": episode["l"][world : world + 1]}}
            infos["final_info"] = rows
        return observations, rewards, terminated, truncated, infos


def make(
    env: str | os.PathLike[str], num_envs: int = 1, *, gamma: float | None = None, **options: Any
) -> gym.vector.VectorEnv[Any, Any, Any]:
    """Worlds as CleanRL's scripts wrap theirs: with ``gamma`` as those of continuous actions, which normalise.

    Args:
        env: id of an environment, or the path of a task file.
        num_envs: worlds.
        gamma: discount of the normalised rewards; None leaves observations, actions and rewards as they are.
        options: as of ``CorralVectorEnv``, but for ``autoreset``.
    """
    envs: Any = CorralVectorEnv(env, num_envs, autoreset=gym.vector.AutoresetMode.SAME_STEP, **options)
    if gamma is not None:
        envs = Normalised(envs, gamma)
    return FinalInfos(envs)
