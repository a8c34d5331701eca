"""env steps/s from Python beside the same batch in Node, Gymnasium's AsyncVectorEnv and EnvPool, in turns of one run.

Ratios are medians of those of each round, by the clock and by processor time of all processes of a side.

python bench/python/rate.py [--envs HalfCheetah-v5,Ant-v5] [--worlds 1024,16384] [--seconds 2] [--rounds 5] [--alone] [--device D] [--out FILE]

Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

import corral

import machine

ROOT = Path(__file__).resolve().parents[2]


def step_for(seconds: float, envs: Any, actions: Any, worlds: int) -> tuple[float, float]:
    """Env steps a second, and in a second of one core."""
    spent, start, steps = machine.processor_seconds(os.getpid()), time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        envs.step(actions)
        steps += 1
    took = time.perf_counter() - start
    return steps * worlds / took, steps * worlds / (machine.processor_seconds(os.getpid()) - spent)


class FromPython:
    """Results are the caller's own, as by default; Node's are views by default."""

    name = "corral, Python"
    copy = True

    def __init__(self, env: str, worlds: int, device: str | None) -> None:
        options = {"device": device} if device else {}
        self.envs = corral.make_vec(env, worlds, seed=1, copy=self.copy, **options)
        self.envs.reset()
        self.actions = self.envs.action_space.sample()
        self.device = self.envs.facts["device"]
        self.envs.step(self.actions)

    def run(self, seconds: float) -> tuple[float, float]:
        return step_for(seconds, self.envs, self.actions, self.envs.num_envs)

    def close(self) -> None:
        self.envs.close()


class FromPythonViews(FromPython):
    name = "corral, Python, views"
    copy = False


class FromNode:
    name = "corral, Node"
    results = "views"

    def __init__(self, env: str, worlds: int, device: str | None) -> None:
        script = str(Path(__file__).with_name("node-rate.ts"))
        command = ["node", "--import", "tsx", script, env, str(worlds), self.results, *([device] if device else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self._read()

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def run(self, seconds: float) -> tuple[float, float]:
        assert self.process.stdin is not None
        spent = machine.processor_seconds(self.process.pid)
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        steps, rate = map(float, self._read().split())
        return rate, steps / (machine.processor_seconds(self.process.pid) - spent)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class FromNodeCopies(FromNode):
    name = "corral, Node, copies"
    results = "copies"


class EnvPool:
    """As many worlds as are asked for, but no more than it is fast with: each has a simulator of its own."""

    name = "EnvPool"
    MOST = 1024

    def __init__(self, env: str, worlds: int, device: str | None) -> None:
        import envpool

        worlds = min(worlds, self.MOST)
        self.envs = envpool.make_gymnasium(env, num_envs=worlds, num_threads=os.cpu_count(), seed=1)
        self.envs.reset()
        space = self.envs.action_space
        self.actions = np.stack([space.sample() for _ in range(worlds)]).astype(space.dtype)
        self.worlds = worlds

    def run(self, seconds: float) -> tuple[float, float]:
        return step_for(seconds, self.envs, self.actions, self.worlds)

    def close(self) -> None:
        self.envs.close()


class AsyncVector:
    """As many worlds as processes are of use."""

    name = "AsyncVectorEnv"
    WORLDS = 16

    def __init__(self, env: str, worlds: int, device: str | None) -> None:
        import gymnasium as gym

        self.envs = gym.make_vec(env, num_envs=self.WORLDS, vectorization_mode="async")
        self.envs.reset(seed=1)
        self.actions = self.envs.action_space.sample()

    def run(self, seconds: float) -> tuple[float, float]:
        return step_for(seconds, self.envs, self.actions, self.WORLDS)

    def close(self) -> None:
        self.envs.close()


# beside Node: what a default takes, and the same of both
ALONE = (FromPython, FromNode, FromPythonViews, FromNodeCopies)
LIKE = [(FromPython, FromNodeCopies), (FromPythonViews, FromNode)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--envs", default="HalfCheetah-v5,Ant-v5")
    parser.add_argument("--worlds", default="1024,16384")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="beside Node alone")
    parser.add_argument("--device")
    parser.add_argument("--out")
    args = parser.parse_args()
    rows = []
    for env in args.envs.split(","):
        for worlds in map(int, args.worlds.split(",")):
            sides = []
            for side in ALONE if args.alone else (FromPython, FromNode, EnvPool, AsyncVector):
                try:
                    sides.append(side(env, worlds, args.device))
                except ImportError as error:
                    print(f"{side.name} is left out: {error}")
            rates: dict[str, list[tuple[float, float]]] = {side.name: [] for side in sides}
            for _ in range(args.rounds):
                for side in sides:
                    rates[side.name].append(side.run(args.seconds))
            row: dict[str, Any] = {"env": env, "worlds": worlds, "device": sides[0].device}
            for kind, at in (("rate", 0), ("rateByProcessor", 1)):
                row[kind] = {name: statistics.median(each[at] for each in all_) for name, all_ in rates.items()}
                ours = rates[FromPython.name]
                pairs = {name: [a[at] / b[at] for a, b in zip(ours, all_)] for name, all_ in rates.items() if all_ is not ours}
                row[f"{kind}Against"] = {name: round(statistics.median(ratios), 3) for name, ratios in pairs.items()}
                like = {b.name: [x[at] / y[at] for x, y in zip(rates[a.name], rates[b.name])] for a, b in LIKE if a.name in rates and b.name in rates}
                row[f"{kind}AgainstAlike"] = {name: round(statistics.median(ratios), 3) for name, ratios in like.items()}
            rows.append(row)
            print(env, worlds, {name: row[name] for name in row if "Against" in name}, flush=True)
            # processes that were forked later hold the pipes of those before
            for side in reversed(sides):
                side.close()
            if args.out:
                settings = {"seconds": args.seconds, "rounds": args.rounds}
                Path(args.out).write_text(json.dumps({"machine": machine.facts(), **settings, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
