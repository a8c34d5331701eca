"""Worlds of corral as rsl_rl takes them.

>>> runner = OnPolicyRunner(CorralRslRlEnv("Ant-v5", num_envs=1024), config, device="cpu")
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from .vector_env import CorralVectorEnv, Observations

# without a limit of control steps
ENDLESS = 2**31 - 1


class CorralRslRlEnv(VecEnv):
    """A ``VecEnv`` of rsl_rl: tensors, episodes that start anew in the step that ends them, groups of observations.

    Args:
        env: id of an environment, or the path of a task file.
        num_envs: worlds.
        device: of the tensors; the worlds are where ``sim_device`` says.
        sim_device: ``device`` of ``CorralVectorEnv``.
        seed: of the first reset.
        options: as of ``CorralVectorEnv``, but for ``autoreset``.
    """

    def __init__(
        self,
        env: str | os.PathLike[str],
        num_envs: int = 1,
        *,
        device: str = "cpu",
        sim_device: str | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        if sim_device is not None:
            options["device"] = sim_device
        self.envs = CorralVectorEnv(env, num_envs, autoreset="same-step", **options)
        self.num_envs = num_envs
        self.num_actions = int(np.prod(self.envs.single_action_space.shape or (1,)))
        most = self.envs.facts["maxEpisodeSteps"]
        self.max_episode_length = ENDLESS if most == np.inf else int(most)
        self.device = device
        self.cfg: dict[str, Any] = {"env": self.envs.id, "num_envs": num_envs}
        observations, _ = self.envs.reset(seed=seed)
        self._observations = self._tensors(observations)
        self._lengths = torch.zeros(num_envs, dtype=torch.long, device=device)

    def _tensors(self, observations: Observations) -> TensorDict:
        groups = observations if isinstance(observations, dict) else {"policy": observations}
        tensors = {name: torch.from_numpy(rows).to(self.device) for name, rows in groups.items()}
        return TensorDict(tensors, batch_size=[self.num_envs], device=self.device)

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Control steps of each world's episode so far; setting it sets those of the simulation."""
        return self._lengths

    @episode_length_buf.setter
    def episode_length_buf(self, lengths: torch.Tensor) -> None:
        self._lengths = lengths.to(self.device).long()
        self.envs.set_state(episode_length=self._lengths.cpu().numpy().astype(np.float64)[:, None])

    def get_observations(self) -> TensorDict:
        """The current observations, by group."""
        return self._observations

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """One control step of every world, with actions clipped to their bounds."""
        space: Any = self.envs.action_space
        given = actions.detach().cpu().numpy()
        bounded = np.clip(given, space.low, space.high) if hasattr(space, "low") else given
        observations, rewards, terminated, truncated, infos = self.envs.step(bounded)
        self._observations = self._tensors(observations)
        dones = terminated | truncated
        done = torch.from_numpy(dones).to(self.device)
        self._lengths = torch.where(done, 0, self._lengths + 1)
        extras: dict[str, Any] = {"time_outs": torch.from_numpy(truncated & ~terminated).to(self.device)}
        if dones.any():
            episode = infos["episode"]
            terms = {f"/episode/{name}": float(values[dones].mean()) for name, values in episode["terms"].items()}
            extras["log"] = {"/episode/return": float(episode["r"][dones].mean()), **terms}
        return self._observations, torch.from_numpy(rewards).to(self.device), done.long(), extras

    def close(self) -> None:
        """Ends the Node process."""
        self.envs.close()
