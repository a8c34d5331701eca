"""The environments beside Gymnasium's own, step for step from the same states."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

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
WORLDS, STEPS = 3, 4
# float32 beside float64 over one control step of up to five physics steps, of numbers up to some thousands
RELATIVE, ABSOLUTE = 2e-4, 2e-4


@pytest.mark.parametrize("name", IDS)
def test_steps_are_gymnasiums(make, name):
    reference = gym.make_vec(name, num_envs=WORLDS, vectorization_mode="sync")
    envs = make(name, WORLDS)
    reference.reset(seed=1)
    envs.reset(seed=1)
    reference.action_space.seed(0)
    # the first step sets what tasks keep of the step before, too
    for step in range(STEPS):
        data = [env.unwrapped.data for env in reference.envs]
        state = {field: np.array([getattr(d, field) for d in data]) for field in ("qpos", "qvel", "qacc_warmstart")}
        envs.set_state(**state)
        actions = reference.action_space.sample()
        ours, theirs = envs.step(actions), reference.step(actions)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=RELATIVE, atol=ABSOLUTE)
        if step > 0:
            np.testing.assert_allclose(ours[1], theirs[1], rtol=RELATIVE, atol=ABSOLUTE * 10)
        assert (ours[2] == theirs[2]).all() and (ours[3] == theirs[3]).all()
        assert set(theirs[4]) <= set(ours[4])
        for info in theirs[4]:
            assert np.shape(ours[4][info]) == np.shape(theirs[4][info])
        if theirs[2].any():
            break
    reference.close()
