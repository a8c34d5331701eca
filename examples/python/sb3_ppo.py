"""Stable-Baselines3's PPO on 64 worlds of corral: python sb3_ppo.py [ENV] [STEPS]."""

import sys
import time

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

from corral.sb3 import CorralVecEnv

env = sys.argv[1] if len(sys.argv) > 1 else "InvertedPendulum-v5"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000

# threads that share a small network wait for each other, and take processors that worlds need
torch.set_num_threads(1)
envs = VecNormalize(CorralVecEnv(env, num_envs=64, seed=0))
model = PPO("MlpPolicy", envs, n_steps=128, batch_size=1024, n_epochs=4, learning_rate=1e-3, seed=0, device="cpu")
start = time.perf_counter()
while model.num_timesteps < steps:
    model.learn(128 * 64, reset_num_timesteps=False)
    returns = [episode["r"] for episode in model.ep_info_buffer]
    mean = sum(returns) / max(1, len(returns))
    print(f"{model.num_timesteps:>8} steps  {time.perf_counter() - start:6.1f} s  mean return {mean:8.1f}")
envs.close()
