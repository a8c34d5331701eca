"""Policies of other learners in corral, and back: the same actions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from corral import CorralError, _node

pytest.importorskip("safetensors", reason="policies are read and written by safetensors")
from corral import policies  # noqa: E402

# float32 of two libraries over a few layers of numbers about 1
ACTIONS = 1e-5
BOX = gym.spaces.Box(-3, 3, (1,), np.float32)


def corral(*arguments: str) -> str:
    command = [_node.find_node(), str(_node.find_corral() / "bin" / "corral.js"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def played(path: Path, folder: Path) -> dict:
    """An episode of a policy as corral plays it."""
    file = folder / f"{path.stem}.jsonl"
    corral("play", str(path), "--episodes", "1", "--device", "wasm", "--record", str(file))
    return json.loads(file.read_text().splitlines()[0])


def test_a_policy_acts_alike_in_both_and_as_onnx(tmp_path: Path):
    rng = np.random.default_rng(0)
    sizes = [4, 16, 8, 1]
    layers = [(rng.normal(size=(o, i)) / np.sqrt(i), rng.normal(size=o) * 0.1) for i, o in zip(sizes, sizes[1:])]
    for activation, squash in (("tanh", False), ("elu", True)):
        facts = {"mean": rng.normal(size=4) * 0.01, "inverse_std": rng.uniform(0.5, 2, 4), "clip": 5.0}
        policy = policies.Policy("InvertedPendulum-v5", layers, BOX, activation=activation, squash=squash, **facts)
        path = tmp_path / f"{activation}.safetensors"
        policy.save(path)
        again = policies.load(path)
        episode = played(path, tmp_path)
        observations = np.array(episode["observations"][:-1], np.float32)
        actions = np.array(episode["actions"], np.float32)
        assert len(actions) > 1
        for each in (policy, again):
            np.testing.assert_allclose(each.act(observations), actions, atol=ACTIONS)
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    policy.save(tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "policy.onnx"))
    np.testing.assert_allclose(session.run(["action"], {"observation": observations})[0], actions, atol=ACTIONS)
    pytest.importorskip("onnx", reason="onnx is not installed")
    np.testing.assert_allclose(policies.load(tmp_path / "policy.onnx").act(observations), actions, atol=ACTIONS)


def test_choices(tmp_path: Path):
    rng = np.random.default_rng(1)
    layers = [(rng.normal(size=(8, 4)), rng.normal(size=8)), (rng.normal(size=(2, 8)), rng.normal(size=2))]
    policy = policies.Policy("CartPole", layers, gym.spaces.Discrete(2))
    path = tmp_path / "choices.safetensors"
    policy.save(path)
    episode = played(path, tmp_path)
    observations = np.array(episode["observations"][:-1], np.float32)
    assert policies.load(path).act(observations).tolist() == episode["actions"]


def refusal(call) -> CorralError:
    with pytest.raises(CorralError) as caught:
        call()
    return caught.value


def test_what_does_not_fit_is_refused(tmp_path: Path):
    weights = [(np.ones((1, 4)), np.zeros(1))]
    assert refusal(lambda: policies.Policy("Ant-v5", weights, BOX, activation="gelu")).code == "bad-policy"
    assert refusal(lambda: policies.Policy("Ant-v5", [(np.ones((2, 4)), np.zeros(2))], BOX)).code == "bad-policy"
    assert refusal(lambda: policies.Policy("Ant-v5", weights, BOX, mean=np.zeros(3))).code == "bad-policy"
    policy = policies.Policy("Ant-v5", weights, BOX)
    assert refusal(lambda: policy.save(tmp_path / "policy.pt")).code == "bad-policy"
    policy.save(tmp_path / "ant.safetensors")
    # corral's own tests break files
    with pytest.raises(AssertionError, match="bad-policy"):
        corral("play", str(tmp_path / "ant.safetensors"), "--device", "wasm")


def test_observations_of_another_width_and_places_without_a_folder_are_refused(tmp_path: Path):
    policy = policies.Policy("InvertedPendulum-v5", [(np.zeros((1, 4)), np.zeros(1))], BOX)
    assert refusal(lambda: policy.act(np.zeros((2, 5)))).code == "bad-shape"
    assert refusal(lambda: policy.act(1)).code == "bad-shape"
    assert policy.act({"policy": np.zeros((2, 4))}).shape == (2, 1)
    assert "there is no folder" in str(refusal(lambda: policy.save(tmp_path / "none" / "policy.safetensors")))


def test_networks_of_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    nn = torch.nn
    agent = nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 8), nn.ELU(), nn.Linear(8, 1))
    policy = policies.from_torch(agent, "InvertedPendulum-v5", BOX)
    x = torch.randn(100, 4)
    with torch.no_grad():
        np.testing.assert_allclose(policy.act(x.numpy()), agent(x).clamp(-3, 3).numpy(), atol=ACTIONS)
        np.testing.assert_allclose(policy.to_torch()(x), agent(x), atol=ACTIONS)
        other = nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 8), nn.ELU(), nn.Linear(8, 1))
        policies.into_torch(policy, other)
        assert (other(x) == agent(x)).all()
    for layers in ([nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1)], [nn.Linear(4, 8), nn.ELU(0.5), nn.Linear(8, 1)], []):
        assert refusal(lambda layers=layers: policies.from_torch(nn.Sequential(*layers), "x", BOX)).code == "bad-policy"
    wider = nn.Sequential(nn.Linear(4, 9), nn.ELU(), nn.Linear(9, 1))
    assert refusal(lambda: policies.into_torch(policy, wider)).code == "bad-policy"


@pytest.mark.parametrize("algo", ["PPO", "SAC"])
def test_stable_baselines(algo: str, tmp_path: Path):
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    from corral.sb3 import CorralVecEnv

    envs = CorralVecEnv("InvertedPendulum-v5", 4, seed=1, device="wasm")
    normalised = sb3.common.vec_env.VecNormalize(envs)
    try:
        options = {"n_steps": 16, "batch_size": 32} if algo == "PPO" else {"learning_starts": 8, "batch_size": 8}
        make = lambda seed: getattr(sb3, algo)("MlpPolicy", normalised, seed=seed, device="cpu", policy_kwargs={"net_arch": [16, 16]}, **options)  # noqa: E731
        model = make(0).learn(128)
        policy = policies.from_sb3(model)
        assert policy.env == "InvertedPendulum-v5"
        path = tmp_path / f"{algo}.safetensors"
        policy.save(path)
        episode = played(path, tmp_path)
        observations = np.array(episode["observations"][:-1], np.float32)
        theirs, _ = model.predict(normalised.normalize_obs(observations), deterministic=True)
        np.testing.assert_allclose(np.array(episode["actions"]), theirs, atol=ACTIONS)
        other = make(5)
        policies.into_sb3(policies.load(path), other)
        again, _ = other.predict(normalised.normalize_obs(observations), deterministic=True)
        np.testing.assert_allclose(again, theirs, atol=ACTIONS)
    finally:
        normalised.close()
