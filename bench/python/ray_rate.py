"""Collecting by Ray's actors of one thread each: env steps/s of two beside those of one, in turns of one run.

python bench/python/ray_rate.py [--env HalfCheetah-v5] [--worlds 1024] [--steps 40] [--rounds 5] [--collectors 1,2] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import ray

import corral.ray

import machine


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--collectors", default="1,2")
    parser.add_argument("--out")
    args = parser.parse_args()
    counts = [int(count) for count in args.collectors.split(",")]
    ray.init(num_cpus=sum(counts), include_dashboard=False, log_to_driver=False)
    sides = {n: corral.ray.Collectors(args.env, args.worlds, per_node=n, device="wasm", threads=1) for n in counts}
    size = sides[counts[0]].single_action_space.shape

    def still(observations):
        return np.zeros((len(observations), *size), np.float32), {}

    policy = ray.put(still)
    rates: dict[int, list[float]] = {n: [] for n in counts}
    # the first round is not counted
    for turn in range(args.rounds + 1):
        for n, collectors in sides.items():
            start = time.perf_counter()
            found = collectors.collect(policy, args.steps)
            took = time.perf_counter() - start
            if turn > 0:
                rates[n].append(sum(fragment.rewards.size for fragment in found) / took)
    for collectors in sides.values():
        collectors.close()
    ray.shutdown()
    one = rates[counts[0]]
    against = {n: round(statistics.median(a / b for a, b in zip(all_, one)), 3) for n, all_ in rates.items()}
    row = {"env": args.env, "worlds": args.worlds, "rate": {n: statistics.median(all_) for n, all_ in rates.items()}, "against": against}
    print(row)
    if args.out:
        Path(args.out).write_text(json.dumps({"machine": machine.facts(), "steps": args.steps, "rounds": args.rounds, **row}, indent=2) + "\n")


if __name__ == "__main__":
    main()
