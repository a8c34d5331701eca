"""Stable-Baselines3 over corral."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")


def test_episodes_end_as_stable_baselines_expects():
    from corral.sb3 import CorralVecEnv

    envs = CorralVecEnv("InvertedPendulum-v5", 2, seed=1, device="wasm", max_episode_steps=3)
    try:
        first = envs.reset()
        for _ in range(3):
            observations, rewards, dones, infos = envs.step(np.zeros((2, 1), np.float32))
        assert dones.all() and rewards.tolist() == [1, 1]
        assert infos[0]["TimeLimit.truncated"] and infos[0]["episode"]["l"] == 3
        assert not (infos[0]["terminal_observation"] == observations[0]).all()
        assert first.shape == observations.shape
        model = sb3.PPO("MlpPolicy", envs, n_steps=8, batch_size=16, n_epochs=1, device="cpu")
        model.learn(64)
        assert model.num_timesteps >= 64
    finally:
        envs.close()


TASK = """
export default {
  id: "TASK",
  model: `<mujoco>
    <worldbody><body><joint name="hinge" type="hinge" axis="0 1 0"/><geom size="0.1" pos="0 0 0.5"/></body></worldbody>
    <actuator><motor joint="hinge" ctrlrange="-1 1" ctrllimited="true"/></actuator>
  </mujoco>`,
  frameSkip: 1,
  maxEpisodeSteps: 3,
  params: { goal: 0.5, point: [1, 2] },
  observe: { angle: "qpos(joint.hinge)", goal: "param.goal", point: "param.point" },
  reward: { upright: "cos(qpos(joint.hinge))" },
  info: { speed: "qvel(joint.hinge)" },
};
"""


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.mjs"
    # a process takes an id once
    path.write_text(TASK.replace("TASK", tmp_path.name))
    return path


def test_infos_are_of_every_step(task: Path):
    """As ``DummyVecEnv`` has them: of the step that ended an episode in place of those of the new one's start."""
    from corral.sb3 import CorralVecEnv

    envs = CorralVecEnv(task, 2, seed=1, device="wasm")
    try:
        envs.reset()
        for t in range(1, 5):
            infos = envs.step(np.ones((2, 1), np.float32))[3]
            ended = {"terminal_observation", "TimeLimit.truncated", "episode"} if t == 3 else set()
            assert [set(info) for info in infos] == [{"upright", "speed"} | ended] * 2
            # from rest, three steps of an episode and one of the next
            assert (infos[0]["speed"] > previous) if t in (2, 3) else infos[0]["speed"] > 0
            previous = infos[0]["speed"]
    finally:
        envs.close()


def test_the_status_of_a_step_that_ends_an_episode_is_told(tmp_path: Path):
    from corral.sb3 import CorralVecEnv

    path = tmp_path / "throws.mjs"
    path.write_text(TASK.replace("TASK", tmp_path.name).replace('ctrlrange="-1 1"', 'gear="1e38" ctrlrange="-1 1"'))
    envs = CorralVecEnv(path, 2, seed=1, device="wasm")
    try:
        envs.reset()
        _, _, dones, infos = envs.step(np.array([[1], [0]], np.float32))
        assert dones.tolist() == [True, False]
        assert infos[0]["status"] != 0 and "terminal_observation" in infos[0]
        assert "status" not in infos[1]
    finally:
        envs.close()


def test_options_of_reset_are_parameters_of_each_world(task: Path):
    from corral import CorralError
    from corral.sb3 import CorralVecEnv

    envs = CorralVecEnv(task, 2, seed=1, device="wasm")
    try:
        envs.set_options({"params": {"goal": 3}})
        assert envs.reset()[:, 1].tolist() == [3, 3]
        envs.set_options([{"params": {"goal": goal, "point": [goal, 9]}} for goal in (4, 5)])
        assert envs.reset()[:, 1:].tolist() == [[4, 4, 9], [5, 5, 9]]
        envs.set_options([{"params": {"goal": 4, "point": [4, 9]}}, {"params": {"point": [5, 9], "goal": 5}}])
        assert envs.reset()[:, 1:].tolist() == [[4, 4, 9], [5, 5, 9]]
        # Stable-Baselines3 forgets them with each reset; parameters stay
        assert envs.reset()[:, 1].tolist() == [4, 5]
        goal, point = {"params": {"goal": 1}}, {"params": {"point": [1, 2]}}
        for wrong in ({"goal": 1}, {"params": 1}, [goal, {}], [goal, point]):
            envs.set_options(wrong)
            with pytest.raises(CorralError, match="bad-option.* options of world [01] are .* Pass params alone"):
                envs.reset()
    finally:
        envs.close()


def test_what_is_not_there_is_asked_for(task: Path):
    """``has_attr`` is how sb3-contrib asks for masks of actions."""
    from corral.sb3 import CorralVecEnv

    envs = CorralVecEnv(task, 2, seed=1, device="wasm")
    try:
        assert envs.has_attr("num_envs") and envs.has_attr("goal") and not envs.has_attr("action_masks")
        with pytest.raises(AttributeError, match="unknown-param"):
            envs.get_attr("action_masks")
    finally:
        envs.close()


def test_autoreset_is_that_of_stable_baselines():
    from corral import CorralError
    from corral.sb3 import CorralVecEnv

    with pytest.raises(CorralError, match=r"autoreset is 'disabled'; Stable-Baselines3 .* Leave it out"):
        CorralVecEnv("InvertedPendulum-v5", 2, autoreset="disabled")


def test_videos_have_pictures_of_all_worlds():
    """``VecVideoRecorder`` asks for ``render``, which makes one picture of those of all worlds."""
    from corral.sb3 import CorralVecEnv

    envs = CorralVecEnv("CartPole", 2, seed=1, device="wasm", render_mode="rgb_array", width=64, height=48)
    try:
        envs.reset()
        picture = envs.render()
        # one below the other
        assert picture is not None and picture.shape == (96, 64, 3) and picture.any()
    finally:
        envs.close()
