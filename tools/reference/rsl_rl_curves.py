"""A learning curve of rsl_rl's PPO on worlds of corral: the peer of bench/peer-curves.ts ppo --peer PYTHON.

Reads {"env": id, "seed": n, "steps": n, "evalEvery": n, "evalEpisodes": n, "config": corral's hyperparameters} from stdin and prints
one line of JSON: versions, and a run as bench/learning-page.ts has it. torch with one thread; the worlds step in a Node process.
"""

import contextlib
import json
import os
import sys
import time
from datetime import datetime, timezone
from importlib.metadata import version

import torch
from rsl_rl.runners import OnPolicyRunner

from corral.rsl_rl import CorralRslRlEnv

EVAL_SEED = 10_000


def networks(config):
    network = {
        "class_name": "MLPModel",
        "hidden_dims": config["hidden"],
        "activation": config["activation"],
        "obs_normalization": config["normalizeObservations"],
    }
    gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "log"}
    return {"actor": {**network, "distribution_cfg": gaussian}, "critic": network}


def runner_config(config):
    return {
        "num_steps_per_env": config["rolloutSteps"],
        "save_interval": 10**9,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        **networks(config),
        "algorithm": {
            "class_name": "PPO",
            "num_learning_epochs": config["epochs"],
            "num_mini_batches": config["minibatches"],
            "learning_rate": config["learningRate"],
            "schedule": "fixed",
            "gamma": config["gamma"],
            "lam": config["gaeLambda"],
            "clip_param": config["clip"],
            "entropy_coef": config["entropyCoef"],
            # corral halves squares
            "value_loss_coef": config["valueCoef"] / 2,
            "use_clipped_value_loss": False,
            "max_grad_norm": config["maxGradNorm"],
        },
    }


class Worlds(CorralRslRlEnv):
    """Keeps how many episodes ended at each control step, and the mean of their returns."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.ended = []

    def step(self, actions):
        found = super().step(actions)
        if "log" in found[3]:
            self.ended.append((int(found[2].sum()), found[3]["log"]["/episode/return"]))
        return found

    def take(self):
        rows, self.ended = self.ended, []
        count = sum(n for n, _ in rows)
        mean = sum(n * mean for n, mean in rows) / count if count else None
        return count, mean if mean is None else float(f"{mean:.6g}")


def evaluate(runner, worlds):
    """The mean return of each world's first episode with the most likely actions."""
    policy = runner.get_inference_policy(device="cpu")
    observations, returns = worlds.fresh(), torch.zeros(worlds.num_envs)
    going = torch.ones(worlds.num_envs)
    with torch.inference_mode():
        while going.any():
            observations, rewards, dones, _ = worlds.step(policy(observations))
            returns += going * rewards
            going *= 1 - dones
    runner.alg.train_mode()
    return float(f"{returns.mean().item():.6g}")


class EvaluationWorlds(CorralRslRlEnv):
    def fresh(self):
        observations, _ = self.envs.reset(seed=self.first_seed)
        return self._tensors(observations)


def main():
    setup = json.loads(sys.stdin.readline())
    config, seed = setup["config"], setup["seed"]
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    worlds = Worlds(setup["env"], config["numEnvs"], seed=seed, sim_device="wasm", threads=1)
    judges = EvaluationWorlds(setup["env"], setup["evalEpisodes"], sim_device="wasm", threads=1)
    judges.first_seed = EVAL_SEED + seed
    with contextlib.redirect_stdout(None):
        runner = OnPolicyRunner(worlds, runner_config(config), log_dir=None, device="cpu")
    each = config["numEnvs"] * config["rolloutSteps"]
    points, evaluations, start = [], [], time.process_time()
    for at in range(each, setup["steps"] + 1, each):
        with contextlib.redirect_stdout(None):
            runner.learn(1)
        episodes, mean = worlds.take()
        points.append({"envSteps": at, "episodes": episodes, "episodeReturn": mean})
        if at % setup["evalEvery"] == 0:
            evaluations.append([at, evaluate(runner, judges)])
    run = {
        "seed": seed,
        "points": points,
        "evaluations": evaluations,
        "evalEpisodes": setup["evalEpisodes"],
        "seconds": time.process_time() - start,
        "load": os.getloadavg()[0],
        "date": datetime.now(timezone.utc).isoformat(),
    }
    worlds.close()
    judges.close()
    packages = ("rsl-rl-lib", "torch")
    print(json.dumps({"versions": {name: version(name) for name in packages}, "run": run}))


if __name__ == "__main__":
    main()
