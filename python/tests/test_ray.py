"""corral on a cluster of three nodes, which are lost one after another."""

from __future__ import annotations

import json
import os
import random
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed")
from ray.cluster_utils import Cluster  # noqa: E402

import corral.ray  # noqa: E402
from corral import CorralError  # noqa: E402

# actors are processes of their own, and what they leave behind is looked at
pytestmark = pytest.mark.own_process
KILLS = int(os.environ.get("CORRAL_RAY_KILLS", "4"))
NODES = 3
# mean return of 1,000 at most; that of a random policy is 6
REWARD = 400
# long for a machine that does other things too
PATIENCE = 180.0


def ports() -> dict[str, int]:
    """Free ports for a node's agents: for files that name those which agents chose Ray waits 15 s alone."""
    names = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    sockets = [socket.create_server(("", 0)) for _ in names]
    found = {name: each.getsockname()[1] for name, each in zip(names, sockets)}
    for each in sockets:
        each.close()
    return found


def patiently(get_node):
    """Asks for a node that has not registered again: Ray does so for 30 s, whatever else the machine does."""

    def ask(*given):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return get_node(*given)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    return ask


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        # a machine with few cores takes long to start three nodes
        waits = {"gcs_server_request_timeout_seconds": 240, "worker_register_timeout_seconds": 240, "enable_worker_prestart": 0}
        for name, value in {**waits, "memory_monitor_refresh_ms": 0, "worker_niceness": 0}.items():
            patch.setenv(f"RAY_{name}", str(value))
        services = ray._private.services
        patch.setattr(services, "get_node", patiently(services.get_node))
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, **ports()})
        for _ in range(NODES - 1):
            made.add_node(num_cpus=2, **ports())
        ray.init(address=made.address, log_to_driver=False)
        # workers cannot import this file
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        made.wait_for_nodes()
        yield made
        ray.shutdown()
        made.shutdown()


def policy(observations):
    actions = np.tanh(observations[:, :1])
    return actions.astype(np.float32), {"value": observations[:, 0]}


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and ") Z " not in status.read_text()


def gone(pids) -> bool:
    end = time.monotonic() + PATIENCE
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    return not any(map(alive, pids))


def files_left() -> set[str]:
    from corral._arrays import _folder

    return {name for name in os.listdir(_folder()) if name.startswith("corral-") and name.endswith(".arrays")}


def test_budgets_are_planned_on_each_node(cluster: Cluster):
    plans = corral.ray.plan_nodes("InvertedPendulum-v5", 64, device="wasm")
    assert len(plans) == NODES and all(plan.num_envs == 64 for plan in plans.values())
    with pytest.raises(CorralError) as caught:
        corral.ray.plan_nodes("InvertedPendulum-v5", 10**6, device="wasm", budget="1MiB")
    assert caught.value.code == "budget-exceeded"
    assert caught.value.details["node"] in plans and caught.value.details["node"][:8] in str(caught.value)
    with pytest.raises(CorralError) as unknown:
        corral.ray.Collectors("InvertedPendulums-v5", 4, device="wasm")
    assert unknown.value.code == "unknown-env" and "node " in str(unknown.value)


def test_fragments_are_what_one_batch_would_collect(cluster: Cluster):
    with corral.ray.Collectors("InvertedPendulum-v5", 2, device="wasm", seed=3) as collectors:
        assert len(set(collectors.nodes)) == NODES
        fragments = collectors.collect(policy, 30)
        assert [each.rewards.shape for each in fragments] == [(30, 2)] * NODES
        assert all(each.extras["value"].shape == (30, 2) and each.observations.shape == (31, 2, 4) for each in fragments)
    with_one = corral.make_vec("InvertedPendulum-v5", 2 * NODES, device="wasm")
    try:
        observations, _ = with_one.reset(seed=3)
        for step in range(30):
            ours = np.concatenate([each.observations[step] for each in fragments])
            assert (ours == observations).all()
            observations, *_ = with_one.step(policy(observations)[0])
    finally:
        with_one.close()
    assert sum(each.env_steps for each in fragments) <= 30 * 2 * NODES


def test_kills_lose_their_fragments_alone_and_leave_nothing(cluster: Cluster):
    before = files_left()
    rng = random.Random(0)
    seen: set[int] = set()
    with corral.ray.Collectors("InvertedPendulum-v5", 2, device="wasm") as collectors:
        shared = ray.put(policy)
        for kill in range(KILLS):
            pids = collectors.pids()
            seen.update(pid for pair in pids for pid in pair)
            # the actor, or its Node process
            victim = rng.choice(pids)[kill % 2]
            os.kill(victim, signal.SIGKILL)
            fragments = collectors.collect(shared, 5)
            assert len(fragments) == NODES - 1 and collectors.lost == kill + 1
            assert len(collectors.collect(shared, 5)) == NODES
        seen.update(pid for pair in collectors.pids() for pid in pair)
    assert gone(seen)
    assert files_left() <= before


