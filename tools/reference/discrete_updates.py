"""What others make of some batches: Stable-Baselines3's DQN, by its own `train`, and SAC over discrete actions in torch.

The oracle of test/oracle/learner-updates.test.ts. Reads what test/support/learner-updates.ts makes from stdin: parameters by
name and one batch. Prints the parameters, and the logarithm of the temperature, after the updates.
"""

import json
import sys

import gymnasium
import numpy as np
import stable_baselines3 as sb3
import torch
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.logger import configure
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from discrete_sac_curves import Agent


class Spaces(gymnasium.Env):
    """An environment that is never stepped."""

    def __init__(self, observations, actions):
        self.observation_space = Box(-np.inf, np.inf, (observations,), np.float32)
        self.action_space = Discrete(actions)


def dqn(setup, batch, observations, actions):
    """Its layers by name, and what runs its updates."""
    config = setup["config"]
    model = sb3.DQN(
        "MlpPolicy",
        Spaces(observations, actions),
        device="cpu",
        learning_rate=config["learningRate"],
        gamma=config["gamma"],
        max_grad_norm=config["maxGradNorm"],
        target_update_interval=1,
        policy_kwargs={"net_arch": config["hidden"]},
    )
    model.set_logger(configure(None, []))
    rows = (batch["action"][:, None], batch["next"], batch["done"][:, None], batch["reward"][:, None])
    samples = ReplayBufferSamples(batch["obs"], *rows)
    model.replay_buffer.sample = lambda *_, **__: samples

    def learn():
        for _ in range(setup["updates"] // config["targetEvery"]):
            model.train(gradient_steps=config["targetEvery"], batch_size=len(batch["obs"]))
            # copies the targets
            model._on_step()

    return {"policy": model.q_net.q_net, "target": model.q_net_target.q_net}, learn, None


def soft(setup, batch, observations, actions):
    config = setup["config"]
    agent = Agent({**config, "initialTemperature": 1.0}, observations, actions)
    with torch.no_grad():
        agent.log_alpha.fill_(setup["logAlpha"])
    discount = config["gamma"] * (1 - batch["done"])

    def learn():
        for _ in range(setup["updates"]):
            agent.learn(batch["obs"], batch["action"], batch["reward"], batch["next"], discount)

    networks = {"policy": agent.policy}
    for i in range(2):
        networks.update({f"q{i + 1}": agent.critics[i], f"target{i + 1}": agent.targets[i]})
    return networks, learn, agent.log_alpha


LEARNERS = {"dqn": dqn, "sac-discrete": soft}


def main():
    setup = json.load(sys.stdin)
    kinds = {name: torch.int64 if name == "action" else torch.float32 for name in setup["batch"]}
    batch = {name: torch.tensor(rows, dtype=kinds[name]) for name, rows in setup["batch"].items()}
    given = setup["params"]
    actions = len(given[f"policy.{len(setup['config']['hidden'])}.bias"])
    networks, learn, log_alpha = LEARNERS[setup["algo"]](setup, batch, batch["obs"].shape[1], actions)
    layers = {
        f"{name}.{i}": layer
        for name, network in networks.items()
        for i, layer in enumerate(layer for layer in network if isinstance(layer, torch.nn.Linear))
    }
    with torch.no_grad():
        for name, layer in layers.items():
            layer.weight.copy_(torch.tensor(given[f"{name}.weight"]))
            layer.bias.copy_(torch.tensor(given[f"{name}.bias"]))
    learn()
    params = {}
    for name, layer in layers.items():
        params[f"{name}.weight"] = layer.weight.tolist()
        params[f"{name}.bias"] = layer.bias.tolist()
    versions = {module.__name__: module.__version__ for module in (sb3, torch)}
    print(json.dumps({"versions": versions, "logAlpha": 0 if log_alpha is None else log_alpha.item(), "params": params}))


if __name__ == "__main__":
    main()
