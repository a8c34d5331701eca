"""Policies of other learners as corral plays them, and back.

>>> policies.from_sb3(model).save("policy.safetensors")     # corral play policy.safetensors
>>> policy = policies.load("runs/ant/policy.safetensors")   # corral export runs/ant --format safetensors
>>> actions = policy.act(observations)

A policy is what ``corral export`` writes: normalised observations through dense layers to bounded actions, the most likely
ones. Files are safetensors (``pip install safetensors``) or ONNX (``pip install onnx`` to read them).
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from . import _node
from ._given import numbers, path_of
from ._version import __version__
from .errors import CorralError

Array = npt.NDArray[Any]
Layer = tuple[Array, Array]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "none": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}
# what PyTorch calls them
TORCH = {"Tanh": "tanh", "ReLU": "relu", "ELU": "elu", "SiLU": "silu"}
UNBOUNDED = 3e38
WHOLE = "Pass a file of corral export, or of save()."


def _refuse(text: str) -> CorralError:
    return CorralError("bad-policy", text)


@dataclasses.dataclass
class Policy:
    """The most likely actions of a trained policy.

    Attributes:
        env: id of the environment.
        layers: weights ``[outputs, inputs]`` and biases ``[outputs]``, from observations to actions.
        action_space: of one world: a box, or one choice or several.
        activation: between layers: tanh, relu, elu or silu.
        mean, inverse_std, clip: observations are ``clip((observation - mean) * inverse_std, -clip, clip)``.
        squash: actions go through tanh into their bounds, instead of being clipped to them.
        log_std: of the draws in training, if they do not depend on the state.
        algo: what trained it.
    """

    env: str
    layers: Sequence[Layer]
    action_space: gym.Space[Any]
    activation: str = "tanh"
    mean: Array | None = None
    inverse_std: Array | None = None
    clip: float = np.inf
    squash: bool = False
    log_std: Array | None = None
    algo: str = "unknown"

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise _refuse(f"the activation is {self.activation!r}; corral has {', '.join(ACTIVATIONS)}.")
        if not isinstance(self.action_space, (gym.spaces.Box, gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
            raise _refuse(f"the action space is {self.action_space!r}; pass a Box, a Discrete or a MultiDiscrete of gymnasium.")
        self.layers = _layers_of(self.layers)
        below = self.observations
        for at, (weight, bias) in enumerate(self.layers):
            if weight.ndim != 2 or weight.shape[1] != below or bias.shape != weight.shape[:1]:
                raise _refuse(f"layer {at} has shapes {weight.shape} and {bias.shape}; what comes from below has {below} numbers.")
            below = weight.shape[0]
        if below != self._outputs:
            raise _refuse(f"the last layer puts out {below} numbers; actions of {self.env} take {self._outputs}.")
        self.mean = np.zeros(self.observations, np.float32) if self.mean is None else _numbers(self.mean)
        self.inverse_std = np.ones(self.observations, np.float32) if self.inverse_std is None else _numbers(self.inverse_std)
        if not self.mean.shape == self.inverse_std.shape == (self.observations,):
            raise _refuse(f"{self.mean.size} numbers are normalised; the first layer takes {self.observations}.")
        for name, values in self.arrays().items():
            if not np.isfinite(values).all():
                raise _refuse(f"{name} holds numbers that are not finite, such as {values[~np.isfinite(values)][0]}.")

    @property
    def observations(self) -> int:
        """Numbers that it sees."""
        return int(np.shape(self.layers[0][0])[1])

    @property
    def hidden(self) -> list[int]:
        """Widths of the hidden layers."""
        return [weight.shape[0] for weight, _ in self.layers[:-1]]

    @property
    def _alternatives(self) -> list[int]:
        if isinstance(self.action_space, gym.spaces.Discrete):
            return [int(self.action_space.n)]
        assert isinstance(self.action_space, gym.spaces.MultiDiscrete)
        return [int(n) for n in self.action_space.nvec]

    @property
    def _outputs(self) -> int:
        if isinstance(self.action_space, gym.spaces.Box):
            return int(np.prod(self.action_space.shape))
        return sum(self._alternatives)

    def act(self, observations: Any) -> Array:
        """Actions ``[worlds, ...]`` of observations ``[worlds, ...]``, or of one; of groups those of the policy.

        Raises:
            CorralError: ``bad-shape`` for observations that are not as many numbers as it sees.
        """
        given = observations["policy"] if isinstance(observations, dict) else observations
        seen = numbers("bad-shape", "observations", given).astype(np.float32)
        if seen.shape[-1:] != (self.observations,):
            raise CorralError("bad-shape", f"observations have shape {seen.shape}; the policy sees {self.observations} numbers in each world.")
        assert self.mean is not None and self.inverse_std is not None
        x = np.clip((seen - self.mean) * self.inverse_std, -self.clip, self.clip)
        for weight, bias in self.layers[:-1]:
            x = ACTIVATIONS[self.activation](x @ weight.T + bias)
        weight, bias = self.layers[-1]
        x = x @ weight.T + bias
        space = self.action_space
        if isinstance(space, gym.spaces.Box):
            low, high = space.low.ravel(), space.high.ravel()
            bounded = low + (high - low) * (0.5 + 0.5 * np.tanh(x)) if self.squash else np.clip(x, low, high)
            actions: Array = bounded.astype(np.float32).reshape(*x.shape[:-1], *space.shape)
            return actions
        choices = [part.argmax(-1) for part in np.split(x, np.cumsum(self._alternatives)[:-1], axis=-1)]
        if isinstance(space, gym.spaces.Discrete):
            first: Array = choices[0] + int(space.start)
            return first
        return np.stack(choices, axis=-1)

    def arrays(self) -> dict[str, Array]:
        """All numbers under the names that files have."""
        assert self.mean is not None and self.inverse_std is not None
        named: dict[str, Array] = {}
        for at, (weight, bias) in enumerate(self.layers):
            named[f"policy.{at}.weight"], named[f"policy.{at}.bias"] = weight, bias
        named["normalizer.mean"], named["normalizer.inverse_std"] = self.mean, self.inverse_std
        if self.log_std is not None:
            named["log_std"] = _numbers(self.log_std)
        return named

    def facts(self) -> dict[str, str]:
        """What else there is to know, as texts."""
        found = {
            "producer": f"corral-sim {__version__}",
            "env": self.env,
            "algo": self.algo,
            "observations": str(self.observations),
            "layers": ",".join(str(bias.size) for _, bias in self.layers),
            "activation": self.activation if len(self.layers) > 1 else "none",
            "clip_observations": _text(self.clip),
        }
        space = self.action_space
        if isinstance(space, gym.spaces.Box):
            bounds = {name: ",".join(map(_text, getattr(space, name).ravel())) for name in ("low", "high")}
            return {**found, "head": "gaussian", "squash": str(self.squash).lower(), **bounds}
        start = int(space.start) if isinstance(space, gym.spaces.Discrete) else 0
        alternatives = ",".join(map(str, self._alternatives))
        return {**found, "head": "categorical", "alternatives": alternatives, "start": str(start)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that ``corral play`` and ``corral export`` take (.safetensors), or any ONNX runtime (.onnx).

        Raises:
            CorralError: ``bad-policy`` for another ending or a place without a folder, ``no-module`` without safetensors;
                what ``corral export`` refuses, ``export-not-written`` where the disk is full or cannot be written to.
        """
        path = path_of("bad-policy", "the file of a policy", path)
        _needed("safetensors.numpy")
        ending = Path(path).suffix.lower()
        if not Path(path).parent.is_dir():
            raise _refuse(f"{os.fspath(path)} cannot be written: there is no folder {Path(path).parent}. Make it first.")
        if ending == ".safetensors":
            self._write_safetensors(os.fspath(path))
        elif ending == ".onnx":
            with tempfile.TemporaryDirectory(prefix="corral-") as folder:
                file = os.path.join(folder, "policy.safetensors")
                self._write_safetensors(file)
                _corral("export", file, "--format", "onnx", "--to", os.path.abspath(path))
        else:
            raise _refuse(f"{os.fspath(path)} ends in {ending!r}; pass a path that ends in .safetensors or .onnx.")

    def _write_safetensors(self, path: str) -> None:
        try:
            _needed("safetensors.numpy").save_file(self.arrays(), path, metadata=self.facts())
        except (OSError, _needed("safetensors").SafetensorError) as error:
            text = f"{path} cannot be written ({error}). Free the disk, or write to another place."
            raise CorralError("export-not-written", text) from error

    def to_torch(self) -> Any:
        """A ``torch.nn.Sequential`` of the layers alone: observations are normalised before it, actions bounded behind it."""
        import torch

        kinds = {ours: getattr(torch.nn, theirs) for theirs, ours in TORCH.items()}
        modules: list[Any] = []
        for weight, _ in self.layers:
            if modules and self.activation != "none":
                modules.append(kinds[self.activation]())
            modules.append(torch.nn.Linear(weight.shape[1], weight.shape[0]))
        network = torch.nn.Sequential(*modules)
        into_torch(self, network)
        return network


