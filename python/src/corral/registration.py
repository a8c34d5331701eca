"""Environments of corral under Gymnasium's names: ``gym.make_vec("corral/Ant-v5", num_envs=4096)``."""

from __future__ import annotations

import gymnasium as gym

NAMESPACE = "corral"
IDS = (
    "Ant-v5",
    "ArmTable",
    "CartPole",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "HumanoidStandup-v5",
    "InvertedDoublePendulum-v5",
    "InvertedPendulum-v5",
    "PickAndPlace",
    "Pusher-v5",
    "QuadrupedVelocity",
    "Reacher-v5",
    "Swimmer-v5",
    "Walker2d-v5",
)


def register_envs() -> None:
    """Called if the package is imported; ``gym.make_vec("corral:corral/Ant-v5", ...)`` imports it."""
    for name in IDS:
        identity = f"{NAMESPACE}/{name}"
        if identity not in gym.registry:
            gym.register(id=identity, vector_entry_point="corral.vector_env:CorralVectorEnv", kwargs={"env": name})
