"""Environments of the tests: on WebAssembly, which needs no driver and starts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import corral


@pytest.fixture
def make() -> Iterator[Callable[..., corral.CorralVectorEnv]]:
    made: list[corral.CorralVectorEnv] = []

    def make_vec(env: str = "InvertedPendulum-v5", num_envs: int = 3, **options: Any) -> corral.CorralVectorEnv:
        made.append(corral.make_vec(env, num_envs, **{"device": "wasm", **options}))
        return made[-1]

    yield make_vec
    for envs in made:
        envs.close()
