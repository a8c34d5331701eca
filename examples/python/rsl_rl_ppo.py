"""rsl_rl's PPO on worlds of corral: python rsl_rl_ppo.py [ENV] [ITERATIONS] [POLICY.safetensors]."""

import sys

import torch
from rsl_rl.runners import OnPolicyRunner

from corral import policies
from corral.rsl_rl import CorralRslRlEnv

env = sys.argv[1] if len(sys.argv) > 1 else "InvertedPendulum-v5"
iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 60

# threads that share a small network wait for each other, and take processors that worlds need
torch.set_num_threads(1)
network = {"class_name": "MLPModel", "hidden_dims": [64, 64], "activation": "elu", "obs_normalization": True}
gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
config = {
    "num_steps_per_env": 32,
    "save_interval": 10**9,
    "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "actor": {**network, "distribution_cfg": gaussian},
    "critic": network,
    "algorithm": {
        "class_name": "PPO",
        "num_learning_epochs": 5,
        "num_mini_batches": 4,
        "learning_rate": 1e-3,
        "schedule": "adaptive",
        "desired_kl": 0.01,
        "gamma": 0.99,
        "lam": 0.95,
        "clip_param": 0.2,
        "entropy_coef": 0.0,
        "value_loss_coef": 1.0,
        "use_clipped_value_loss": True,
        "max_grad_norm": 1.0,
    },
}


class Worlds(CorralRslRlEnv):
    """Prints the mean return of the episodes that end."""

    returns: list[float] = []

    def step(self, actions):
        found = super().step(actions)
        self.returns.extend([found[3]["log"]["/episode/return"]] if "log" in found[3] else [])
        return found


worlds = Worlds(env, 256, seed=0)
runner = OnPolicyRunner(worlds, config, log_dir=None, device="cpu")
for at in range(0, iterations, 10):
    runner.learn(10)
    steps = (at + 10) * config["num_steps_per_env"] * worlds.num_envs
    print(f"{steps:>8} steps  mean return {sum(worlds.returns[-50:]) / max(1, len(worlds.returns[-50:])):8.1f}", flush=True)
if len(sys.argv) > 3:
    policies.from_rsl_rl(runner, env, worlds.envs.single_action_space).save(sys.argv[3])
worlds.close()
