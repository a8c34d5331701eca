"""corral on many machines, which are Ray's business: RLlib's environment runners, collectors, sweeps of ``corral train``.

Every node simulates on its own GPU or cores, one Node process an actor; budgets are planned on each node before work is
placed there.
"""

from __future__ import annotations

import collections
import dataclasses
import os
from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError, RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .errors import CorralError
from .plan import Plan, plan
from .vector_env import CorralVectorEnv, Observations

Array = npt.NDArray[Any]
# observations to actions, and what else is kept of each step: log-probabilities, values
Policy = Callable[[Observations], tuple[Array, dict[str, Array]]]
# what RLlib knows runners' environments by; which one it is, and its options, are in their configuration
RLLIB_NAME = "corral"


def environment(config: Any, env: str | os.PathLike[str], num_envs: int, **options: Any) -> Any:
    """RLlib's ``AlgorithmConfig`` with environment runners of which each holds ``num_envs`` worlds of one corral.

    >>> config = corral.ray.environment(PPOConfig(), "HalfCheetah-v5", 64, device="wasm").env_runners(num_env_runners=2)
    """
    from ray.tune import register_env

    register_env(RLLIB_NAME, _of_runner)
    given = {"env": os.fspath(env), **options}
    return config.environment(RLLIB_NAME, env_config=given).env_runners(
        num_envs_per_env_runner=num_envs, gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT
    )


def _of_runner(context: dict[str, Any]) -> CorralVectorEnv:
    options = dict(context)
    return CorralVectorEnv(options.pop("env"), options.pop("num_envs", 1), **options)


def _on(node_id: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node_id=node_id, soft=False)


