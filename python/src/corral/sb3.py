"""Worlds of corral as Stable-Baselines3 takes them.

>>> from corral.sb3 import CorralVecEnv
>>> model = PPO("MlpPolicy", CorralVecEnv("HalfCheetah-v5", num_envs=256, seed=1))
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from .errors import CorralError
from .vector_env import CorralVectorEnv, Observations


# infos of a step that are not the task's, which rows have under names of Stable-Baselines3
OWN = ("episode", "final_obs", "final_info")


class CorralVecEnv(VecEnv):
    """A ``VecEnv`` of Stable-Baselines3: episodes start anew in the step that ends them, infos are one dictionary a world.

    Args:
        env: id of an environment, or the path of a task file.
        num_envs: worlds.
        seed: of the first reset.
        options: as of ``CorralVectorEnv``, but for ``autoreset``.
    """

    def __init__(self, env: str | os.PathLike[str], num_envs: int = 1, *, seed: int | None = None, **options: Any) -> None:
        if "autoreset" in options:
            ends = "Stable-Baselines3 has worlds start anew in the step that ends them. Leave it out."
            raise CorralError("bad-option", f"autoreset is {options['autoreset']!r}; {ends}")
        self.envs = CorralVectorEnv(env, num_envs, autoreset=AutoresetMode.SAME_STEP, **options)
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)
        self._seed = seed

    def reset(self) -> Observations:
        """Starts new episodes in all worlds."""
        seeds = [s for s in self._seeds if s is not None]
        seed = [int(s) for s in seeds] if len(seeds) == self.num_envs else self._seed
        observations, infos = self.envs.reset(seed=seed, options=self._options_of_all())
        self._seed = None
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = self._rows(infos)
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Begins a step."""
        self.envs.step_async(actions)

    def step_wait(self) -> tuple[Observations, npt.NDArray[Any], npt.NDArray[Any], list[dict[str, Any]]]:
        """The results of the step that was begun; ``terminal_observation`` is in the infos of worlds whose episode ended."""
        observations, rewards, terminated, truncated, infos = self.envs.step_wait()
        dones = terminated | truncated
        rows = self._rows(infos)
        for world in np.flatnonzero(dones).tolist():
            # what went wrong is of the step; all else is of the new episode's start
            status = {"status": rows[world]["status"]} if "status" in rows[world] else {}
            row = rows[world] = self._row(infos["final_info"], world) | status
            row["terminal_observation"] = infos["final_obs"][world]
            row["TimeLimit.truncated"] = bool(truncated[world] and not terminated[world])
            episode = infos["episode"]
            row["episode"] = {"r": float(episode["r"][world]), "l": int(episode["l"][world]), "t": 0.0}
        return observations, rewards, dones, rows

    @staticmethod
    def _row(infos: dict[str, Any], world: int) -> dict[str, Any]:
        names = [name for name in infos if not name.startswith("_") and not isinstance(infos[name], dict)]
        return {name: infos[name][world] for name in names if infos[f"_{name}"][world]}

    def _rows(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        names = [name for name in infos if not name.startswith("_") and name not in OWN]
        whole = [name for name in names if infos[f"_{name}"].all()]
        # by columns: one look-up a world and name would take as long as the step
        columns = zip(*(list(infos[name]) for name in whole)) if whole else ((),) * self.num_envs
        rows = [dict(zip(whole, column)) for column in columns]
        for name in names:
            if name not in whole:
                for world in np.flatnonzero(infos[f"_{name}"]).tolist():
                    rows[world][name] = infos[name][world]
        return rows

    def _options_of_all(self) -> dict[str, Any] | None:
        """Options of ``set_options`` as ``reset`` of the worlds takes them: parameters, a value for each world."""
        each: list[dict[str, Any]] = self._options
        if not any(each):
            return None
        first = each[0].get("params")
        names = list(first) if isinstance(first, dict) else []
        for world, options in enumerate(each):
            params = options.get("params")
            if set(options) - {"params"} or not isinstance(params, dict) or set(params) != set(names):
                text = f"options of world {world} are {options!r}. Pass params alone, the same names for every world: {names}."
                raise CorralError("bad-option", text)
        return {"params": {name: np.ravel([options["params"][name] for options in each]) for name in names}}

    def close(self) -> None:
        """Ends the Node process."""
        self.envs.close()

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """A picture of each world, of which ``render`` makes one: ``VecVideoRecorder`` asks for it."""
        return self.envs.render()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each world."""
        values = self.envs.get_attr(attr_name)
        return [values[i] for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets a parameter of the task."""
        self.envs.set_params(list(self._get_indices(indices)), **{attr_name: value})

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """What a method of ``envs`` gives, once for each world."""
        found = self.envs.call(method_name, *args, **kwargs)
        return [found[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No world has a wrapper; episodes are counted all the same."""
        return [False for _ in self._get_indices(indices)]

    def _get_indices(self, indices: Any) -> Sequence[int]:
        return list(super()._get_indices(indices))
