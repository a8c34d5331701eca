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
