"""Plain batches of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import corral
from corral import CorralError

MODEL = """
<mujoco>
  <option timestep="0.01" gravity="0 0 -10"/>
  <worldbody><body pos="0 0 1"><freejoint/><geom size="0.1"/></body></worldbody>
</mujoco>
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "ball.xml"
    path.write_text(MODEL)
    return path


def test_worlds_fall(model: Path):
    with corral.Simulation(model, num_envs=3, outputs=["xpos"], device="wasm") as simulation:
        simulation.reset()
        simulation.set_state(worlds=[1], qvel=[[0, 0, 1, 0, 0, 0]])
        simulation.step(10)
        found = simulation.get_state("qpos", "xpos", "time")
        assert found["xpos"].shape == (3, 2, 3)
        assert np.allclose(found["time"], 0.1)
        # semi-implicit Euler
        fallen = 10 * 0.01**2 * 55
        assert np.allclose(found["qpos"][:, 2], 1 - fallen + np.array([0, 0.1, 0]), atol=1e-5)
        kept = simulation.snapshot()
        simulation.step(5)
        later = simulation.get_state("qpos")["qpos"]
        simulation.restore(kept)
        simulation.step(5)
        assert (simulation.get_state("qpos")["qpos"] == later).all()
        assert simulation.status() == []
        assert simulation.plan.num_envs == 3


def test_refusals(tmp_path: Path, model: Path):
    with pytest.raises(CorralError) as missing:
        corral.Simulation(tmp_path / "none.xml", device="wasm")
    assert "none.xml" in str(missing.value)
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco>")
    with pytest.raises(CorralError):
        corral.Simulation(broken, device="wasm")
    assert corral.plan(model, 10).num_envs == 10
    assert repr(corral.plan(model, 10)).startswith("Plan(num_envs=10, total_bytes=")


def test_steps_are_whole_and_counted_in_32_bits(model: Path):
    with corral.Simulation(model, num_envs=2, device="wasm") as simulation:
        simulation.reset()
        for nstep in (0, 1.5, "3", True, 2**31, 2**32 + 1):
            with pytest.raises(CorralError) as caught:
                simulation.step(nstep)
            assert caught.value.code == "bad-option"
        assert (simulation.get_state("time")["time"] == 0).all()
        simulation.step(np.int64(2))
        assert np.allclose(simulation.get_state("time")["time"], 0.02)
