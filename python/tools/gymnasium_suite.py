"""Gymnasium's own tests of vector environments, run on corral's: python gymnasium_suite.py GYMNASIUM [PYTEST'S ARGUMENTS].

GYMNASIUM is a checkout of https://github.com/Farama-Foundation/Gymnasium at the tag of the version that is installed, or an
archive of its `tests` laid in a folder. The tests run as they are, from a copy without Gymnasium's sources, beside the
installed packages; where they make a vector environment of worlds that corral has, they get corral's. Those that are about
worlds, words or machinery that corral does not have are skipped, each with its reason (-rs lists them).
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import corral
from corral._client import Client

# worlds by Gymnasium's names, where corral's are others
NAMES = {"CartPole-v1": "CartPole"}
FILES = [
    "tests/vector/test_sync_vector_env.py",
    "tests/vector/test_async_vector_env.py",
    "tests/vector/test_vector_env.py",
    "tests/vector/test_vector_env_info.py",
    "tests/vector/test_autoreset_mode.py",
    "tests/vector/test_observation_mode.py",
    "tests/vector/test_vector_wrapper.py",
    "tests/wrappers/vector",
]
UNLIKE = {
    "test_call_sync_vector_env": "draws pictures, and reads an attribute of CartPole's Python class",
    "test_call_async_vector_env": "draws pictures, and reads an attribute of CartPole's Python class",
    "test_set_attr_sync_vector_env": "sets an attribute of CartPole's Python class",
    "test_set_attr_async_vector_env": "sets an attribute of CartPole's Python class",
    "test_vector_env_wrapper_attributes": "reads an attribute of CartPole's Python class",
    "test_metadata_sync_vector_env": "looks at the single environments of a batch, of which there are none",
    "test_render_sync_vector": "draws pictures",
    "test_render_async_vector": "draws pictures",
    "test_random_seeding_basics": "numbers of a world are its seed's and its id's: there is no seed + i",
    "test_random_seeds_set_at_retrieval": "numbers of a world are its seed's and its id's: there is no seed + i",
    "test_sync_vector_determinism": "spaces of a batch take no numbers from those of single environments",
    "test_sync_vector_env_seed": "spaces of a batch take no numbers from those of single environments",
    "test_partial_reset_failure": "holds the words of Gymnasium's messages",
    "test_reset_out_of_order_async_vector_env": "reset_async is AsyncVectorEnv's own",
    "test_step_out_of_order_async_vector_env": "holds the words of Gymnasium's messages, and reset_async",
}
# of tests for many cases, those whose name has this
CASES = {"RescaleObservation": "observations of corral's CartPole have no bounds"}


class Shared(Client):
    """One Node process for all tests, since to start one takes longer than most of them; it ends with this one."""

    def close(self) -> None:
        pass


def known(spec: Any) -> str | None:
    """corral's id of an environment of Gymnasium."""
    name = NAMES.get(spec.id, spec.id) if spec is not None else None
    return name if f"corral/{name}" in gym.registry else None


def of(name: str, num_envs: int, given: dict[str, Any]) -> corral.CorralVectorEnv:
    """A batch in place of Gymnasium's, whose machinery's options have no meaning there."""
    options = {key: value for key, value in given.items() if key in ("autoreset_mode", "copy")}
    return corral.make_vec(name, num_envs, device="wasm", **options)


def in_place_of(theirs: Any) -> Any:
    """What tests get under the name of one of Gymnasium's vector environments."""

    def make(env_fns: Any, *arguments: Any, **given: Any) -> Any:
        envs = [make_env() for make_env in env_fns]
        names = {known(env.spec) for env in envs}
        shown = sorted({env.spec.id if env.spec is not None else type(env.unwrapped).__name__ for env in envs})
        rendered = any(getattr(env, "render_mode", None) for env in envs)
        for env in envs:
            with contextlib.suppress(Exception):
                env.close()
        (name,) = names if len(names) == 1 else (None,)
        if name is None or arguments or rendered:
            pytest.skip(f"corral has no {', '.join(shown)}")
        return of(name, len(envs), given)

    make.__name__ = theirs.__name__
    return make


def make_vec(id: Any, num_envs: int = 1, vectorization_mode: Any = None, vector_kwargs: Any = None, wrappers: Any = None, **rest: Any) -> Any:
    """In place of ``gymnasium.make_vec``."""
    name = known(gym.spec(id))
    if name is None or wrappers or rest:
        pytest.skip(f"corral has no {id}" if name is None else "wraps single environments, of which there are none")
    return of(name, num_envs, vector_kwargs or {})


class Plugin:
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            reason = UNLIKE.get(item.originalname if isinstance(item, pytest.Function) else item.name)
            reason = reason or next((why for case, why in CASES.items() if case in item.name), None)
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def main() -> int:
    source, *arguments = sys.argv[1:]
    client = Shared()
    setattr(sys.modules["corral.vector_env"], "Client", lambda: client)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(Path(source) / "tests", Path(folder) / "tests")
        for name in ("SyncVectorEnv", "AsyncVectorEnv"):
            setattr(gym.vector, name, in_place_of(getattr(gym.vector, name)))
        gym.make_vec = make_vec
        files = [str(Path(folder) / each) for each in FILES if (Path(folder) / each).exists()]
        return int(pytest.main([f"--rootdir={folder}", "-p", "no:cacheprovider", "-q", *arguments, *files], plugins=[Plugin()]))


if __name__ == "__main__":
    sys.exit(main())
