"""env steps/s from Python beside the same batch in Node, Gymnasium's AsyncVectorEnv and EnvPool, in turns of one run.

python bench/python/rate.py [--envs HalfCheetah-v5,Ant-v5] [--worlds 1024,16384] [--seconds 2] [--rounds 5] [--device D] [--out FILE]

Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np

import corral

ROOT = Path(__file__).resolve().parents[2]


class FromPython:
    name = "corral, Python"

    def __init__(self, env: str, worlds: int, device: str | None) -> None:
        options = {"device": device} if device else {}
        self.envs = corral.make_vec(env, worlds, seed=1, **options)
        self.envs.reset()
        self.actions = self.envs.action_space.sample()
        self.device = self.envs.facts["device"]
        self.envs.step(self.actions)

    def run(self, seconds: float) -> float:
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            self.envs.step(self.actions)
            steps += 1
        return steps * self.envs.num_envs / (time.perf_counter() - start)

    def close(self) -> None:
        self.envs.close()


class FromNode:
    name = "corral, Node"

    def __init__(self, env: str, worlds: int, device: str | None) -> None:
        script = str(Path(__file__).with_name("node-rate.ts"))
        command = ["node", "--import", "tsx", script, env, str(worlds), *([device] if device else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self._read()

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def run(self, seconds: float) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return float(self._read())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class EnvPool:
    name = "EnvPool"

    def __init__(self, env: str, worlds: int, device: str | None) -> None:
        import envpool

        self.envs = envpool.make_gymnasium(env, num_envs=worlds, num_threads=os.cpu_count(), seed=1)
        self.envs.reset()
        space = self.envs.action_space
        self.actions = np.stack([space.sample() for _ in range(worlds)]).astype(space.dtype)
        self.worlds = worlds

    def run(self, seconds: float) -> float:
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            self.envs.step(self.actions)
            steps += 1
        return steps * self.worlds / (time.perf_counter() - start)

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

    def run(self, seconds: float) -> float:
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            self.envs.step(self.actions)
            steps += 1
        return steps * self.WORLDS / (time.perf_counter() - start)

    def close(self) -> None:
        self.envs.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--envs", default="HalfCheetah-v5,Ant-v5")
    parser.add_argument("--worlds", default="1024,16384")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device")
    parser.add_argument("--out")
    args = parser.parse_args()
    rows = []
    for env in args.envs.split(","):
        for worlds in map(int, args.worlds.split(",")):
            sides = []
            for side in (FromPython, FromNode, EnvPool, AsyncVector):
                try:
                    sides.append(side(env, worlds, args.device))
                except ImportError as error:
                    print(f"{side.name} is left out: {error}")
            rates: dict[str, list[float]] = {side.name: [] for side in sides}
            for _ in range(args.rounds):
                for side in sides:
                    rates[side.name].append(side.run(args.seconds))
            row = {"env": env, "worlds": worlds, "device": sides[0].device}
            row["rates"] = {name: {"min": min(all_), "median": statistics.median(all_)} for name, all_ in rates.items()}
            rows.append(row)
            print(env, worlds, {name: round(rate["median"]) for name, rate in row["rates"].items()}, flush=True)
            for side in sides:
                side.close()
    if args.out:
        facts = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}
        settings = {"seconds": args.seconds, "rounds": args.rounds, "date": time.strftime("%Y-%m-%d")}
        Path(args.out).write_text(json.dumps({**facts, **settings, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