def _numbers(values: Any) -> Array:
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.ascontiguousarray(values, dtype=np.float32)


def _layers_of(layers: Any) -> list[Layer]:
    try:
        found = [(_numbers(weight), _numbers(bias)) for weight, bias in layers]
    except (TypeError, ValueError) as error:
        raise _refuse(f"layers are no pairs of numbers ({error}); pass weights [outputs, inputs] and biases [outputs] of each.") from error
    if not found or found[0][0].ndim != 2:
        shapes = [weight.shape for weight, _ in found]
        raise _refuse(f"weights have shapes {shapes}; pass one layer or more, each of weights [outputs, inputs] and biases [outputs].")
    return found


def _text(x: float) -> str:
    return str(float(x)) if np.isfinite(x) and abs(x) < UNBOUNDED else "Infinity" if x > 0 else "-Infinity"


def _number(text: str) -> float:
    return float(text.replace("Infinity", "inf"))


def _corral(*arguments: str) -> None:
    command = [_node.find_node(), str(_node.find_corral() / "bin" / "corral.js"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        refused = re.fullmatch(r"\[([a-z-]+)\] (.*)", last)
        code, said = refused.groups() if refused else ("bad-policy", last)
        raise CorralError(code, f"corral {arguments[0]}: {said}")


def _needed(module: str) -> Any:
    """A module that corral brings not along. Throws ``no-module``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise CorralError("no-module", f"files of policies take {package}, which is not installed. Run: pip install {package}") from error


def _of_safetensors(module: Any, path: str) -> tuple[dict[str, str], dict[str, Array]]:
    with module.safe_open(path, framework="numpy") as file:
        return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}


def _of_onnx(module: Any, path: str) -> tuple[dict[str, str], dict[str, Array]]:
    model = module.load(path)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    return facts, {array.name: module.numpy_helper.to_array(array) for array in model.graph.initializer}


def load(path: str | os.PathLike[str]) -> Policy:
    """Reads a policy that corral or this module wrote: .safetensors or .onnx.

    Raises:
        CorralError: ``bad-policy`` if it is none, or has a memory; ``no-module`` without what reads it.
    """
    path = path_of("bad-policy", "the file of a policy", path)
    ending = Path(path).suffix.lower()
    if ending not in (".safetensors", ".onnx"):
        raise _refuse(f"{os.fspath(path)} ends in {ending!r}; pass a file that ends in .safetensors or .onnx.")
    read = _needed("safetensors" if ending == ".safetensors" else "onnx")
    try:
        facts, arrays = (_of_safetensors if ending == ".safetensors" else _of_onnx)(read, os.fspath(path))
    # each library has errors of its own for what it cannot read
    except Exception as error:
        raise _refuse(f"{os.fspath(path)} cannot be read ({error}). {WHOLE}") from error
    try:
        return _policy_of(arrays, facts, path)
    except KeyError as error:
        raise _refuse(f"{path} is no whole policy: it has no {error.args[0]}. {WHOLE}") from error
    # what texts and spaces are made of
    except ValueError as error:
        raise _refuse(f"{path} is no whole policy: {error}. {WHOLE}") from error


def _policy_of(arrays: dict[str, Array], facts: dict[str, str], path: str) -> Policy:
    if "env" not in facts or "policy.0.weight" not in arrays:
        raise _refuse(f"{path} is no policy of corral. Write one by corral export, or by save().")
    if "policy.gru.ih.weight" in arrays or "policy.lstm.ih.weight" in arrays:
        raise _refuse(f"{path} has a memory, which this class has not. Run it by corral play, or as ONNX.")
    if any(name.endswith(".norm.weight") for name in arrays):
        raise _refuse(f"{path} has layer norm, which this class has not. Run it by corral play, or as ONNX.")
    layers: list[Layer] = []
    while f"policy.{len(layers)}.weight" in arrays:
        layers.append((arrays[f"policy.{len(layers)}.weight"], arrays[f"policy.{len(layers)}.bias"]))
    if facts["head"] not in ("gaussian", "categorical"):
        raise ValueError(f"its head is {facts['head']!r}, neither gaussian nor categorical")
    if facts["head"] == "gaussian":
        low, high = (np.array([_number(x) for x in facts[name].split(",")], np.float32) for name in ("low", "high"))
        space: gym.Space[Any] = gym.spaces.Box(low, high, dtype=np.float32)
    else:
        counts = [int(n) for n in facts["alternatives"].split(",")]
        one = len(counts) == 1
        space = gym.spaces.Discrete(counts[0], start=int(facts["start"])) if one else gym.spaces.MultiDiscrete(counts)
    return Policy(
        facts["env"],
        layers,
        space,
        activation=facts["activation"],
        mean=arrays["normalizer.mean"],
        inverse_std=arrays["normalizer.inverse_std"],
        clip=_number(facts["clip_observations"]),
        squash=facts.get("squash") == "true",
        log_std=arrays.get("log_std", arrays.get("policy.log_std")),
        algo=facts.get("algo", "unknown"),
    )


def _walk(module: Any) -> tuple[list[Any], str]:
    """The dense layers of a network in their order, and what lies between them."""
    if not callable(getattr(module, "modules", None)):
        raise _refuse(f"the network is {module!r}; pass a torch.nn.Module.")
    linears: list[Any] = []
    between: set[str] = set()
    for each in module.modules():
        name = type(each).__name__
        if name == "Linear":
            linears.append(each)
        elif name in TORCH:
            if name == "ELU" and each.alpha != 1:
                raise _refuse(f"an ELU has alpha {each.alpha}; corral's has 1.")
            between.add(TORCH[name])
        elif not list(each.children()) and name not in ("Identity", "Flatten", "Sequential"):
            raise _refuse(f"the network has a layer {name}; corral's policies are of Linear, {', '.join(TORCH)}.")
    if not linears or len(between) > 1:
        raise _refuse(f"the network has {len(linears)} dense layers and {sorted(between) or 'nothing'} between them; corral's have one kind.")
    return linears, next(iter(between), "none")


def from_torch(network: Any, env: str, action_space: gym.Space[Any], **facts: Any) -> Policy:
    """The policy of a network of PyTorch from observations to means or logits, such as CleanRL's ``agent.actor_mean``.

    Args:
        network: ``Linear`` layers with Tanh, ReLU, ELU or SiLU between them.
        env: id of the environment.
        action_space: of one world (``envs.single_action_space``).
        facts: ``mean``, ``inverse_std``, ``clip``, ``squash``, ``log_std``, ``algo`` of ``Policy``.

    Raises:
        CorralError: ``bad-policy`` if the network has other layers, or does not fit.
    """
    linears, activation = _walk(network)
    layers = [(_numbers(each.weight), np.zeros(each.out_features) if each.bias is None else _numbers(each.bias)) for each in linears]
    return Policy(env, layers, action_space, activation=activation, **facts)


def into_torch(policy: Policy, network: Any) -> None:
    """Writes a policy's weights into a network of the same layers. Throws ``bad-policy`` if they are others."""
    _assert_policy(policy)
    linears, activation = _walk(network)
    import torch

    ours = [tuple(weight.shape) for weight, _ in policy.layers]
    theirs = [tuple(each.weight.shape) for each in linears]
    if ours != theirs or (len(ours) > 1 and activation != policy.activation):
        raise _refuse(f"the policy has layers {ours} with {policy.activation}, the network {theirs} with {activation}. Make it alike.")
    with torch.no_grad():
        for each, (weight, bias) in zip(linears, policy.layers):
            each.weight.copy_(torch.from_numpy(weight))
            if each.bias is not None:
                each.bias.copy_(torch.from_numpy(bias))


def _assert_policy(policy: Any) -> None:
    if not isinstance(policy, Policy):
        raise _refuse(f"the policy is {policy!r}; pass a Policy, of load() or of a from_ function.")


def _sb3_parts(model: Any) -> tuple[Any, Any, bool]:
    """The layers of a model of Stable-Baselines3 from observations to actions, its normaliser, and whether it squashes."""
    policy = getattr(model, "policy", None)
    if not callable(getattr(model, "get_vec_normalize_env", None)) or not (hasattr(policy, "actor") or hasattr(policy, "mlp_extractor")):
        what = f"a {type(model).__name__}" if policy is not None else repr(model)
        raise _refuse(f"the model is {what}; pass a PPO, an A2C or a SAC of Stable-Baselines3.")
    import torch

    normalizer = model.get_vec_normalize_env()
    if hasattr(model.policy, "actor"):
        actor = model.policy.actor
        head = actor.mu
        chain = [actor.latent_pi, head] if hasattr(actor, "latent_pi") else [head]
        return torch.nn.Sequential(*chain), normalizer, True
    extractor = model.policy.mlp_extractor.policy_net
    return torch.nn.Sequential(extractor, model.policy.action_net), normalizer, False


def _sb3_id(model: Any) -> str:
    env = model.get_env()
    while hasattr(env, "venv"):
        env = env.venv
    found = getattr(getattr(env, "envs", None), "id", None)
    if found is None:
        raise _refuse("the model is not of an environment of corral. Name it: from_sb3(model, env=...).")
    return str(found)


def from_sb3(model: Any, env: str | None = None) -> Policy:
    """The policy of a model of Stable-Baselines3 (PPO, A2C, SAC) with its ``VecNormalize``, if it has one."""
    network, normalizer, squash = _sb3_parts(model)
    facts: dict[str, Any] = {"algo": f"sb3-{type(model).__name__.lower()}", "squash": squash}
    if normalizer is not None and normalizer.norm_obs:
        rms = normalizer.obs_rms
        facts.update(mean=rms.mean, inverse_std=1 / np.sqrt(rms.var + normalizer.epsilon), clip=normalizer.clip_obs)
    if hasattr(model.policy, "log_std"):
        facts["log_std"] = model.policy.log_std
    return from_torch(network, env or _sb3_id(model), model.action_space, **facts)


def into_sb3(policy: Policy, model: Any) -> None:
    """Writes a policy into a model of Stable-Baselines3 of the same layers, and its normaliser into the ``VecNormalize``."""
    _assert_policy(policy)
    network, normalizer, squash = _sb3_parts(model)
    if squash != policy.squash and isinstance(policy.action_space, gym.spaces.Box):
        raise _refuse(f"the policy {'squashes' if policy.squash else 'clips'} its actions; {type(model).__name__} does not. Take another algorithm.")
    into_torch(policy, network)
    assert policy.mean is not None and policy.inverse_std is not None
    plain = not policy.mean.any() and (policy.inverse_std == 1).all() and policy.clip == np.inf
    if normalizer is not None and normalizer.norm_obs:
        normalizer.obs_rms.mean = policy.mean.astype(np.float64)
        normalizer.obs_rms.var = 1 / policy.inverse_std.astype(np.float64) ** 2 - normalizer.epsilon
        normalizer.clip_obs = policy.clip
    elif not plain:
        raise _refuse("the policy normalises observations. Wrap the model's environment in VecNormalize.")
    if policy.log_std is not None and hasattr(model.policy, "log_std"):
        model.policy.log_std.data.copy_(_like(model.policy.log_std, policy.log_std))


def _like(parameter: Any, values: Array) -> Any:
    import torch

    return torch.from_numpy(_numbers(values)).reshape(parameter.shape)


def _rsl_rl_actor(runner: Any) -> Any:
    find = getattr(getattr(runner, "alg", None), "get_policy", None)
    if not callable(find):
        raise _refuse(f"the runner is {runner!r}; pass an OnPolicyRunner of rsl_rl 5 or newer.")
    actor = find()
    if not hasattr(actor, "mlp"):
        raise _refuse(f"the runner has a policy {type(actor).__name__} without dense layers (mlp); train an MLPModel.")
    return actor


def from_rsl_rl(runner: Any, env: str, action_space: gym.Space[Any]) -> Policy:
    """The policy of a runner of rsl_rl with its normaliser. Actions beyond their bounds are clipped, as the environment does."""
    actor = _rsl_rl_actor(runner)
    facts: dict[str, Any] = {"algo": "rsl_rl-ppo"}
    if actor.obs_normalization:
        normalizer = actor.obs_normalizer
        facts.update(mean=_numbers(normalizer.mean), inverse_std=1 / (_numbers(normalizer.std) + normalizer.eps))
    # a spread that is the same in every state, as corral's PPO has it
    spread: Any = getattr(actor, "distribution", None)
    if hasattr(spread, "std_param"):
        facts["log_std"] = np.log(np.maximum(_numbers(spread.std_param), 1e-6))
    elif hasattr(spread, "log_std_param"):
        facts["log_std"] = spread.log_std_param
    return from_torch(actor.mlp, env, action_space, **facts)


def into_rsl_rl(policy: Policy, runner: Any) -> None:
    """Writes a policy into a runner of rsl_rl of the same layers. What clips or squashes is refused: rsl_rl does neither."""
    _assert_policy(policy)
    actor = _rsl_rl_actor(runner)
    if policy.squash or np.isfinite(policy.clip):
        raise _refuse("the policy squashes actions or clips observations, which rsl_rl's do not. Train it without.")
    into_torch(policy, actor.mlp)
    if actor.obs_normalization:
        assert policy.mean is not None and policy.inverse_std is not None
        normalizer = actor.obs_normalizer
        std = 1 / policy.inverse_std - normalizer.eps
        if (std < 0).any():
            raise _refuse(f"the policy divides by less than rsl_rl's eps {normalizer.eps}.")
        normalizer._mean.copy_(_like(normalizer._mean, policy.mean))
        normalizer._std.copy_(_like(normalizer._std, std))
        normalizer._var.copy_(_like(normalizer._var, std**2))
