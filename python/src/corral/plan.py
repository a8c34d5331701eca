"""Bytes before they are allocated."""

from __future__ import annotations

import os
from typing import Any

from ._client import Client
from ._given import path_of


class Plan:
    """Every byte of a batch. ``str`` of it is a table."""

    def __init__(self, reply: dict[str, Any]) -> None:
        self.facts: dict[str, Any] = reply["plan"]
        self.table: str = reply["table"]

    @property
    def num_envs(self) -> int:
        """Worlds."""
        return int(self.facts["numEnvs"])

    @property
    def total_bytes(self) -> int:
        """Bytes of all buffers."""
        return int(self.facts["totalBytes"])

    @property
    def bytes_per_world(self) -> int:
        """Bytes that one more world costs."""
        return int(self.facts["bytesPerWorld"])

    @property
    def largest_num_envs(self) -> int:
        """The most worlds that fit budget and limits."""
        return int(self.facts["largestNumEnvs"])

    @property
    def fits(self) -> bool:
        """Whether it fits budget and limits."""
        return not self.facts["problems"]

    def __str__(self) -> str:
        return self.table

    def __repr__(self) -> str:
        return f"Plan(num_envs={self.num_envs}, total_bytes={self.total_bytes}, fits={self.fits})"


def plan(env: str | os.PathLike[str], num_envs: int = 1, **options: Any) -> Plan:
    """The plan of an environment, or of a model (path of an MJCF file), without a device.

    Raises:
        CorralError: what ``make_vec`` and ``Simulation`` refuse of their arguments.
    """
    client = Client()
    try:
        target = path_of("unknown-env", "the environment", env)
        given = {**options, "num_envs": num_envs}
        if target.lower().endswith((".xml", ".mjcf", ".urdf", ".zip")):
            return Plan(client.call("planSimulation", model=target, options=given))
        return Plan(client.call("planVec", env=target, options=given))
    finally:
        client.close()
