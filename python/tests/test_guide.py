"""docs/from-python.md, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "from-python.md"


def test_the_guide_runs(tmp_path: Path, monkeypatch, capsys):
    pytest.importorskip("safetensors", reason="policies are written by safetensors")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORRAL_DEVICE", "wasm")
    blocks = re.findall(r"```py\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    said = capsys.readouterr().out
    assert "64 episodes of 50 steps ended" in said
    assert "budget-exceeded" in said
    assert (tmp_path / "policy.safetensors").is_file()
