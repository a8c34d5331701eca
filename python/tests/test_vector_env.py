"""Gymnasium's contract of a vector environment."""

from __future__ import annotations

import gc
import pickle
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import corral
from corral import CorralError


def refused(call, *args, **kwargs) -> CorralError:
    with pytest.raises(CorralError) as caught:
        call(*args, **kwargs)
    return caught.value


def test_spaces_and_shapes(make):
    envs = make(num_envs=4)
    assert envs.num_envs == 4
    assert envs.single_action_space == gym.spaces.Box(-3, 3, (1,), np.float32)
    assert envs.single_observation_space.shape == (4,)
    assert envs.action_space.shape == (4, 1)
    assert envs.observation_space.shape == (4, 4)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    observations, infos = envs.reset(seed=1)
    assert observations.shape == (4, 4) and observations.dtype == np.float32
    assert envs.observation_space.contains(observations)
    observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
    assert rewards.shape == terminated.shape == truncated.shape == (4,)
    assert terminated.dtype == truncated.dtype == np.bool_
    assert infos["_reward_survive"].all()


def test_same_seed_same_bits_whatever_the_batch(make):
    few, many = make(num_envs=2), make(num_envs=5)
    a, b = few.reset(seed=7)[0], many.reset(seed=7)[0]
    assert (a == b[:2]).all()
    actions = np.full((5, 1), 0.5, np.float32)
    for _ in range(20):
        a, b = few.step(actions[:2])[0], many.step(actions)[0]
        assert (a == b[:2]).all()
    assert not (few.reset(seed=8)[0] == a).all()


def test_seeds_one_a_world(make):
    envs = make(num_envs=3)
    observations, _ = envs.reset(seed=[5, 6, 2**60])
    assert (observations[0] == envs.reset(seed=5)[0][0]).all()
    assert (observations[2] == envs.reset(seed=2**60)[0][2]).all()
    second = (envs.reset(seed=5), envs.reset())[1][0]
    envs.reset(seed=5)
    assert (envs.reset(seed=[7, None, 5])[0][1] == second[1]).all()
    assert refused(envs.reset, seed=[1, 2]).code == "bad-seed"


def test_masked_reset(make):
    envs = make(num_envs=3)
    first, _ = envs.reset(seed=1)
    after, *_ = envs.step(np.zeros((3, 1), np.float32))
    mask = np.array([False, True, False])
    again, infos = envs.reset(seed=1, options={"reset_mask": mask})
    assert (again[1] == first[1]).all()
    assert (again[[0, 2]] == after[[0, 2]]).all()
    assert refused(envs.reset, options={"reset_mask": [True]}).code == "bad-reset-mask"
    assert refused(envs.reset, options={"reset_mask": np.zeros(3, bool)}).code == "bad-reset-mask"
    assert refused(envs.reset, options={"mask": mask}).code == "unknown-option"


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_autoreset_is_gymnasiums(make, mode):
    pytest.importorskip("mujoco", reason="Gymnasium's own environments need MuJoCo's Python package")
    envs = make(num_envs=2, autoreset=mode, max_episode_steps=3)
    reference = gym.make_vec(
        "InvertedPendulum-v5",
        num_envs=2,
        vectorization_mode="sync",
        max_episode_steps=3,
        vector_kwargs={"autoreset_mode": mode},
    )
    envs.reset(seed=1)
    reference.reset(seed=1)
    actions = np.zeros((2, 1), np.float32)
    for step in range(8):
        if mode is AutoresetMode.DISABLED and step > 0 and step % 3 == 0:
            assert refused(envs.step, actions).code == "needs-reset"
            options = {"reset_mask": np.ones(2, bool)}
            envs.reset(options=dict(options))
            reference.reset(options=dict(options))
        ours, theirs = envs.step(actions), reference.step(actions)
        assert (ours[2] == theirs[2]).all() and (ours[3] == theirs[3]).all()
        shared = set(ours[4]) - {"episode", "_episode"}
        assert shared == set(theirs[4])
        for name in shared:
            if name.startswith("_"):
                assert (ours[4][name] == theirs[4][name]).all()
        if "final_obs" in theirs[4]:
            assert [row.shape for row in ours[4]["final_obs"]] == [row.shape for row in theirs[4]["final_obs"]]
            assert set(ours[4]["final_info"]) == set(theirs[4]["final_info"])
    reference.close()


