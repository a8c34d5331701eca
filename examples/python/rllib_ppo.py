"""RLlib's PPO, whose environment runners each hold one corral: python rllib_ppo.py [ENV] [RUNNERS] [ITERATIONS]."""

import sys

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig

import corral.ray

env = sys.argv[1] if len(sys.argv) > 1 else "InvertedPendulum-v5"
runners = int(sys.argv[2]) if len(sys.argv) > 2 else 1
iterations = int(sys.argv[3]) if len(sys.argv) > 3 else 20

# the learner is in this process: its threads would share a small network, and take processors that runners need
torch.set_num_threads(1)
ray.init(ignore_reinit_error=True, include_dashboard=False)
config = corral.ray.environment(PPOConfig(), env, 32)
config = config.env_runners(num_env_runners=runners, rollout_fragment_length=64)
config = config.training(train_batch_size=4096, minibatch_size=512, num_epochs=6, lr=1e-3)
algorithm = config.build_algo()
for _ in range(iterations):
    result = algorithm.train()
    found = result["env_runners"]
    steps = int(result["num_env_steps_sampled_lifetime"])
    print(f"{steps:>8} steps  mean return {found.get('episode_return_mean', float('nan')):8.1f}", flush=True)
algorithm.stop()
