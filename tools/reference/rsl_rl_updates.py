"""What rsl_rl's PPO makes of some minibatches, by its own `update`: an oracle of test/oracle/learner-updates.test.ts.

Reads what test/support/learner-updates.ts makes from stdin: parameters by name and one minibatch, whose advantages are scaled
already. Prints the parameters after the updates.
"""

import json
import sys
from importlib.metadata import version
from types import SimpleNamespace

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict


def layers_of(actor, critic):
    networks = {"policy": actor.mlp, "value": critic.mlp}
    return {
        f"{name}.{i}": layer
        for name, network in networks.items()
        for i, layer in enumerate(layer for layer in network if isinstance(layer, torch.nn.Linear))
    }


def main():
    setup = json.load(sys.stdin)
    config, given = setup["config"], setup["params"]
    rows = {name: torch.tensor(values, dtype=torch.float32) for name, values in setup["batch"].items()}
    seen = TensorDict({"policy": rows["obs"]}, batch_size=[len(rows["obs"])])
    groups = {"actor": ["policy"], "critic": ["policy"]}
    network = {"hidden_dims": config["hidden"], "activation": config["activation"], "obs_normalization": False}
    gaussian = {"class_name": "GaussianDistribution", "std_type": "log"}
    actor = MLPModel(seen, groups, "actor", rows["action"].shape[1], distribution_cfg=gaussian, **network)
    critic = MLPModel(seen, groups, "critic", 1, **network)
    layers = layers_of(actor, critic)
    log_std = actor.distribution.log_std_param
    with torch.no_grad():
        for name, layer in layers.items():
            layer.weight.copy_(torch.tensor(given[f"{name}.weight"]))
            layer.bias.copy_(torch.tensor(given[f"{name}.bias"]))
        log_std.copy_(torch.tensor(given["log_std"]))
    column = {name: rows[name][:, None] for name in ("value", "advantage", "target", "logProb")}
    batch = RolloutStorage.Batch(
        observations=seen,
        actions=rows["action"],
        values=column["value"],
        advantages=column["advantage"],
        returns=column["target"],
        old_actions_log_prob=column["logProb"],
    )
    storage = SimpleNamespace(
        mini_batch_generator=lambda parts, epochs: (batch for _ in range(parts * epochs)),
        observations=seen[None],
        clear=lambda: None,
    )
    ppo = PPO(
        actor,
        critic,
        storage,
        num_learning_epochs=setup["updates"],
        num_mini_batches=1,
        clip_param=config["clip"],
        # corral halves squares
        value_loss_coef=config["valueCoef"] / 2,
        entropy_coef=config["entropyCoef"],
        learning_rate=config["learningRate"],
        max_grad_norm=config["maxGradNorm"],
        schedule="fixed",
    )
    ppo.update()
    params = {"log_std": log_std.tolist()}
    for name, layer in layers.items():
        params[f"{name}.weight"] = layer.weight.tolist()
        params[f"{name}.bias"] = layer.bias.tolist()
    versions = {name: version(name) for name in ("rsl-rl-lib", "torch")}
    print(json.dumps({"versions": versions, "logAlpha": 0, "params": params}))


if __name__ == "__main__":
    main()
