"""Env steps/s of Stable-Baselines3's PPO on this machine: the peer that bench/learning.ts --python PATH measures.

Reads one JSON document on stdin: {"env": id, "seconds": s, "repetitions": n, "threads": t}. Environments are
Gymnasium's own, in one process and in as many as there are threads; of both the faster counts, kind by kind. PPO has
Stable-Baselines3's defaults: 64 units twice, 2,048 steps of each environment, minibatches of 64, ten epochs. Prints one
JSON document.
"""

import json
import statistics
import sys
import time


def rates(setup, count, processes):
    import numpy as np
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    torch.set_num_threads(setup["threads"])
    env = make_vec_env(setup["env"], n_envs=count, seed=0, vec_env_cls=SubprocVecEnv if processes else DummyVecEnv)
    model = sb3.PPO("MlpPolicy", env, seed=0, device="cpu")
    observations = env.reset()
    actions = np.array([env.action_space.sample() for _ in range(count)])

    def simulated():
        env.step(actions)
        return count

    def inference():
        nonlocal observations
        chosen, _ = model.predict(observations)
        observations, _, _, _ = env.step(chosen)
        return count

    def training():
        before = model.num_timesteps
        model.learn(model.n_steps * count, reset_num_timesteps=False)
        return model.num_timesteps - before

    found = {}
    for name, run in [("simulated", simulated), ("inference", inference), ("training", training)]:
        run()
        repeated = []
        for _ in range(setup["repetitions"]):
            start, done = time.perf_counter(), 0
            while time.perf_counter() - start < setup["seconds"] or done == 0:
                done += run()
            repeated.append(done / (time.perf_counter() - start))
        found[name] = statistics.median(repeated)
    env.close()
    return found


def main():
    try:
        import gymnasium
        import stable_baselines3
        import torch
    except ImportError as error:
        print(json.dumps({"absent": f"not measured: {sys.executable} cannot import {error.name or error}; pip install stable-baselines3 'gymnasium[mujoco]'"}))
        return

    setup = json.load(sys.stdin)
    rows = [
        {"environments": count, "processes": processes, **rates(setup, count, processes)}
        for count, processes in [(8, False), (setup["threads"], True), (8, True)]
    ]
    versions = {m.__name__: m.__version__ for m in (stable_baselines3, gymnasium, torch)}
    print(json.dumps({"versions": versions, "env": setup["env"], "threads": setup["threads"], "rows": rows}))


if __name__ == "__main__":
    main()