def test_episodes_are_counted(make):
    envs = make(num_envs=2, max_episode_steps=3)
    envs.reset(seed=1)
    for _ in range(3):
        *_, infos = envs.step(np.zeros((2, 1), np.float32))
    assert infos["episode"]["l"].tolist() == [3, 3]
    assert infos["episode"]["r"].tolist() == [3.0, 3.0]
    assert infos["_episode"].all()


def test_gymnasiums_wrapper_counts_the_same_episodes(make):
    # under same-step it loses a step of each, on Gymnasium 1.2's own worlds too
    wrapped = gym.wrappers.vector.RecordEpisodeStatistics(make(num_envs=2, max_episode_steps=20, episode_statistics=False))
    plain = make(num_envs=2, max_episode_steps=20)
    for each in (wrapped, plain):
        each.reset(seed=3)
    ended = 0
    for _ in range(45):
        actions = np.array([[3.0], [0.0]], np.float32)
        ours, theirs = plain.step(actions)[4], wrapped.step(actions)[4]
        assert ("episode" in ours) == ("episode" in theirs)
        if "episode" in ours:
            worlds = ours["_episode"]
            ended += worlds.sum()
            assert (theirs["_episode"] == worlds).all()
            for name in ("l", "r"):
                assert (theirs["episode"][name][worlds] == ours["episode"][name][worlds]).all()
    assert ended > 4


def test_views_and_copies(make):
    copies, views = make(), make(copy=False)
    kept = copies.reset(seed=1)[0]
    before = kept.copy()
    copies.step(np.ones((3, 1), np.float32))
    assert (kept == before).all()
    seen = views.reset(seed=1)[0]
    views.step(np.ones((3, 1), np.float32))
    assert not (seen == before).all()
    assert np.shares_memory(seen, views.step(np.ones((3, 1), np.float32))[0])


def test_step_async_overlaps(make):
    envs = make()
    envs.reset(seed=1)
    envs.step_async(np.zeros((3, 1), np.float32))
    assert refused(envs.reset).code == "call-in-flight"
    observations, *_ = envs.step_wait()
    assert observations.shape == (3, 4)
    assert refused(envs.step_wait).code == "no-step"


def test_actions_are_checked(make):
    envs = make()
    assert refused(envs.step, np.zeros((3, 1), np.float32)).code == "needs-reset"
    observations, _ = envs.reset(seed=1)
    for bad in (np.zeros((2, 1)), np.zeros(3), np.array([["a"]] * 3), np.full((3, 1), np.nan)):
        assert refused(envs.step, bad).code == "bad-action"
    # nothing was stepped
    assert (envs.get_state("time")["time"] == 0).all()
    discrete = make("CartPole")
    discrete.reset(seed=1)
    assert refused(discrete.step, np.zeros(3)).code == "bad-action"
    assert refused(discrete.step, np.full(3, 2)).code == "bad-action"
    discrete.step(np.ones(3, np.int64))


def test_actions_beyond_their_type_are_no_remainders(make):
    envs = make("CartPole", num_envs=2)
    envs.reset(seed=1)
    for actions in ([2**32, 1], [1, -(2**32)], np.array([2**63, 1], dtype=np.uint64)):
        with pytest.raises(CorralError) as caught:
            envs.step(actions)
        assert caught.value.code == "bad-action"
        assert "no int32" in str(caught.value)
    assert refused(envs.step, [[1], [0, 1]]).code == "bad-action"
    envs.step(np.array([1, 0], dtype=np.uint8))


def test_actions_beyond_float32_are_refused_without_a_warning(make):
    envs = make()
    envs.reset(seed=1)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        error = refused(envs.step, np.full((3, 1), 1e300))
        assert error.code == "bad-action"
        assert "finite float32" in str(error)
        envs.step(np.full((3, 1), 1e-300))


def test_it_is_closed_at_the_end_of_its_scope(make):
    with make() as envs:
        envs.reset(seed=1)
    assert refused(envs.reset).code == "closed"
    envs.close()


