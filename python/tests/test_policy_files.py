"""Files of policies that cannot be read, or where nothing reads them: refused in words."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from corral import CorralError, policies

POLICY = policies.Policy("InvertedPendulum-v5", [(np.zeros((1, 4)), np.zeros(1))], gym.spaces.Box(-3, 3, (1,), np.float32))


@pytest.mark.parametrize("module, ending", [("safetensors", "safetensors"), ("onnx", "onnx")])
def test_a_library_that_is_missing_is_named(monkeypatch, tmp_path: Path, module: str, ending: str):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    for call in (lambda: policies.load(tmp_path / f"policy.{ending}"), lambda: POLICY.save(tmp_path / "policy.safetensors")):
        with pytest.raises(CorralError, match="pip install (safetensors|onnx)") as raised:
            call()
        assert raised.value.code == "no-module"


@pytest.mark.parametrize("ending", ["safetensors", "onnx"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, ending: str):
    pytest.importorskip("safetensors", reason="policies are read and written by safetensors")
    # a folder of that name is in the way, of root too
    (tmp_path / f"policy.{ending}").mkdir()
    with pytest.raises(CorralError, match="cannot be written") as raised:
        POLICY.save(tmp_path / f"policy.{ending}")
    assert raised.value.code == "export-not-written"


def test_files_that_are_no_policies_are_refused(tmp_path: Path):
    pytest.importorskip("safetensors", reason="policies are read and written by safetensors")
    POLICY.save(tmp_path / "whole.safetensors")
    whole = (tmp_path / "whole.safetensors").read_bytes()
    for name, content in (("short", whole[:-3]), ("empty", b""), ("text", b"not a policy")):
        (tmp_path / f"{name}.safetensors").write_bytes(content)
    for name in ("short", "empty", "text", "missing"):
        with pytest.raises(CorralError, match="cannot be read") as raised:
            policies.load(tmp_path / f"{name}.safetensors")
        assert raised.value.code == "bad-policy"


@pytest.mark.parametrize(
    "change, says",
    [
        ({"head": None}, "it has no head"),
        ({"head": "beta"}, "its head is 'beta'"),
        ({"activation": None}, "it has no activation"),
        ({"low": "a"}, "could not convert"),
        ({"low": "4.0"}, "low values"),
        ({"policy.0.bias": None}, r"it has no policy\.0\.bias"),
        ({"policy.0.bias": np.full(1, np.nan, np.float32)}, r"policy\.0\.bias holds numbers that are not finite, such as nan"),
        ({"normalizer.mean": None}, r"it has no normalizer\.mean"),
    ],
)
def test_a_file_in_which_something_is_wrong_is_no_policy(tmp_path: Path, change: dict, says: str):
    save_file = pytest.importorskip("safetensors.numpy", reason="policies are read and written by safetensors").save_file
    kept = {name: value for name, value in {**POLICY.arrays(), **POLICY.facts(), **change}.items() if value is not None}
    facts = {name: value for name, value in kept.items() if isinstance(value, str)}
    save_file({name: value for name, value in kept.items() if name not in facts}, tmp_path / "odd.safetensors", metadata=facts)
    with pytest.raises(CorralError, match=says) as raised:
        policies.load(tmp_path / "odd.safetensors")
    assert raised.value.code == "bad-policy"


def test_a_policy_acts_on_numbers_alone():
    for given in ("four", [[1, 2, 3, 4], [1]], [None] * 4):
        with pytest.raises(CorralError, match="pass numbers") as raised:
            POLICY.act(given)
        assert raised.value.code == "bad-shape"


BOX = gym.spaces.Box(-3, 3, (1,), np.float32)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: policies.from_sb3(3), "the model is 3; pass a PPO"),
        (lambda: policies.from_rsl_rl(None, "CartPole", BOX), "the runner is None; pass an OnPolicyRunner"),
        (lambda: policies.from_torch(3, "CartPole", BOX), "the network is 3; pass a torch.nn.Module"),
        (lambda: policies.into_torch(POLICY, None), "the network is None"),
        (lambda: policies.into_sb3(POLICY, 4), "the model is 4"),
        (lambda: policies.into_sb3(3, 4), "the policy is 3; pass a Policy"),
        (lambda: policies.into_rsl_rl(POLICY, 4), "the runner is 4"),
        (lambda: policies.load(3), "the file of a policy is 3"),
        (lambda: POLICY.save(3), "the file of a policy is 3"),
        (lambda: policies.Policy("CartPole", 4, BOX), "layers are no pairs"),
        (lambda: policies.Policy("CartPole", [], BOX), "pass one layer or more"),
        (lambda: policies.Policy("CartPole", POLICY.layers, 5), "the action space is 5"),
    ],
)
def test_what_is_no_model_network_or_policy_is_refused(call, says: str):
    with pytest.raises(CorralError, match=says) as raised:
        call()
    assert raised.value.code == "bad-policy"
