"""The environments beside Gymnasium's own, step for step from the same states."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

pytest.importorskip("mujoco", reason="Gymnasium's own environments need MuJoCo's Python package")

IDS = [
    "InvertedPendulum-v5",
    "InvertedDoublePendulum-v5",
    "Reacher-v5",
    "Pusher-v5",
    "Swimmer-v5",
    "Hopper-v5",
    "Walker2d-v5",
    "HalfCheetah-v5",
    "Ant-v5",
    "Humanoid-v5",
    "HumanoidStandup-v5",
]
# episodes of three steps: a start, an end and a start again in each mode
WORLDS, LIMIT, STEPS = 3, 3, 5
# float32 beside float64 over one control step of up to five physics steps; forces of contacts, which lie among other
# observations, balance others up to some thousands
RELATIVE, ABSOLUTE = 2e-4, 2e-4
FORCES = {"Ant-v5", "Humanoid-v5", "HumanoidStandup-v5"}
# a constant that is all of what Gymnasium adds to a reward has a name here
OURS = {"episode", "_episode", "reward_constant", "_reward_constant"}


def assert_same(ours: Any, theirs: Any, what: str, absolute: float = ABSOLUTE) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=RELATIVE, atol=absolute, err_msg=what)


def put_states(envs: Any, reference: Any) -> None:
    data = [env.unwrapped.data for env in reference.envs]
    envs.set_state(**{field: np.array([getattr(d, field) for d in data]) for field in ("qpos", "qvel", "qacc_warmstart")})


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", IDS)
def test_steps_are_gymnasiums(make, name: str, mode: AutoresetMode):
    reference = gym.make_vec(
        name, num_envs=WORLDS, vectorization_mode="sync", max_episode_steps=LIMIT, vector_kwargs={"autoreset_mode": mode}
    )
    envs = make(name, WORLDS, autoreset=mode, max_episode_steps=LIMIT)
    assert envs.single_action_space == reference.single_action_space
    assert envs.single_observation_space.shape == reference.single_observation_space.shape
    reference.reset(seed=1)
    envs.reset(seed=1)
    reference.action_space.seed(0)
    bound = ABSOLUTE * (10 if name in FORCES else 1)
    # rewards of the first step of an episode are of what tasks keep of the step before, which states do not have
    first = np.ones(WORLDS, bool)
    over = np.zeros(WORLDS, bool)
    for step in range(STEPS):
        if mode is AutoresetMode.DISABLED and over.any():
            # worlds that are not in the mask stay where they were
            before = envs.get_state("qpos", "episode_length")
            ours, theirs = (each.reset(options={"reset_mask": over.copy()}) for each in (envs, reference))
            after = envs.get_state("qpos", "episode_length")
            assert (after["qpos"][~over] == before["qpos"][~over]).all()
            assert (after["episode_length"][:, 0] == np.where(over, 0, before["episode_length"][:, 0])).all()
            assert set(ours[1]) == set(theirs[1])
            for info in theirs[1]:
                if info.startswith("_"):
                    assert (ours[1][info] == theirs[1][info]).all()
            first = over
        put_states(envs, reference)
        actions = reference.action_space.sample()
        ours, theirs = envs.step(actions), reference.step(actions)
        assert (ours[2] == theirs[2]).all() and (ours[3] == theirs[3]).all()
        started = over if mode is AutoresetMode.NEXT_STEP else np.zeros(WORLDS, bool)
        over = theirs[2] | theirs[3]
        shown = ~over if mode is AutoresetMode.SAME_STEP else ~started
        assert_same(ours[0][shown], theirs[0][shown], "observations", bound)
        assert_same(ours[1][~first], theirs[1][~first], "rewards", ABSOLUTE * 10)
        assert (ours[1][started] == 0).all()
        assert set(ours[4]) - OURS == set(theirs[4])
        for info in theirs[4]:
            if info.startswith("_"):
                assert (ours[4][info] == theirs[4][info]).all(), info
            elif info not in ("final_obs", "final_info"):
                assert np.shape(ours[4][info]) == np.shape(theirs[4][info])
                alike = theirs[4][f"_{info}"] & shown & ~first
                assert_same(ours[4][info][alike], theirs[4][info][alike], info, ABSOLUTE * 10)
        if "final_obs" in theirs[4]:
            last, reference_last = (np.stack(list(each[4]["final_obs"][over])) for each in (ours, theirs))
            assert_same(last, reference_last, "final_obs", bound)
            assert set(ours[4]["final_info"]) - OURS == set(theirs[4]["final_info"])
        first = (over if mode is AutoresetMode.SAME_STEP else started) | (first & started)
        if step == 0:
            # ends of worlds at different steps, for masks
            lengths = np.array([[1.0], [0.0], [1.0]])
            envs.set_state(episode_length=lengths)
            for env, length in zip(reference.envs, lengths[:, 0]):
                limit_of(env)._elapsed_steps = int(length)
    reference.close()


def limit_of(env: Any) -> Any:
    """The wrapper that counts steps."""
    while not isinstance(env, gym.wrappers.TimeLimit):
        env = env.env
    return env
