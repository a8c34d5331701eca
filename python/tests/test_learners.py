"""Learners that people use, on worlds of corral."""

from __future__ import annotations

import numpy as np
import pytest

# float32 of two libraries over a few layers of numbers about 1
ACTIONS = 1e-5


def test_cleanrl_reads_its_infos():
    import corral.cleanrl

    envs = corral.cleanrl.make("InvertedPendulum-v5", 4, gamma=0.99, device="wasm", max_episode_steps=5)
    plain = corral.cleanrl.make("InvertedPendulum-v5", 4, device="wasm", max_episode_steps=5)
    try:
        observations, _ = envs.reset(seed=1)
        raw, _ = plain.reset(seed=1)
        assert observations.shape == raw.shape == (4, 4) and observations.dtype == np.float32
        # columns are shifted and scaled, each by its own
        for ours, theirs in zip(observations.T, raw.T):
            assert np.corrcoef(ours, theirs)[0, 1] > 0.9999
        for step in range(5):
            # beyond their bounds, which the wrapper clips
            observations, rewards, terminated, truncated, infos = envs.step(np.full((4, 1), 100, np.float32))
            raw, raw_rewards, *_ = plain.step(np.full((4, 1), 3, np.float32))
            assert np.abs(observations).max() <= 10 and np.abs(rewards).max() <= 10
            if (terminated | truncated).any():
                break
        ended = terminated | truncated
        assert [info is not None for info in infos["final_info"]] == ended.tolist()
        first = infos["final_info"][int(np.flatnonzero(ended)[0])]["episode"]
        assert first["l"] == step + 1 and first["r"].shape == (1,)
    finally:
        envs.close()
        plain.close()


def test_torchrl_has_no_reward_twice():
    """Infos stand beside observation and reward there, so that one of these names takes their place."""
    pytest.importorskip("torchrl", reason="TorchRL is not installed")
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    import corral

    for env in ("CartPole", "Reacher-v5"):
        with corral.make_vec(env, 2, device="wasm", autoreset="same-step") as envs:
            worlds = GymWrapper(envs)
            check_env_specs(worlds)
            assert worlds.rollout(3, break_when_any_done=False)["next", "reward"].shape == (2, 3, 1)


def test_rsl_rl_learns_and_its_policy_travels():
    pytest.importorskip("rsl_rl", reason="rsl_rl is not installed")
    import torch
    from rsl_rl.runners import OnPolicyRunner

    from corral import policies
    from corral.rsl_rl import CorralRslRlEnv

    network = {"class_name": "MLPModel", "hidden_dims": [16, 16], "activation": "elu", "obs_normalization": True}
    config = {
        "num_steps_per_env": 8,
        "save_interval": 10**9,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**network, "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}},
        "critic": network,
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 1, "num_mini_batches": 2, "learning_rate": 1e-3},
    }
    envs = CorralRslRlEnv("InvertedPendulum-v5", 8, seed=0, sim_device="wasm", max_episode_steps=6)
    try:
        make = lambda: OnPolicyRunner(envs, {**config, "algorithm": dict(config["algorithm"])}, log_dir=None, device="cpu")  # noqa: E731
        runner = make()
        runner.learn(2, init_at_random_ep_len=True)
        observations = envs.get_observations()
        act = runner.get_inference_policy()
        with torch.no_grad():
            theirs = act(observations).clamp(-3, 3).numpy()
        space = envs.envs.single_action_space
        policy = policies.from_rsl_rl(runner, "InvertedPendulum-v5", space)
        spread = runner.alg.get_policy().distribution.std_param.detach().numpy()
        np.testing.assert_allclose(np.exp(policy.log_std), spread, rtol=1e-6)
        np.testing.assert_allclose(policy.act(observations["policy"].numpy()), theirs, atol=ACTIONS)
        other = make()
        policies.into_rsl_rl(policy, other)
        with torch.no_grad():
            again = other.get_inference_policy()(observations).clamp(-3, 3).numpy()
        np.testing.assert_allclose(again, theirs, atol=ACTIONS)
        # episodes are cut where rsl_rl says they are
        envs.episode_length_buf = torch.full((8,), 5)
        _, _, dones, extras = envs.step(torch.zeros(8, 1))
        assert dones.all() and (extras["time_outs"] | (dones > 0)).all() and "/episode/return" in extras["log"]
        assert (envs.episode_length_buf == 0).all()
    finally:
        envs.close()


def test_torchrl_sees_last_observations(make):
    pytest.importorskip("torchrl", reason="TorchRL is not installed")
    from torchrl.envs import GymWrapper

    worlds = GymWrapper(make(num_envs=3, autoreset="same-step", max_episode_steps=4))
    rollout = worlds.rollout(9, break_when_any_done=False)
    assert rollout.batch_size == (3, 9)
    done = rollout["next", "done"].squeeze(-1)
    assert done.any()
    # the next observation of a step that ends is the last one, not that of the next start
    where = done[:, :-1].nonzero()
    for world, step in where.tolist():
        assert (rollout["next", "observation"][world, step] != rollout["observation"][world, step + 1]).any()