def _nodes() -> dict[str, str]:
    """Nodes with cores that are alive: names by id."""
    found: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    alive = [node for node in found if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
    return {node["NodeID"]: f"{node['NodeName']} ({node['NodeID'][:8]})" for node in alive}


def _plan(env: str, num_envs: int, options: dict[str, Any]) -> Plan | CorralError:
    # an error that is raised would come back as another kind
    try:
        return plan(env, num_envs, **options)
    except CorralError as error:
        return error


_plan_here: Any = ray.remote(num_cpus=0, max_retries=0)(_plan)


def plan_nodes(
    env: str | os.PathLike[str], num_envs: int, *, nodes: Iterable[str] | None = None, **options: Any
) -> dict[str, Plan]:
    """The plan of ``num_envs`` worlds on each node, by the node's id, made there before anything is placed.

    Args:
        env: id of an environment, or the path of a task file that is there on every node.
        num_envs: worlds on a node.
        nodes: ids; by default of all nodes with cores.
        options: as of ``corral.plan``; ``budget="0.5"`` is half of what a node has.

    Raises:
        CorralError: ``budget-exceeded`` naming the node where they do not fit, with the most worlds that do; what
            ``corral.plan`` refuses.
    """
    names = _nodes()
    chosen = list(names if nodes is None else nodes)
    made = ray.get([_plan_here.options(scheduling_strategy=_on(n)).remote(os.fspath(env), num_envs, options) for n in chosen])
    plans: dict[str, Plan] = {}
    for node, found in zip(chosen, made):
        if isinstance(found, CorralError):
            raise CorralError(found.code, f"node {names[node]}: {found}", {**found.details, "node": node})
        if not found.fits:
            problem = found.facts["problems"][0]
            said = problem.get("message", problem) if isinstance(problem, dict) else problem
            text = f"node {names[node]} has no room for {num_envs} worlds of {env}: {said}. At most {found.largest_num_envs} fit."
            raise CorralError("budget-exceeded", text, {"node": node, "largestNumEnvs": found.largest_num_envs})
        plans[node] = found
    return plans


@dataclasses.dataclass
class Fragment:
    """Steps of one collector: arrays ``[steps, num_envs, ...]``, observations with one more, the last.

    ``steps_taken`` is False in steps that only started an episode: their rewards are none.
    """

    node: str
    observations: Array | dict[str, Array]
    actions: Array
    rewards: Array
    terminated: Array
    truncated: Array
    steps_taken: Array
    extras: dict[str, Array]
    returns: list[float]

    @property
    def env_steps(self) -> int:
        """Steps that worlds took."""
        return int(self.steps_taken.sum())


class _Collector:
    def __init__(self, node: str, env: str, num_envs: int, seed: int, options: dict[str, Any]) -> None:
        self._node = node
        self._envs = CorralVectorEnv(env, num_envs, **options)
        self._observations, _ = self._envs.reset(seed=seed)
        self._over = np.zeros(num_envs, np.bool_)

    def pids(self) -> tuple[int, int]:
        return os.getpid(), self._envs.pid

    def spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        return self._envs.single_observation_space, self._envs.single_action_space

    def collect(self, policy: Policy, steps: int) -> Fragment:
        rows: dict[str, list[Any]] = collections.defaultdict(list)
        returns: list[float] = []
        for _ in range(steps):
            actions, extras = policy(self._observations)
            rows["observations"].append(self._observations)
            found = self._envs.step(actions)
            self._observations, rewards, terminated, truncated, infos = found
            step = {"actions": actions, "rewards": rewards, "terminated": terminated, "truncated": truncated}
            for name, values in {**step, "taken": ~self._over}.items():
                rows[name].append(values)
            for name, values in extras.items():
                rows[f"extras.{name}"].append(values)
            self._over = terminated | truncated
            if "episode" in infos:
                returns.extend(infos["episode"]["r"][infos["_episode"]].tolist())
        rows["observations"].append(self._observations)
        first = rows["observations"][0]
        observations: Any = (
            {name: np.stack([row[name] for row in rows["observations"]]) for name in first}
            if isinstance(first, dict)
            else np.stack(rows["observations"])
        )
        stacked = {name: np.stack(values) for name, values in rows.items() if name != "observations"}
        extras = {name[len("extras.") :]: values for name, values in stacked.items() if name.startswith("extras.")}
        return Fragment(
            self._node,
            observations,
            stacked["actions"],
            stacked["rewards"],
            stacked["terminated"],
            stacked["truncated"],
            stacked["taken"],
            extras,
            returns,
        )

    def close(self) -> None:
        self._envs.close()


def trainable(**settings: Any) -> Callable[[dict[str, Any]], None]:
    """What Ray Tune runs: ``corral train --config`` of flat settings, those of the trial on top.

    Every line of the run's log is reported; its folder is the checkpoint, from which a trial goes on by ``--resume`` where
    its node was lost.

    >>> tune.Tuner(corral.ray.trainable(env="CartPole", steps=200_000), param_space={"learningRate": tune.loguniform(1e-4, 1e-2)})

    Args:
        settings: names of a run's ``config.json``: ``env``, ``numEnvs``, ``steps``, ``learningRate``.
    """

    def train(config: dict[str, Any]) -> None:
        from ._sweep import run_trial

        run_trial({**settings, **config})

    return train


_Actor: Any = ray.remote(max_restarts=0, max_task_retries=0)(_Collector)


class Collectors:
    """Actors that step worlds, so many on each node; those that are lost are made again, with what is lost their fragment.

    Args:
        env: id of an environment, or the path of a task file that is there on every node.
        num_envs: worlds of each actor.
        per_node: actors on a node.
        num_cpus: cores that Ray sets aside for each.
        seed: of all worlds; those of each actor have numbers of their own.
        start_within: seconds that an actor may take to start.
        options: as of ``CorralVectorEnv``, but for ``autoreset`` and ``world_ids``.

    Raises:
        CorralError: ``budget-exceeded`` and others, naming the node, before any actor is placed.
    """

    def __init__(
        self,
        env: str | os.PathLike[str],
        num_envs: int,
        *,
        per_node: int = 1,
        num_cpus: float = 1,
        seed: int = 0,
        start_within: float = 300.0,
        **options: Any,
    ) -> None:
        self._env, self._num_envs, self._options = os.fspath(env), num_envs, options
        self._per_node, self._num_cpus, self._seed, self._start_within = per_node, num_cpus, seed, start_within
        self._made = 0
        self._actors: dict[Any, str] = {}
        # actors that were lost, with their fragments
        self.lost = 0
        self.plans: dict[str, Plan] = {}
        self.single_observation_space: gym.Space[Any]
        self.single_action_space: gym.Space[Any]
        self._fill()
        if not self._actors:
            raise CorralError("no-node", "no node of the cluster has a core. Start one: ray start --address=...")

    @property
    def nodes(self) -> list[str]:
        """The node of each actor."""
        return list(self._actors.values())

    def pids(self) -> list[tuple[int, int]]:
        """Of each actor, and of its Node process."""
        found: list[tuple[int, int]] = ray.get([actor.pids.remote() for actor in self._actors])
        return found

    def _fill(self) -> None:
        """Places actors on nodes that have fewer than they should: at first on all, later on what came back."""
        held = collections.Counter(self._actors.values())
        names = _nodes()
        missing = [node for node in names for _ in range(self._per_node - held[node])]
        new = [node for node in dict.fromkeys(missing) if node not in self.plans]
        if new:
            self.plans.update(plan_nodes(self._env, self._num_envs, nodes=new, **self._planned))
        starting = {}
        for node in missing:
            first = self._made * self._num_envs
            self._made += 1
            options = {**self._options, "world_ids": list(range(first, first + self._num_envs))}
            placed = _Actor.options(scheduling_strategy=_on(node), num_cpus=self._num_cpus)
            actor = placed.remote(names[node], self._env, self._num_envs, self._seed, options)
            starting[actor] = node
        for actor, node in starting.items():
            try:
                found = ray.get(actor.spaces.remote(), timeout=self._start_within)
                self.single_observation_space, self.single_action_space = found
                self._actors[actor] = node
            except (RayTaskError, ActorDiedError) as error:
                cause = error.cause if isinstance(error, RayTaskError) else error.__cause__
                self._drop(actor)
                if isinstance(cause, CorralError):
                    raise CorralError(cause.code, f"node {names[node]}: {cause}", {**cause.details, "node": node}) from error
                if node in _nodes():
                    raise
            except (RayActorError, GetTimeoutError):
                # its node went while it started, or has no core to spare: the next call tries again
                self._drop(actor)

    @property
    def _planned(self) -> dict[str, Any]:
        return {name: value for name, value in self._options.items() if name != "copy"}

    @staticmethod
    def _drop(actor: Any) -> None:
        ray.kill(actor, no_restart=True)

    def collect(self, policy: Policy | ray.ObjectRef[Policy], steps: int) -> list[Fragment]:
        """So many control steps of every actor. A fragment whose actor or node was lost in between is missing.

        Args:
            policy: observations to actions and what else is to be kept; put into the object store once for all nodes.
            steps: of each actor.
        """
        self._fill()
        shared = policy if isinstance(policy, ray.ObjectRef) else ray.put(policy)
        calls = {actor.collect.remote(shared, steps): actor for actor in self._actors}
        fragments = []
        for call, actor in calls.items():
            try:
                fragments.append(ray.get(call))
            except (RayActorError, ActorUnavailableError):
                self._lose(actor)
            except RayTaskError as error:
                # a Node process that died takes its actor along; what a policy throws is the caller's
                if not (isinstance(error.cause, CorralError) and error.cause.code == "process-ended"):
                    raise
                self._lose(actor)
        return fragments

    def _lose(self, actor: Any) -> None:
        self.lost += 1
        del self._actors[actor]
        self._drop(actor)

    def close(self) -> None:
        """Ends all actors and their Node processes."""
        actors, self._actors = list(self._actors), {}
        ended = [actor.close.remote() for actor in actors]
        ray.wait(ended, num_returns=len(ended), timeout=30.0)
        for actor in actors:
            self._drop(actor)

    def __enter__(self) -> Collectors:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