def test_nothing_is_rounded_to_an_integer(make):
    envs = make()
    for seed in (1.5, "7", True, [1, 2, 2.5]):
        with pytest.raises(CorralError) as caught:
            envs.reset(seed=seed)
        assert caught.value.code == "bad-seed"
    envs.reset(seed=np.uint32(7))
    for worlds in ([0.5], np.array([True, False, False]), "0", 1):
        for call in (
            lambda worlds=worlds: envs.get_state("qpos", worlds=worlds),
            lambda worlds=worlds: envs.set_state(worlds=worlds, qpos=[0, 0]),
            lambda worlds=worlds: envs.record(worlds, "test"),
        ):
            with pytest.raises(CorralError) as caught:
                call()
            assert caught.value.code == "bad-world"
    assert envs.get_state("qpos", worlds=np.array([2, 0]))["qpos"].shape == (2, 2)
    assert envs.get_state("qpos", worlds=[])["qpos"].shape == (0, 2)
    with pytest.raises(CorralError, match="one by one"):
        envs.get_state(["qpos"])


def test_options_by_both_names_and_refusals(make):
    assert make(max_episode_steps=7).facts["maxEpisodeSteps"] == 7
    assert make(maxEpisodeSteps=np.inf).facts["maxEpisodeSteps"] == np.inf
    assert make("HalfCheetah-v5", forward_reward_weight=2.0, ls_iterations=10).facts["id"] == "HalfCheetah-v5"
    assert refused(make, "InvertedPendulums-v5").code == "unknown-env"
    assert refused(make, None).code == "unknown-env"
    assert refused(make, copy="no").code == "bad-option"
    with pytest.raises(CorralError) as wrong:
        make().reset(options=5)
    assert wrong.value.code == "bad-option"
    assert refused(make, max_episode_step=7).code == "unknown-option"
    assert refused(make, num_envs=0).code == "bad-num-envs"
    assert refused(make, num_envs=10**6, budget="1MiB").code == "budget-exceeded"
    assert refused(make, frame_skip=lambda: 1).code == "bad-option"
    error = refused(make, num_envs=1.5)
    assert error.code in str(error) and pickle.loads(pickle.dumps(error)).code == error.code


def test_state_parameters_and_attributes(make):
    envs = make()
    envs.reset(seed=1)
    envs.set_state(qpos=[0.1, 0.05], qvel=np.zeros((3, 2)))
    envs.set_state(worlds=[1], qpos=[[0.2, 0.0]])
    assert np.allclose(envs.get_state("qpos")["qpos"], [[0.1, 0.05], [0.2, 0], [0.1, 0.05]])
    assert envs.get_state("qpos", worlds=[1])["qpos"].shape == (1, 2)
    assert refused(envs.set_state, qpos=[1.0]).code == "bad-shape"
    for text in ("x", [[0, 1], [2]], [1j, 0]):
        assert refused(envs.set_state, qpos=text).code == "bad-value"
        assert refused(envs.set_params, goal=text).code == "bad-value"
    assert refused(envs.set_state, qpso=[1.0]).code == "unknown-field"
    assert refused(envs.get_state, "qpos", worlds=[3]).code == "bad-world"
    # more than the shared memory has room for
    assert refused(envs.get_state, *["qpos"] * 50).code == "bad-shape"
    assert refused(envs.set_state, worlds=[0] * 50, qpos=np.zeros((50, 2))).code == "bad-shape"
    assert envs.get_attr("num_envs") == (3, 3, 3)
    assert len(envs.call("health")) == 3


def test_snapshots_go_on_bit_for_bit(make):
    envs = make()
    envs.reset(seed=1)
    actions = np.full((3, 1), 0.3, np.float32)
    kept = envs.snapshot()
    first = [envs.step(actions)[0] for _ in range(5)]
    envs.restore(kept)
    assert all((envs.step(actions)[0] == each).all() for each in first)
    assert refused(make().restore, kept).code == "bad-snapshot"
    number = kept.number
    del kept
    # what pytest keeps of the refusal refers to it
    gc.collect()
    envs.reset()
    assert refused(envs._client.call, "restore", envs._of, snapshot=number).code == "no-snapshot"


