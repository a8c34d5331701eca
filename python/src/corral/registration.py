"""Environments of corral under Gymnasium's names: ``gym.make_vec("corral/Ant-v5", num_envs=4096)``."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from ._ids import IDS
from .errors import CorralError

NAMESPACE = "corral"


def register_envs() -> None:
    """Called if the package is imported; ``gym.make_vec("corral:corral/Ant-v5", ...)`` imports it.

    Gymnasium has had no entry points for packages that are not imported since 1.0.
    """
    for name in IDS:
        identity = f"{NAMESPACE}/{name}"
        if identity not in gym.registry:
            gym.register(
                id=identity,
                entry_point="corral.registration:no_single",
                vector_entry_point="corral.vector_env:CorralVectorEnv",
                kwargs={"env": name},
            )


def no_single(env: str, **_: Any) -> gym.Env[Any, Any]:
    """What ``gym.make`` calls: there are batches of worlds alone.

    Raises:
        CorralError: ``no-single-env``.
    """
    made = f"gym.make_vec({f'{NAMESPACE}/{env}'!r}, num_envs=1)"
    raise CorralError("no-single-env", f"worlds come in batches: {made}, which takes no vectorization_mode.")
