"""Stable-Baselines3's PPO end to end, in turns: on corral's worlds, and on its own SubprocVecEnv of Gymnasium's.

python bench/python/sb3_rate.py [--envs HalfCheetah-v5] [--worlds 256] [--processes N] [--rounds 3] [--device D] [--out FILE]

Both learn from the same number of steps by the same minibatches and epochs; what is counted is all of `learn`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

from corral.sb3 import CorralVecEnv

import machine

STEPS, BATCH, EPOCHS = 8192, 1024, 4


class Side:
    def __init__(self, name: str, envs: Any) -> None:
        self.name, self.envs = name, envs
        self.model = PPO("MlpPolicy", envs, n_steps=STEPS // envs.num_envs, batch_size=BATCH, n_epochs=EPOCHS, seed=0, device="cpu")
        self.run()

    def run(self) -> dict[str, float]:
        clock, processor = time.perf_counter(), machine.processor_seconds(os.getpid())
        self.model.learn(STEPS, reset_num_timesteps=False)
        took = (time.perf_counter() - clock, machine.processor_seconds(os.getpid()) - processor)
        return {"rate": STEPS / took[0], "rate_by_processor": STEPS / took[1]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--envs", default="HalfCheetah-v5")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--processes", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device")
    parser.add_argument("--out")
    args = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    rows = []
    for env in args.envs.split(","):
        options = {"device": args.device} if args.device else {}
        ours = Side("corral", CorralVecEnv(env, args.worlds, seed=0, **options))
        theirs = Side("SubprocVecEnv", make_vec_env(env, args.processes, seed=0, vec_env_cls=SubprocVecEnv))
        rounds = []
        for _ in range(args.rounds):
            rounds.append({side.name: side.run() for side in (ours, theirs)})
            print(env, rounds[-1], flush=True)
        found = {"env": env, "worlds": args.worlds, "processes": args.processes, "device": ours.envs.envs.facts["device"], "rounds": rounds}
        for kind in ("rate", "rate_by_processor"):
            found[f"ratio_{kind}"] = statistics.median(each["corral"][kind] / each["SubprocVecEnv"][kind] for each in rounds)
        rows.append(found)
        print(env, {name: round(value, 2) for name, value in found.items() if name.startswith("ratio")}, flush=True)
        ours.envs.close()
        theirs.envs.close()
    if args.out:
        settings = {"steps": STEPS, "batch": BATCH, "epochs": EPOCHS, "rows": rows}
        Path(args.out).write_text(json.dumps({"machine": machine.facts(), **settings}, indent=2) + "\n")


if __name__ == "__main__":
    main()
