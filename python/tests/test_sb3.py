"""Stable-Baselines3 over corral."""

from __future__ import annotations

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


def test_autoreset_is_that_of_stable_baselines():
    from corral import CorralError
    from corral.sb3 import CorralVecEnv

    with pytest.raises(CorralError, match=r"autoreset is 'disabled'; Stable-Baselines3 .* Leave it out"):
        CorralVecEnv("InvertedPendulum-v5", 2, autoreset="disabled")
