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
