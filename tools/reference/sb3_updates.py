"""What Stable-Baselines3's SAC makes of some batches: the oracle of test/oracle/sac-updates.test.ts.

Reads what test/support/sac-updates.ts makes from stdin: parameters by name, one batch, the noise of every update.
Prints the parameters and the logarithm of the temperature after them. Its own `train` runs; only the batch and the noise
are given to it.
"""

import json
import sys

import gymnasium
import numpy as np
import stable_baselines3 as sb3
import torch
from gymnasium.spaces import Box
from stable_baselines3.common.logger import configure
from stable_baselines3.common.type_aliases import ReplayBufferSamples


class Spaces(gymnasium.Env):
    """An environment that is never stepped."""

    def __init__(self, observations, actions):
        self.observation_space = Box(-np.inf, np.inf, (observations,), np.float32)
        self.action_space = Box(-1.0, 1.0, (actions,), np.float32)


class Noise:
    """The noise of one policy evaluation after another."""

    def __init__(self, draws):
        self.draws = iter(draws)

    def rsample(self, distribution):
        return distribution.mean + distribution.stddev * torch.tensor(next(self.draws), dtype=torch.float32)


def layers_of(model):
    """Corral's names of the layers; critics take actions first there, and observations first here."""
    actor = {
        **{f"policy.{i}": model.actor.latent_pi[2 * i] for i in range(len(model.actor.latent_pi) // 2)},
        "mean": model.actor.mu,
        "log_std": model.actor.log_std,
    }
    critics = {}
    for prefix, network in (("q", model.critic), ("target", model.critic_target)):
        for j, layers in enumerate(network.q_networks):
            linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
            critics.update({f"{prefix}{j + 1}.{i}": layer for i, layer in enumerate(linear)})
    return actor, critics


def turned(name, weight, count):
    """A first layer of a critic with its inputs in the other order, `count` of them first until now."""
    return np.roll(weight, -count, axis=1) if name.endswith(".0") else weight


def main():
    setup = json.load(sys.stdin)
    config, batch = setup["config"], {name: torch.tensor(rows) for name, rows in setup["batch"].items()}
    observations, actions = batch["obs"].shape[1], batch["action"].shape[1]
    model = sb3.SAC(
        "MlpPolicy",
        Spaces(observations, actions),
        device="cpu",
        learning_rate=config["learningRate"],
        gamma=config["gamma"],
        tau=config["tau"],
        policy_kwargs={"net_arch": config["hidden"]},
    )
    model.set_logger(configure(None, []))
    actor, critics = layers_of(model)
    given = setup["params"]
    with torch.no_grad():
        for name, layer in {**actor, **critics}.items():
            weight = np.array(given[f"{name}.weight"], np.float32)
            layer.weight.copy_(torch.tensor(turned(name, weight, actions) if name in critics else weight))
            layer.bias.copy_(torch.tensor(np.array(given[f"{name}.bias"], np.float32)))
        model.log_ent_coef.fill_(setup["logAlpha"])
    samples = ReplayBufferSamples(batch["obs"], batch["action"], batch["next"], batch["done"], batch["reward"])
    model.replay_buffer.sample = lambda *_, **__: samples
    noise = Noise(draw for update in setup["noise"] for draw in (update["new"], update["next"]))
    torch.distributions.Normal.rsample = lambda self, *_: noise.rsample(self)
    model.train(gradient_steps=len(setup["noise"]), batch_size=len(batch["obs"]))

    params = {}
    for name, layer in {**actor, **critics}.items():
        weight = layer.weight.detach().numpy()
        params[f"{name}.weight"] = (turned(name, weight, observations) if name in critics else weight).tolist()
        params[f"{name}.bias"] = layer.bias.detach().numpy().tolist()
    versions = {module.__name__: module.__version__ for module in (sb3, torch)}
    print(json.dumps({"versions": versions, "logAlpha": model.log_ent_coef.item(), "params": params}))


if __name__ == "__main__":
    main()
