"""Env steps/s of Stable-Baselines3's PPO on this machine: a peer that bench/learning.ts --python PATH measures.

Reads {"env": id, "seconds": s, "threads": t}, then what peer_rates.py says. Environments are Gymnasium's own, in one
process and in as many as there are threads; torch has one thread, or as many as there are. PPO has Stable-Baselines3's
defaults: 64 units twice, minibatches of 64, ten epochs. A rollout is 2,048 steps in all, as with one environment; with
more of them, rollouts that are longer by as much train at the same rate, and take so much longer to measure.
"""

import json
import sys

from peer_rates import serve

ROLLOUT = 2048


def way(setup, count, processes, threads):
    import numpy as np
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    env = make_vec_env(setup["env"], n_envs=count, seed=0, vec_env_cls=SubprocVecEnv if processes else DummyVecEnv)
    model = sb3.PPO("MlpPolicy", env, seed=0, device="cpu", n_steps=ROLLOUT // count)
    observations = env.reset()
    actions = np.array([env.action_space.sample() for _ in range(count)])

    def simulated():
        env.step(actions)
        return count

    def inference():
        nonlocal observations
        torch.set_num_threads(threads)
        chosen, _ = model.predict(observations)
        observations, _, _, _ = env.step(chosen)
        return count

    def training():
        torch.set_num_threads(threads)
        before = model.num_timesteps
        model.learn(ROLLOUT, reset_num_timesteps=False)
        return model.num_timesteps - before

    return {"simulated": simulated, "inference": inference, "training": training}, env.close


def main():
    try:
        import gymnasium
        import stable_baselines3
        import torch
    except ImportError as error:
        print(json.dumps({"absent": f"not measured: {sys.executable} cannot import {error.name or error}; pip install stable-baselines3 'gymnasium[mujoco]'"}))
        return

    setup = json.loads(sys.stdin.readline())
    all_threads = setup["threads"]
    ways = [
        (
            {"environments": count, "processes": processes, "torchThreads": threads, "counts": True},
            lambda count=count, processes=processes, threads=threads: way(setup, count, processes, threads),
        )
        for count, processes, threads in [
            (8, False, all_threads),
            (8, False, 1),
            (all_threads, True, all_threads),
            (8, True, all_threads),
        ]
    ]
    versions = {m.__name__: m.__version__ for m in (stable_baselines3, gymnasium, torch)}
    serve({"versions": versions}, ways, setup)


if __name__ == "__main__":
    main()
