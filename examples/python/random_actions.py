"""Random actions in 1,024 worlds through Gymnasium's interface: python random_actions.py [ENV] [NUM_ENVS]."""

import sys
import time

import corral

env = sys.argv[1] if len(sys.argv) > 1 else "HalfCheetah-v5"
num_envs = int(sys.argv[2]) if len(sys.argv) > 2 else 1024

envs = corral.make_vec(env, num_envs=num_envs, seed=1)
envs.reset()
actions = envs.action_space.sample()
envs.step(actions)
start, steps = time.perf_counter(), 100
for _ in range(steps):
    observations, rewards, terminated, truncated, infos = envs.step(actions)
seconds = time.perf_counter() - start
print(f"{env} on {envs.facts['device']}: {steps * num_envs / seconds:,.0f} env steps/s, mean reward {rewards.mean():.3f}")
envs.close()
