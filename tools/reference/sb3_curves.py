"""A learning curve of Stable-Baselines3's SAC or DQN: the peer of bench/sac-curves.ts and bench/peer-curves.ts --peer PYTHON.

Reads {"algo": "sac" (default) or "dqn", "env": id, "seed": n, "steps": n, "evalEvery": n, "evalEpisodes": n, "config": corral's hyperparameters} from stdin;
what the config does not say is Stable-Baselines3's default. Prints one line of JSON: versions, and a run as
bench/learning-page.ts has it. One Gymnasium environment, torch with one thread.
"""

import json
import os
import sys
import time
from datetime import datetime, timezone

import gymnasium
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

EVAL_SEED = 10_000


class Evaluations(BaseCallback):
    """The mean return of whole episodes with the most likely actions, every so many steps."""

    def __init__(self, env, every, episodes):
        super().__init__()
        self.env, self.every, self.episodes, self.rows = env, every, episodes, []

    def _on_step(self):
        if self.num_timesteps % self.every == 0:
            self.rows.append([self.num_timesteps, self.evaluate()])
        return True

    def evaluate(self):
        self.env.reset(seed=EVAL_SEED + self.model.seed)
        mean, _ = evaluate_policy(self.model, self.env, self.episodes, deterministic=True)
        return float(f"{mean:.6g}")


def sac(config, **shared):
    return sb3.SAC(tau=config["tau"], **shared)


def dqn(config, **shared):
    # targets are copied once between two collections, as corral's after their last batch
    return sb3.DQN(
        train_freq=config["collectSteps"],
        gradient_steps=config["gradientSteps"],
        target_update_interval=config["collectSteps"],
        exploration_fraction=config["explorationSteps"] / config["steps"],
        exploration_final_eps=config["explorationFinal"],
        **shared,
    )


MODELS = {"sac": sac, "dqn": dqn}


def main():
    setup = json.loads(sys.stdin.readline())
    torch.set_num_threads(1)
    env = Monitor(gymnasium.make(setup["env"]))
    config = {**setup["config"], "steps": setup["steps"]}
    model = MODELS[setup.get("algo", "sac")](
        config,
        policy="MlpPolicy",
        env=env,
        seed=setup["seed"],
        device="cpu",
        learning_rate=config["learningRate"],
        learning_starts=config["learningStarts"],
        batch_size=config["batchSize"],
        buffer_size=config["bufferSize"],
        gamma=config["gamma"],
        policy_kwargs={"net_arch": config["hidden"]},
    )
    evaluations = Evaluations(Monitor(gymnasium.make(setup["env"])), setup["evalEvery"], setup["evalEpisodes"])
    clock = time.process_time if "algo" in setup else time.perf_counter
    start = clock()
    model.learn(setup["steps"], callback=evaluations)
    seconds = clock() - start
    ends, points = 0, []
    for length, episode_return in zip(env.get_episode_lengths(), env.get_episode_rewards()):
        ends += length
        points.append({"envSteps": ends, "episodes": 1, "episodeReturn": float(f"{episode_return:.6g}")})
    run = {
        "seed": setup["seed"],
        "points": points,
        "evaluations": evaluations.rows,
        "evalEpisodes": setup["evalEpisodes"],
        "seconds": seconds,
        "load": os.getloadavg()[0],
        "date": datetime.now(timezone.utc).isoformat(),
    }
    print(json.dumps({"versions": {m.__name__: m.__version__ for m in (sb3, gymnasium, torch)}, "run": run}))


if __name__ == "__main__":
    main()
