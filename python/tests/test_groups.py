"""Observations in groups: what policies see, and what only critics do; worlds that are copied."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import corral

TASK = """
export default {
  id: "grouped-pole",
  model: `<mujoco>
    <worldbody><body><joint name="hinge" type="hinge" axis="0 1 0"/><geom size="0.1" pos="0 0 0.5"/></body></worldbody>
    <actuator><motor joint="hinge" ctrlrange="-1 1" ctrllimited="true"/></actuator>
  </mujoco>`,
  frameSkip: 1,
  maxEpisodeSteps: 3,
  observe: {
    critic: { angle: "qpos(joint.hinge)", speed: "qvel(joint.hinge)" },
    policy: { angle: "qpos(joint.hinge)" },
  },
  reward: { upright: "cos(qpos(joint.hinge))" },
};
"""


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.mjs"
    # a process takes an id once
    path.write_text(TASK.replace("grouped-pole", tmp_path.name))
    return path


@pytest.mark.parametrize("copy", [True, False])
def test_groups_are_a_dictionary(make, task: Path, copy: bool):
    envs = make(task, 4, autoreset="same-step", copy=copy)
    assert isinstance(envs.single_observation_space, gym.spaces.Dict)
    assert {name: space.shape for name, space in envs.single_observation_space.items()} == {"policy": (1,), "critic": (2,)}
    observations, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(observations)
    envs.set_state(qpos=np.array([[0.1], [0.2], [0.3], [0.4]]))
    for _ in range(3):
        observations, _, _, truncated, infos = envs.step(np.ones((4, 1), np.float32))
    assert truncated.all()
    last = infos["final_obs"][2]
    assert last["policy"].shape == (1,) and last["critic"][0] == last["policy"][0] > 0.29
    assert (observations["policy"][:, 0] == observations["critic"][:, 0]).all()


def test_what_a_task_prints_is_no_answer(make, task: Path):
    task.write_text("process.stdout.write('so it begins\\n'); console.table([1]); console.log(2);" + task.read_text())
    envs = make(task, 2)
    envs.reset(seed=1)
    assert envs.step(np.ones((2, 1), np.float32))[1].shape == (2,)


@pytest.mark.own_process
def test_forks_go_on_bit_for_bit_in_the_same_process(make):
    envs = make(num_envs=4)
    envs.reset(seed=3)
    actions = np.full((4, 1), 0.2, np.float32)
    envs.step(actions)
    forked = envs.fork([2, 0], 2)
    assert isinstance(forked, corral.CorralVectorEnv) and forked.pid == envs.pid
    assert forked.num_envs == 4 and forked.world_ids.count(2) == 1
    worlds = [forked.world_ids.index(2), forked.world_ids.index(0)]
    for _ in range(5):
        ours, theirs = envs.step(actions)[0], forked.step(actions)[0]
        assert (theirs[worlds] == ours[[2, 0]]).all()
    alone = envs.extract(1)
    # the first of two that are closed leaves the process to the other
    envs.close()
    assert alone.step(actions[:1])[0].shape == (1, 4)
    forked.close()
    alone.close()
    with pytest.raises(corral.CorralError) as caught:
        alone.fork([1])
    assert caught.value.code == "closed"
