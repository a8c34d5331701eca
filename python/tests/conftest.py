"""Environments of the tests: on WebAssembly, which needs no driver and starts at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import corral
from corral._client import Client


class Shared(Client):
    """A Node process that outlives its objects: to start one takes longer than most tests."""

    def close(self) -> None:
        """Leaves the process to the next test."""

    def end(self) -> None:
        super().close()

    @property
    def is_good(self) -> bool:
        return self._process.poll() is None and not self._process.stdout.closed


@pytest.fixture(scope="session")
def kept() -> Iterator[list[Shared]]:
    clients: list[Shared] = []
    yield clients
    for client in clients:
        client.end()


def share(kept: list[Shared], patch: pytest.MonkeyPatch) -> None:
    """Lets objects that are made from now on live in one Node process, which is kept."""

    def shared() -> Shared:
        if not kept or not kept[-1].is_good:
            kept.append(Shared())
        return kept[-1]

    # corral.plan is the function
    for module in ("plan", "simulation", "vector_env"):
        patch.setattr(sys.modules[f"corral.{module}"], "Client", shared)


@pytest.fixture(autouse=True)
def one_process(request: pytest.FixtureRequest, kept: list[Shared], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests share a Node process, but for those marked ``own_process``, which kill theirs or look at its end."""
    if request.node.get_closest_marker("own_process") is None:
        share(kept, monkeypatch)


@pytest.fixture
def process_of_the_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One Node process for all that a test makes, and no other test: it starts in the folder that is the test's then."""
    kept: list[Shared] = []
    share(kept, monkeypatch)
    yield
    for client in kept:
        client.end()


@pytest.fixture
def make() -> Iterator[Callable[..., corral.CorralVectorEnv]]:
    made: list[corral.CorralVectorEnv] = []

    def make_vec(env: str = "InvertedPendulum-v5", num_envs: int = 3, **options: Any) -> corral.CorralVectorEnv:
        made.append(corral.make_vec(env, num_envs, **{"device": "wasm", **options}))
        return made[-1]

    yield make_vec
    for envs in made:
        envs.close()
