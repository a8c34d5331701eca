"""Many worlds of an environment, as a vector environment of Gymnasium."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ._client import Client
from ._given import numbers, path_of, truth
from ._held import Held, Snapshot, indices, integer
from ._spaces import observation_space_of, space_of
from .errors import CorralError
from .registration import NAMESPACE

Array = npt.NDArray[Any]
Observations = Union[Array, dict[str, Array]]
Results = tuple[Observations, Array, Array, Array, dict[str, Any]]

MODES = {
    "next-step": AutoresetMode.NEXT_STEP,
    "same-step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}
RENDER_MODES = ("rgb_array",)
# Gymnasium's own values of the modes, too
NAMES: dict[Any, str] = {each: name for name, mode in MODES.items() for each in (mode, mode.value)}


def _seed(seed: Any) -> int:
    return integer("bad-seed", "seed", seed)


def vectors_of(names: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Infos that are numbers ``name_0``, ``name_1``, ... of one vector, as Gymnasium has them: its name, and its parts."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for first in names:
        base = first.removesuffix("_0")
        if base == first or base.startswith("_") or base in names:
            continue
        parts = tuple(itertools.takewhile(lambda part: part in names, (f"{base}_{i}" for i in itertools.count())))
        if len(parts) > 1:
            found.update((part, (base, parts)) for part in parts)
    return found


class CorralVectorEnv(gym.vector.VectorEnv[Observations, Array, Array], Held):
    """Worlds in a Node process of its own, stepped together.

    Args:
        env: id of an environment, or the path of a task file.
        num_envs: worlds.
        copy: results are arrays of the caller's own. With ``False`` they are views of the memory that both processes
            share, which the next call overwrites.
        autoreset: ``"next-step"`` (default), ``"same-step"``, ``"disabled"``, or Gymnasium's ``AutoresetMode``.
        autoreset_mode: the same by Gymnasium's name for it.
        episode_statistics: infos have ``episode`` where one ended. ``False`` leaves that name to Gymnasium's wrapper
            ``RecordEpisodeStatistics``, which refuses it otherwise.
        render_mode: ``"rgb_array"``: ``render`` draws worlds, also without a screen.
        width, height, camera_name: of those pictures, as Gymnasium's MuJoCo environments have them; without a name the
            free camera, which follows what floats.
        options: every option of ``makeVec``, by its name or in snake_case: ``max_episode_steps``, ``device``, ``budget``.

    Raises:
        CorralError: what ``makeVec`` refuses; ``no-node``, ``no-corral``, ``no-shared-memory``.
    """

    _spec: EnvSpec | None = None

    def __init__(
        self,
        env: str | os.PathLike[str],
        num_envs: int = 1,
        *,
        copy: bool = True,
        autoreset: str | AutoresetMode = "next-step",
        autoreset_mode: str | AutoresetMode | None = None,
        episode_statistics: bool = True,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
        camera_name: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, *RENDER_MODES):
            raise CorralError("bad-option", f"render_mode is {render_mode!r}; corral opens no window. Pass 'rgb_array' or None.")
        sides = {name: integer("bad-option", name, side) for name, side in (("width", width), ("height", height))}
        pictures = None if render_mode is None else sides | ({} if camera_name is None else {"camera_name": camera_name})
        copy, episode_statistics = truth("copy", copy), truth("episode_statistics", episode_statistics)
        name = path_of("unknown-env", "the environment", env)
        autoreset = NAMES.get(autoreset if autoreset_mode is None else autoreset_mode, autoreset_mode or autoreset)
        client = Client()
        try:
            given = {**options, "num_envs": num_envs, "autoreset": autoreset}
            asked = {} if pictures is None else {"pictures": pictures}
            self._begin(client, client.call("makeVec", env=name, options=given, **asked), copy, episode_statistics)
        except BaseException:
            client.close()
            raise

    def _begin(self, client: Client, made: dict[str, Any], copy: bool, episode_statistics: bool) -> None:
        Held.__init__(self, client, made)
        self._copy = copy
        self._episode_statistics = episode_statistics
        self._pending: int | None = None
        self._info_arrays = {kind: self._columns_of(kind) for kind in ("info", "final")}
        self._kept_rows: dict[str, tuple[Sequence[str] | None, list[tuple[str, Array | list[Array]]]]] = {}
        facts = self.facts
        self.id: str = facts["id"]
        self.num_envs = int(facts["numEnvs"])
        # where Gymnasium's own vector environments have it too
        self.autoreset_mode = MODES[facts["autoreset"]]
        self.render_mode = "rgb_array" if "picture" in self._arrays else None
        self.metadata = {
            "autoreset_mode": self.autoreset_mode,
            "render_modes": list(RENDER_MODES),
            "render_fps": round(1 / facts["dt"]),
        }
        self.single_action_space = space_of(facts["action"])
        # columns of each group, where the task shows policies other things than critics
        self._groups = {name: slice(g["from"], g["from"] + g["size"]) for name, g in facts["groups"].items()}
        self.single_observation_space = observation_space_of(facts["observation"], self._groups)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.world_ids: list[int] = facts["worldIds"]

    @property
    def spec(self) -> EnvSpec | None:
        """Gymnasium's description, of the environments of its registry alone."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        # the registry knows no limit, since a process of corral's would have to say it
        if spec is not None:
            limit = self.facts["maxEpisodeSteps"]
            spec.max_episode_steps = int(limit) if np.isfinite(limit) else None
        self._spec = spec

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Starts new episodes, in all worlds or in those of ``options["reset_mask"]``.

        A world's numbers depend on its seed and its id: worlds of one seed differ. ``options["params"]`` sets parameters of
        the task for the worlds that are reset.
        """
        self._assert_idle("reset")
        if not isinstance(options, (Mapping, type(None))):
            raise CorralError("bad-option", f"options of reset are {options!r}; pass a dict of reset_mask and params.")
        given = dict(options or {})
        mask = given.pop("reset_mask", None)
        params = given.pop("params", None)
        if given:
            raise CorralError("unknown-option", f'reset has no option "{next(iter(given))}". It takes reset_mask and params.')
        if mask is not None:
            self._put_mask(mask)
        if seed is None or isinstance(seed, str) or not isinstance(seed, (Sequence, np.ndarray)):
            seeds: int | list[int | None] | None = None if seed is None else _seed(seed)
        else:
            seeds = [None if s is None else _seed(s) for s in seed]
        request = {"masked": mask is not None, "params": params, "seed": seeds}
        reply = self._client.call("reset", self._of, **{k: v for k, v in request.items() if v is not None})
        observations, _, _, _, infos = self._results(reply)
        return observations, infos

    def _put_mask(self, mask: Any) -> None:
        found = np.asarray(mask)
        if found.dtype != np.bool_ or found.shape != (self.num_envs,):
            raise CorralError(
                "bad-reset-mask",
                f"the reset mask has type {found.dtype} and shape {found.shape}. Pass {self.num_envs} booleans, at least one of them true.",
            )
        self._arrays["reset_mask"][:] = found

    def step(self, actions: Any) -> Results:
        """One control step of every world.

        Returns:
            observations ``[num_envs, ...]``, rewards, terminated and truncated ``[num_envs]``, and infos by Gymnasium's
            names, each with a mask ``_name`` of the worlds that have it.
        """
        try:
            self.step_async(actions)
            return self.step_wait()
        except KeyboardInterrupt:
            # nobody waits for what was begun
            self._pending = None
            raise

    def step_async(self, actions: Any) -> None:
        """Begins a control step, and returns at once; ``step_wait`` has its results."""
        self._assert_idle("step_async")
        self._put_actions(actions)
        self._pending = self._client.send("step", self._of)

    def step_wait(self) -> Results:
        """The results of the step that was begun."""
        if self._pending is None:
            raise CorralError("no-step", "no step was begun. Call step_async(actions) first.")
        number, self._pending = self._pending, None
        self._client.wait_part(number)
        # infos are written meanwhile
        first = self._rows_of_step()
        return (*first, self._infos(self._client.wait(number)))

    def _put_actions(self, actions: Any) -> None:
        into = self._arrays["actions"]
        if type(actions) is np.ndarray and actions.shape == into.shape and actions.dtype == into.dtype:
            into[...] = actions
            return
        try:
            found = np.asarray(actions)
        except ValueError as error:
            raise CorralError("bad-action", f"actions make no array: {error}. Pass one of shape {into.shape}, a row a world.") from error
        if found.shape != into.shape:
            raise CorralError("bad-action", f"actions have shape {found.shape}; they are {into.shape}, a row a world.")
        if into.dtype.kind == "i" and found.dtype.kind not in "iu":
            raise CorralError("bad-action", f"actions are {found.dtype}; this space takes integers.")
        if found.dtype.kind not in "iuf":
            raise CorralError("bad-action", f"actions are {found.dtype}; pass numbers.")
        if into.dtype.kind == "i":
            # beyond its bounds a cast takes the remainder, which may be an action
            bounds = np.iinfo(into.dtype)
            beyond = np.argwhere((found < bounds.min) | (found > bounds.max))
            if beyond.size > 0:
                at = tuple(int(i) for i in beyond[0])
                text = f"world {at[0]}: the action is {found[at]}, which is no {into.dtype}. Pass such a value; no world was stepped."
                raise CorralError("bad-action", text)
        # what float32 has no number for becomes infinite, which the other side refuses by its world
        with np.errstate(over="ignore", under="ignore"):
            into[...] = found

    def _assert_idle(self, what: str) -> None:
        self._assert_open()
        if self._pending is not None:
            raise CorralError("call-in-flight", f"{what} was called while a step is in flight. Call step_wait() first.")

    def _take(self, name: str) -> Array:
        array = self._arrays[name]
        return array.copy() if self._copy else array

    def _results(self, reply: Mapping[str, Any]) -> Results:
        return (*self._rows_of_step(), self._infos(reply))

    def _rows_of_step(self) -> tuple[Observations, Array, Array, Array]:
        terminated, truncated = self._take("terminated"), self._take("truncated")
        observations = self._grouped(self._arrays["observations"], self._copy)
        return observations, self._take("rewards"), terminated, truncated

    def _grouped(self, rows: Array, copy: bool) -> Observations:
        """Observations of one world or of all as the space has them: an array, or one for each group."""
        if not self._groups:
            return rows.copy() if copy else rows
        parts = {name: rows[..., columns] for name, columns in self._groups.items()}
        return {name: part.copy() for name, part in parts.items()} if copy else parts

    def _infos(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        infos = self._columns("info", reply["infos"])
        if reply.get("episode"):
            mask = self._take("episode._")
            if self._episode_statistics:
                names = self.facts["terms"]["rewards"]
                terms = {name: self._take(f"episode.terms.{name}") for name in names}
                infos["episode"] = {"r": self._take("episode.r"), "l": self._take("episode.l"), "terms": terms}
                infos["_episode"] = mask
            if "final_obs" in self._arrays:
                self._add_final(infos, mask, reply.get("final", []))
        if reply.get("status"):
            infos["status"] = self._take("status")
            infos["_status"] = infos["status"] != 0
        return infos

    def _add_final(self, infos: dict[str, Any], mask: Array, names: Sequence[str]) -> None:
        rows = self._arrays["final_obs"]
        last = np.full(self.num_envs, None, dtype=object)
        for world in np.flatnonzero(mask):
            last[world] = self._grouped(rows[world], copy=True)
        infos["final_obs"], infos["_final_obs"] = last, mask.copy()
        infos["final_info"], infos["_final_info"] = self._columns("final", names), mask.copy()

    def _columns_of(self, kind: str) -> dict[str, tuple[str, list[Array], Array]]:
        """Of each number that there may be: the name of its info, the arrays of that, and the mask."""
        arrays, prefix = self._arrays, f"{kind}."
        every = [name[len(prefix) :] for name in arrays.names if name.startswith(prefix)]
        # those with a mask are no masks
        names = [name for name in every if f"{prefix}_{name}" in arrays]
        vectors = vectors_of(names)
        found = {}
        for name in names:
            base, parts = vectors.get(name, (name, (name,)))
            found[name] = (base, [arrays[prefix + part] for part in parts], arrays[f"{prefix}_{name}"])
        return found

    def _columns(self, kind: str, names: Sequence[str]) -> dict[str, Any]:
        known, rows = self._kept_rows.get(kind, (None, []))
        # the answer to a step is mostly the one before
        if known is not names:
            rows = self._rows_of(kind, names)
            self._kept_rows[kind] = (names, rows)
        copy = self._copy
        found: dict[str, Any] = {}
        for name, each in rows:
            if isinstance(each, list):
                found[name] = np.stack(each, axis=1)
            else:
                found[name] = each.copy() if copy else each
        return found

    def _rows_of(self, kind: str, names: Sequence[str]) -> list[tuple[str, Array | list[Array]]]:
        """Infos and masks by name: an array, or those of a vector's parts."""
        found: dict[str, Array | list[Array]] = {}
        for name in names:
            base, columns, mask = self._info_arrays[kind][name]
            found[base] = columns if len(columns) > 1 else columns[0]
            found[f"_{base}"] = mask
        return list(found.items())

    def set_params(self, worlds: Sequence[int] | None = None, **values: Any) -> None:
        """Sets parameters of the task, of all worlds or of chosen ones: one value for all, or one a world."""
        self._assert_idle("set_params")
        chosen = {} if worlds is None else {"worlds": indices(worlds)}
        flat = {name: numbers("bad-value", name, value).ravel() for name, value in values.items()}
        self._client.call("setParams", self._of, values=flat, **chosen)

    def get_param(self, name: str) -> Array:
        """A parameter of the task, ``[num_envs, size]``."""
        self._assert_idle("get_param")
        values = self._client.call("getParam", self._of, name=name)["values"]
        return np.asarray(values, dtype=np.float64).reshape(self.num_envs, -1)

    def set_options(self, **values: Any) -> None:
        """Changes timestep, gravity, tolerance or ls_tolerance."""
        self._assert_idle("set_options")
        self._client.call("setOptions", self._of, values=values)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What a method or an attribute gives, once for each world."""
        found = getattr(self, name)
        result = found(*args, **kwargs) if callable(found) else found
        return (result,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute for each world: one of this object, or a parameter of the task."""
        if hasattr(self, name):
            return (getattr(self, name),) * self.num_envs
        return tuple(self.get_param(name))

    def set_attr(self, name: str, values: Any) -> None:
        """Sets a parameter of the task: one value, or one a world."""
        self.set_params(**{name: values})

    def render(self, worlds: Sequence[int] | None = None) -> tuple[Array, ...]:
        """A picture of each world as it is now, or of chosen ones: each ``[height, width, 3]``, bytes of red, green and blue."""
        self._assert_idle("render")
        if self.render_mode is None:
            raise CorralError("no-render-mode", "this object was made without pictures. Pass render_mode='rgb_array' as it is made.")
        pictures = []
        for world in range(self.num_envs) if worlds is None else indices(worlds):
            self._client.call("render", self._of, world=world)
            # bytes of the file are truth values elsewhere
            pictures.append(self._arrays["picture"].view(np.uint8).copy())
        return tuple(pictures)

    def health(self) -> dict[str, Any]:
        """What went wrong in worlds so far: counts by status and by term, first and last occurrence, bundles."""
        self._assert_idle("health")
        return self._client.call("health", self._of)

    def record(self, worlds: Sequence[int], reason: str) -> str | None:
        """Writes a crash bundle of some worlds as they are now; its path."""
        self._assert_idle("record")
        path: str | None = self._client.call("record", self._of, worlds=indices(worlds), reason=reason).get("path")
        return path

    def restore(self, snapshot: Snapshot) -> Results:
        """Puts a snapshot back and returns the results that it was taken with."""
        self._assert_idle("restore")
        return self._results(self._client.call("restore", self._of, snapshot=self._id_of(snapshot)))

    def fork(
        self, world_ids: Sequence[int], times: int = 1, *, recorder: bool | dict[str, Any] | None = None
    ) -> CorralVectorEnv:
        """Another environment with copies of some worlds, by their ids: many continuations of one state.

        The first copy of a world goes on bit for bit; the others draw their next episodes as worlds of their own. It is in
        the same Node process, which ends when both are closed. ``extract`` of one world is ``fork([world_id])``.
        """
        self._assert_idle("fork")
        given = {} if recorder is None else {"recorder": recorder}
        times = integer("bad-option", "times", times)
        made = self._client.call("fork", self._of, worlds=indices(world_ids), times=times, **given)
        forked = CorralVectorEnv.__new__(CorralVectorEnv)
        forked._begin(self._client, made, self._copy, self._episode_statistics)
        return forked

    def extract(self, world_id: int, *, recorder: bool | dict[str, Any] | None = None) -> CorralVectorEnv:
        """One world, by its id, in an environment of its own; its future has the same bits."""
        return self.fork([world_id], recorder=recorder)

    def seek(self, step: int) -> Results:
        """Goes back to a recorded control step, and returns its results."""
        self._assert_idle("seek")
        return self._results(self._client.call("seek", self._of, step=integer("not-recorded", "step", step)))

    def __enter__(self) -> CorralVectorEnv:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close_extras(self, **kwargs: Any) -> None:
        """Gives all memory back and ends the Node process."""
        # views of the shared memory, which would keep it
        self._info_arrays, self._kept_rows = {}, {}
        self._release()

    def __repr__(self) -> str:
        return f"CorralVectorEnv({self.id}, num_envs={self.num_envs}, device={self.facts['device']!r})"

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None and not self.closed:
            self._info_arrays, self._kept_rows = {}, {}
            self._release(collected=True)


def make_vec(env: str | os.PathLike[str], num_envs: int = 1, **options: Any) -> CorralVectorEnv:
    """Worlds of an environment; see ``CorralVectorEnv``."""
    envs = CorralVectorEnv(env, num_envs, **options)
    registered = gym.registry.get(f"{NAMESPACE}/{env}")
    if registered is not None:
        kwargs = {**registered.kwargs, **options, "num_envs": envs.num_envs}
        envs.spec = dataclasses.replace(registered, kwargs=kwargs)
    return envs
