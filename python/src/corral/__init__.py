"""corral from Python: thousands of MuJoCo worlds, stepped by a Node process of their own.

``corral.make_vec("Ant-v5", num_envs=4096)`` is a ``gymnasium.vector.VectorEnv``.
"""

from ._held import Snapshot
from ._version import __version__
from .errors import CorralError
from .plan import Plan, plan
from .registration import register_envs
from .simulation import Simulation
from .vector_env import CorralVectorEnv, make_vec

__all__ = [
    "CorralError",
    "CorralVectorEnv",
    "Plan",
    "Simulation",
    "Snapshot",
    "__version__",
    "make_vec",
    "plan",
    "register_envs",
]

register_envs()
