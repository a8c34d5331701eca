"""Runs an exported policy in Python's onnxruntime beside plain numpy on the safetensors of the same policy.

python check_export.py policy.onnx policy.safetensors [--rows 1000] [--steps 8]

Both must be exports of one policy. Prints the largest difference of means or logits, and how many actions differ. Of a
policy with a memory also that of its state, over so many steps from zeros, each side with the state that it put out itself.
"""

import argparse

import numpy as np
import onnx
import onnxruntime
from safetensors import safe_open


def numbers(text: str) -> np.ndarray:
    return np.array([float(x) for x in text.replace("Infinity", "inf").split(",")])


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "silu": lambda x: x * sigmoid(x),
}


def recall(kind: str, below: np.ndarray, state: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a cell puts out and its next state, of what its input and its state make, in PyTorch's order of gates."""
    if kind == "gru":
        (a, b, c), (d, e, f) = np.split(below, 3, axis=1), np.split(state, 3, axis=1)
        candidate, update = np.tanh(c + sigmoid(a + d) * f), sigmoid(b + e)
        out = candidate + update * (hidden - candidate)
        return out, out
    enter, forget, candidate, leave = np.split(below + state, 4, axis=1)
    memory = sigmoid(forget) * np.split(hidden, 2, axis=1)[1] + sigmoid(enter) * np.tanh(candidate)
    out = sigmoid(leave) * np.tanh(memory)
    return out, np.concatenate([out, memory], axis=1)


def plain(tensors: dict, facts: dict, observations: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, ...]:
    """Outputs of the last layer, actions, and the state after them, in float64."""

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        return x @ tensors[f"{name}.weight"].astype(np.float64).T + tensors[f"{name}.bias"]

    clip = float(facts["clip_observations"].replace("Infinity", "inf"))
    x = (observations.astype(np.float64) - tensors["normalizer.mean"]) * tensors["normalizer.inverse_std"]
    x = np.clip(x, -clip, clip)
    depth = len(facts["layers"].split(","))
    for i in range(depth):
        if i == depth - 1 and "recurrent" in facts:
            # the cell stands before the last layer; of an LSTM the first half of the state is what it put out
            cell = f"policy.{facts['recurrent']}"
            state = dense(f"{cell}.hh", hidden[:, : int(facts["recurrent_size"])])
            x, hidden = recall(facts["recurrent"], dense(f"{cell}.ih", x), state, hidden)
        x = dense(f"policy.{i}", x)
        if f"policy.{i}.norm.weight" in tensors:
            centred = x - x.mean(axis=1, keepdims=True)
            x = centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5)
            x = x * tensors[f"policy.{i}.norm.weight"] + tensors[f"policy.{i}.norm.bias"]
        if i < depth - 1:
            x = ACTIVATIONS[facts["activation"]](x)
    if facts["head"] == "gaussian":
        low, high = numbers(facts["low"]), numbers(facts["high"])
        actions = low + (high - low) * (1 + np.tanh(x)) / 2 if facts["squash"] == "true" else np.clip(x, low, high)
        return x, actions, hidden
    sizes = [int(n) for n in facts["alternatives"].split(",")]
    parts = np.split(x, np.cumsum(sizes)[:-1], axis=1)
    return x, np.stack([part.argmax(axis=1) for part in parts], axis=1) + int(facts["start"]), hidden


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative, or absolute below 1."""
    return float(np.max(np.abs(found - wanted) / np.maximum(1, np.abs(wanted))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx")
    parser.add_argument("safetensors")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=8, help="of a policy with a memory")
    args = parser.parse_args()

    onnx.checker.check_model(args.onnx, full_check=True)
    with safe_open(args.safetensors, framework="numpy") as file:
        facts = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    scale = 2 / tensors["normalizer.inverse_std"]
    random = np.random.default_rng(0)

    session = onnxruntime.InferenceSession(args.onnx, providers=["CPUExecutionProvider"])
    is_gaussian, remembers = facts["head"] == "gaussian", "recurrent" in facts
    raw_name = "mean" if is_gaussian else "logits"
    size = int(facts.get("recurrent_size", 0)) * (2 if facts.get("recurrent") == "lstm" else 1)
    hidden, wanted_hidden = np.zeros((args.rows, size), np.float32), np.zeros((args.rows, size))
    error = apart = state_error = 0.0
    for _ in range(args.steps if remembers else 1):
        drawn = random.normal(size=(args.rows, int(facts["observations"])))
        observations = (tensors["normalizer.mean"] + scale * drawn).astype(np.float32)
        names = ["action", raw_name] + (["next_hidden"] if remembers else [])
        feeds = {"observation": observations, **({"hidden": hidden} if remembers else {})}
        actions, raw, *states = session.run(names, feeds)
        wanted_raw, wanted, wanted_hidden = plain(tensors, facts, observations, wanted_hidden)
        actions = actions.reshape(wanted.shape)
        error = np.maximum(error, difference(raw, wanted_raw))
        apart = np.maximum(apart, np.max(np.abs(actions - wanted)) if is_gaussian else np.mean(actions != wanted))
        if remembers:
            hidden = states[0]
            state_error = np.maximum(state_error, difference(hidden, wanted_hidden))
    told = f"; states by {state_error:.1e} over {args.steps} steps" if remembers else ""
    print(f"{facts['env']}: {raw_name} differ by {error:.1e} (relative, or absolute below 1); actions by {apart:.1e}{told}")
    if not np.maximum(error, state_error) <= 2e-5 or not apart <= (1e-4 if is_gaussian else 1e-3):
        raise SystemExit("too far apart")


if __name__ == "__main__":
    main()
