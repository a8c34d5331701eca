"""Worlds of corral in TorchRL: python torchrl_rollout.py [ENV] [NUM_ENVS]."""

import sys

from torchrl.envs import GymWrapper

import corral

env = sys.argv[1] if len(sys.argv) > 1 else "HalfCheetah-v5"
num_envs = int(sys.argv[2]) if len(sys.argv) > 2 else 64

worlds = GymWrapper(corral.make_vec(env, num_envs, seed=1, autoreset="same-step"))
rollout = worlds.rollout(100, break_when_any_done=False)
print(rollout.batch_size, rollout["next", "reward"].mean())
worlds.close()
