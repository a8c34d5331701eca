"""Worlds of a plain model, without a task."""

from __future__ import annotations

import os
from typing import Any

from ._client import Client
from ._given import path_of
from ._held import Held, Snapshot, integer


class Simulation(Held):
    """Worlds of one MJCF model, stepped together, in a Node process of its own.

    Args:
        model: path of an MJCF file.
        num_envs: worlds.
        options: every option of ``createSimulation``, by its name or in snake_case; ``outputs`` names derived fields.

    Raises:
        CorralError: what ``loadModel`` and ``createSimulation`` refuse.
    """

    def __init__(self, model: str | os.PathLike[str], num_envs: int = 1, **options: Any) -> None:
        client = Client()
        try:
            given = {**options, "num_envs": num_envs}
            Held.__init__(self, client, client.call("makeSimulation", model=path_of("missing-file", "the model", model), options=given))
        except BaseException:
            client.close()
            raise
        self.num_envs = int(self.facts["numEnvs"])

    def step(self, nstep: int = 1) -> None:
        """Physics steps of every world (mj_step)."""
        self._assert_open()
        self._client.call("step", self._of, nstep=integer("bad-option", "nstep", nstep))

    def forward(self) -> None:
        """Evaluates derived fields at the current state (mj_forward)."""
        self._assert_open()
        self._client.call("forward", self._of)

    def reset(self) -> None:
        """Puts all worlds into the model's initial state."""
        self._assert_open()
        self._client.call("reset", self._of)

    def set_options(self, **values: Any) -> None:
        """Changes timestep, gravity, tolerance or ls_tolerance."""
        self._assert_open()
        self._client.call("setOptions", self._of, values=values)

    def status(self) -> list[dict[str, Any]]:
        """Worlds in which the last step went wrong, and how."""
        self._assert_open()
        worlds: list[dict[str, Any]] = self._client.call("status", self._of)["worlds"]
        return worlds

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a snapshot back."""
        self._assert_open()
        self._client.call("restore", self._of, snapshot=self._id_of(snapshot))

    def close(self) -> None:
        """Gives all memory back and ends the Node process."""
        self._release()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self._release(collected=True)