def test_a_node_that_is_lost_and_one_that_comes(cluster: Cluster):
    before = files_left()
    with corral.ray.Collectors("InvertedPendulum-v5", 2, device="wasm") as collectors:
        pids = [pid for pair in collectors.pids() for pid in pair]
        lost = cluster.worker_nodes.copy().pop()
        cluster.remove_node(lost, allow_graceful=False)
        assert len(collectors.collect(policy, 5)) == NODES - 1
        assert len(collectors.collect(policy, 5)) == NODES - 1
        cluster.add_node(num_cpus=2, **ports())
        cluster.wait_for_nodes()
        assert len(collectors.collect(policy, 5)) == NODES
        pids += [pid for pair in collectors.pids() for pid in pair]
    assert gone(pids)
    assert files_left() <= before


def test_sweeps_of_corral_train(cluster: Cluster, tmp_path: Path):
    tune = pytest.importorskip("ray.tune", reason="Ray Tune is not installed")
    train = corral.ray.trainable(env="CartPole", device="wasm", numEnvs=8, steps=2048, rolloutSteps=32, hidden=[8], evalEnvs=2, checkpointEvery=2)
    tuner = tune.Tuner(
        tune.with_resources(train, {"cpu": 1}),
        param_space={"learningRate": tune.grid_search([1e-3, 3e-3])},
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="sweep", verbose=0),
    )
    results = tuner.fit()
    assert not results.errors and len(results) == 2
    for result in results:
        assert result.metrics["envSteps"] == 2048
        with result.checkpoint.as_directory() as folder:
            config = json.loads((Path(folder) / "config.json").read_text())
        assert config["learningRate"] == result.config["learningRate"]


def test_a_trial_goes_on_where_its_node_was_lost(cluster: Cluster, tmp_path: Path):
    tune = pytest.importorskip("ray.tune", reason="Ray Tune is not installed")
    steps, there = 120_000, {"trials": 1}
    nodes = {node.node_id: node for node in (cluster.add_node(num_cpus=2, resources=there, **ports()) for _ in range(2))}
    cluster.wait_for_nodes()

    def lose() -> None:
        while not list(tmp_path.rglob("checkpoint_*/config.json")):
            time.sleep(0.1)
        left = ray._private.state.available_resources_per_node()
        cluster.remove_node(nodes.pop(next(node for node in nodes if not left[node].get("trials"))), allow_graceful=False)

    losing = threading.Thread(target=lose, daemon=True)
    losing.start()
    train = corral.ray.trainable(env="CartPole", device="wasm", numEnvs=8, steps=steps, rolloutSteps=32, hidden=[8], evalEnvs=2, checkpointEvery=20)
    tuner = tune.Tuner(
        tune.with_resources(train, {"cpu": 1, **there}),
        param_space={"learningRate": 1e-3},
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="lost", verbose=0, failure_config=tune.FailureConfig(max_failures=2)),
    )
    (result,) = tuner.fit()
    losing.join(timeout=PATIENCE)
    assert result.error is None and result.metrics["envSteps"] >= steps
    with result.checkpoint.as_directory() as folder:
        log = [json.loads(line) for line in (Path(folder) / "log.jsonl").read_text().splitlines()]
    assert any(line.get("event") == "resumed" and line["envSteps"] > 0 for line in log)
    (spare,) = nodes.values()
    cluster.remove_node(spare)


EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def test_ppo_loses_a_node_and_reaches_its_reward_from_its_checkpoint(cluster: Cluster, tmp_path: Path, monkeypatch, capsys):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.manual_seed(0)
    example = runpy.run_path(str(EXAMPLES / "ray_ppo.py"), run_name="ray_ppo")
    losses: list[int] = []

    class Losing(corral.ray.Collectors):
        def collect(self, policy, steps):
            if not losses:
                losses.append(self.lost)
                cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
            return super().collect(policy, steps)

    def lines() -> list[str]:
        # Ray says things in between
        return [line for line in capsys.readouterr().out.splitlines() if "mean return" in line]

    monkeypatch.setattr(corral.ray, "Collectors", Losing)
    kept = tmp_path / "ppo.pt"
    example["train"]("InvertedPendulum-v5", 3 * 64 * 32, 32, kept, device="wasm")
    first, *rest = lines()
    # the update went on with what the others had collected
    assert f"{NODES - 1} collectors, 1 lost" in first and 0 < int(first.split()[0]) <= 2 * 64 * 32
    assert rest and all(f"{NODES - 1} collectors" in line for line in rest)
    cluster.add_node(num_cpus=2, **ports())
    cluster.wait_for_nodes()
    mean = example["train"]("InvertedPendulum-v5", 10**6, 32, kept, REWARD, device="wasm")
    going_on = lines()
    assert int(going_on[0].split()[0]) > 3 * 64 * 32 and f"{NODES} collectors" in going_on[0]
    assert mean >= REWARD


def test_rllib_steps_a_corral_in_each_runner(cluster: Cluster):
    ppo = pytest.importorskip("ray.rllib.algorithms.ppo", reason="RLlib is not installed")
    config = corral.ray.environment(ppo.PPOConfig(), "InvertedPendulum-v5", 4, device="wasm")
    config = config.env_runners(num_env_runners=1, rollout_fragment_length=16).training(train_batch_size=64, minibatch_size=64, num_epochs=1)
    algorithm = config.build_algo()
    try:
        result = algorithm.train()
        assert result["num_env_steps_sampled_lifetime"] >= 64
        assert np.isfinite(result["env_runners"]["episode_return_mean"])
    finally:
        algorithm.stop()
