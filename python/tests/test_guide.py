"""docs/from-python.md, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "from-python.md"
BLOCKS = re.findall(r"```py\n(.*?)```", GUIDE.read_text(), re.DOTALL)
ON_RAY = "import corral.ray"


def run(blocks: list[str]) -> None:
    # under the name that Ray takes functions along from
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)


def test_the_guide_runs(process_of_the_test, tmp_path: Path, monkeypatch, capsys):
    pytest.importorskip("safetensors", reason="policies are written by safetensors")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORRAL_DEVICE", "wasm")
    blocks = [block for block in BLOCKS if ON_RAY not in block]
    assert len(blocks) == 7
    run(blocks)
    said = capsys.readouterr().out
    assert "64 episodes of 50 steps ended" in said
    assert "budget-exceeded" in said
    assert (tmp_path / "policy.safetensors").is_file()


@pytest.mark.own_process
def test_the_guide_runs_on_ray(tmp_path: Path, monkeypatch, capsys):
    pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORRAL_DEVICE", "wasm")
    monkeypatch.setenv("RAY_ADDRESS", "local")
    blocks = [block for block in BLOCKS if ON_RAY in block]
    assert len(blocks) == 1
    run(blocks)
    said = capsys.readouterr().out
    assert "512 steps" in said
    assert "[budget-exceeded] node " in said