def test_crash_bundle_of_a_world(make, tmp_path: Path):
    envs = make(recorder={"directory": str(tmp_path)})
    envs.reset(seed=1)
    envs.step(np.zeros((3, 1), np.float32))
    path = envs.record([1], "looked odd")
    assert path is not None and Path(path).is_dir()
    assert envs.health()["bundles"] == [path]


def test_plan_before_anything_is_held(make):
    plan = corral.plan("Ant-v5", 4096, budget="1MiB")
    assert plan.num_envs == 4096 and plan.total_bytes > 2**20 and not plan.fits
    assert plan.largest_num_envs < 4096
    assert "qpos" in str(plan)
    envs = make()
    assert corral.plan("InvertedPendulum-v5", 3, device="wasm").total_bytes == envs.plan.total_bytes > 0


@pytest.mark.parametrize("name", ["corral/InvertedPendulum-v5", "corral:corral/InvertedPendulum-v5"])
def test_under_gymnasiums_name(name: str):
    envs = gym.make_vec(name, num_envs=2, device="wasm")
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (2, 4)
    assert isinstance(envs.unwrapped, corral.CorralVectorEnv)
    assert envs.spec.max_episode_steps == 1000
    envs.close()


def test_the_spec_knows_the_limit_of_episodes_and_makes_them_again(make):
    envs = make(max_episode_steps=30)
    assert envs.spec.max_episode_steps == 30
    again = gym.make_vec(envs.spec)
    assert again.num_envs == envs.num_envs and again.spec.max_episode_steps == 30
    again.close()
    # the registry's own stays as it is
    assert gym.spec("corral/InvertedPendulum-v5").max_episode_steps is None


def test_a_single_environment_is_refused_with_what_there_is():
    with pytest.raises(corral.CorralError, match="worlds come in batches: gym.make_vec") as caught:
        gym.make("corral/InvertedPendulum-v5")
    assert caught.value.code == "no-single-env"
    with pytest.raises(corral.CorralError, match="takes no vectorization_mode"):
        gym.make_vec("corral/InvertedPendulum-v5", num_envs=2, vectorization_mode="sync")


def test_closing(make):
    envs = make()
    envs.close()
    envs.close()
    assert envs.closed
    assert refused(envs.step, np.zeros((3, 1))).code == "closed"


def test_a_fork_that_is_collected_in_the_midst_of_a_call(make, monkeypatch):
    envs = make()
    envs.reset(seed=1)
    forks = [envs.fork([0])]
    decode = envs._client._decode

    def collecting(line: bytes):
        forks.clear()
        return decode(line)

    with monkeypatch.context() as patch:
        patch.setattr(envs._client, "_decode", collecting)
        first = envs.get_state("time")["time"]
    assert first.shape == (3, 1)
    assert envs.step(np.zeros((3, 1), np.float32))[0].shape == (3, 4)
    # what was left is closed by then
    assert envs._client.left == []


def test_pictures(make):
    envs = make(num_envs=2, render_mode="rgb_array", width=64, height=48)
    assert envs.render_mode == "rgb_array" and envs.metadata["render_modes"] == ["rgb_array"]
    assert envs.metadata["render_fps"] == 25
    envs.reset(seed=1)
    envs.set_state(worlds=[1], qpos=[0.5, 1.0])
    upright, fallen = envs.render()
    assert upright.shape == (48, 64, 3) and upright.dtype == np.uint8
    assert len(np.unique(upright)) > 5 and (upright != fallen).any()
    (again,) = envs.render(worlds=[1])
    assert (again == fallen).all()
    with envs.extract(1) as alone:
        assert alone.render()[0].shape == (48, 64, 3)
    assert refused(envs.render, worlds=[2]).code == "bad-world"


def test_pictures_that_are_refused(make):
    assert refused(make().render).code == "no-render-mode"
    assert "opens no window" in str(refused(make, render_mode="human"))
    assert "width is 0" in str(refused(make, render_mode="rgb_array", width=0))
    assert refused(make, "Ant-v5", render_mode="rgb_array", camera_name="trak").code == "bad-option"
