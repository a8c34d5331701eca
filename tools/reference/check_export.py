"""Runs an exported policy in Python's onnxruntime beside plain numpy on the safetensors of the same policy.

python check_export.py policy.onnx policy.safetensors [--rows 1000]

Both must be exports of one policy. Prints the largest difference of means or logits, and how many actions differ.
"""

import argparse

import numpy as np
import onnx
import onnxruntime
from safetensors import safe_open


def numbers(text: str) -> np.ndarray:
    return np.array([float(x) for x in text.replace("Infinity", "inf").split(",")])


def plain(tensors: dict, facts: dict, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of the last layer, and actions, in float64."""
    clip = float(facts["clip_observations"].replace("Infinity", "inf"))
    x = (observations.astype(np.float64) - tensors["normalizer.mean"]) * tensors["normalizer.inverse_std"]
    x = np.clip(x, -clip, clip)
    depth = len(facts["layers"].split(","))
    for i in range(depth):
        x = x @ tensors[f"policy.{i}.weight"].astype(np.float64).T + tensors[f"policy.{i}.bias"]
        if i < depth - 1:
            x = np.tanh(x) if facts["activation"] == "tanh" else np.maximum(x, 0)
    if facts["head"] == "gaussian":
        low, high = numbers(facts["low"]), numbers(facts["high"])
        actions = low + (high - low) * (1 + np.tanh(x)) / 2 if facts["squash"] == "true" else np.clip(x, low, high)
        return x, actions
    sizes = [int(n) for n in facts["alternatives"].split(",")]
    parts = np.split(x, np.cumsum(sizes)[:-1], axis=1)
    return x, np.stack([part.argmax(axis=1) for part in parts], axis=1) + int(facts["start"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx")
    parser.add_argument("safetensors")
    parser.add_argument("--rows", type=int, default=1000)
    args = parser.parse_args()

    onnx.checker.check_model(args.onnx, full_check=True)
    with safe_open(args.safetensors, framework="numpy") as file:
        facts = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    scale = 2 / tensors["normalizer.inverse_std"]
    drawn = np.random.default_rng(0).normal(size=(args.rows, int(facts["observations"])))
    observations = (tensors["normalizer.mean"] + scale * drawn).astype(np.float32)

    session = onnxruntime.InferenceSession(args.onnx, providers=["CPUExecutionProvider"])
    raw_name = "mean" if facts["head"] == "gaussian" else "logits"
    actions, raw = session.run(["action", raw_name], {"observation": observations})
    wanted_raw, wanted = plain(tensors, facts, observations)
    actions = actions.reshape(wanted.shape)
    error = np.max(np.abs(raw - wanted_raw) / np.maximum(1, np.abs(wanted_raw)))
    apart = np.max(np.abs(actions - wanted)) if facts["head"] == "gaussian" else np.mean(actions != wanted)
    print(f"{facts['env']}: {raw_name} differ by {error:.1e} (relative, or absolute below 1); actions by {apart:.1e}")
    if error > 2e-5 or apart > (1e-4 if facts["head"] == "gaussian" else 1e-3):
        raise SystemExit("too far apart")


if __name__ == "__main__":
    main()
