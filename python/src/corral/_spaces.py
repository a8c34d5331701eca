"""Spaces of Gymnasium from what the Node process says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np


def space_of(facts: dict[str, Any]) -> gym.Space[Any]:
    """The space of one world."""
    kind = facts["kind"]
    if kind == "box":
        shape = tuple(int(axis) for axis in facts["shape"])
        low = np.asarray(facts.get("low", -np.inf), dtype=facts["dtype"])
        high = np.asarray(facts.get("high", np.inf), dtype=facts["dtype"])
        bounds = (np.broadcast_to(b.reshape(shape) if b.size > 1 else b, shape) for b in (low, high))
        lower, upper = (np.ascontiguousarray(b) for b in bounds)
        return gym.spaces.Box(lower, upper, shape, np.dtype(facts["dtype"]).type)
    if kind == "discrete":
        return gym.spaces.Discrete(int(facts["n"]), start=int(facts["start"]))
    return gym.spaces.MultiDiscrete(np.asarray(facts["nvec"], dtype=np.int64))


def observation_space_of(facts: dict[str, Any], groups: Mapping[str, slice]) -> gym.Space[Any]:
    """The space of one world's observation: a dictionary of boxes where the task has groups."""
    if not groups:
        return space_of(facts)
    box = {**facts, "low": -np.inf, "high": np.inf}
    return gym.spaces.Dict({name: space_of({**box, "shape": [s.stop - s.start]}) for name, s in groups.items()})
