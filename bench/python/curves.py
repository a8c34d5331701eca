"""Learning curves of the examples, each in a process of its own with so many seconds of processor time.

python bench/python/curves.py [--examples sb3_ppo.py,...] [--cleanrl PATH/TO/ppo_continuous_action.py] [--seconds 150] [--out FILE]

Examples whose learner is not installed are left out; curves that are in FILE already are kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import machine

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
ENV = "InvertedPendulum-v5"
# what each is asked for: less than its processor time allows on two cores
ARGUMENTS = {
    "sb3_ppo.py": [ENV, "150000"],
    "cleanrl_ppo.py": ["--env-id", ENV, "--num-envs", "16", "--num-steps", "128", "--total-timesteps", "80000", "--no-cuda"],
    "rsl_rl_ppo.py": [ENV, "40"],
    "torchrl_ppo.py": [ENV, "150000"],
    "rllib_ppo.py": [ENV, "1", "30"],
    "ray_ppo.py": [ENV, "150000"],
}
NEEDS = {
    "sb3_ppo.py": "stable_baselines3",
    "cleanrl_ppo.py": "tyro",
    "rsl_rl_ppo.py": "rsl_rl",
    "torchrl_ppo.py": "torchrl",
    "rllib_ppo.py": "ray",
    "ray_ppo.py": "ray",
}
LINE = re.compile(r"(\d+) steps .*mean return +(-?[\d.]+)")
# CleanRL says each episode
EPISODE = re.compile(r"global_step=(\d+), episodic_return=\[?(-?[\d.]+)")
LAST = 100
POINTS = 40


def curve_of(text: str) -> list[list[float]]:
    """Steps and mean returns that an example has printed."""
    points = [[int(steps), float(mean)] for steps, mean in LINE.findall(text)]
    if not points:
        episodes = [(int(steps), float(value)) for steps, value in EPISODE.findall(text)]
        for at in range(1, len(episodes) + 1):
            last = [value for _, value in episodes[max(0, at - LAST) : at]]
            points.append([episodes[at - 1][0], round(sum(last) / len(last), 1)])
    stride = max(1, -(-len(points) // POINTS))
    return points[::-1][::stride][::-1]


def run(example: str, first: list[str], seconds: int) -> list[list[float]]:
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-u", str(EXAMPLES / example), *first, *ARGUMENTS[example]]
        # Ray's workers are nicer than other programs
        own = {"CORRAL_DEVICE": "wasm", "OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}
        environment = {"CORRAL_PATH": str(ROOT), **os.environ, **own}
        found = subprocess.run(command, cwd=folder, env=environment, preexec_fn=limit, text=True, capture_output=True)
    curve = curve_of(found.stdout)
    if not curve:
        raise SystemExit(f"{example} ended with {found.returncode} and said no return: {found.stderr[-2000:]}")
    return curve


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", default=",".join(ARGUMENTS))
    parser.add_argument("--cleanrl")
    parser.add_argument("--seconds", type=int, default=150)
    parser.add_argument("--out")
    args = parser.parse_args()
    out = Path(args.out) if args.out else None
    curves = json.loads(out.read_text())["curves"] if out is not None and out.exists() else {}
    for example in args.examples.split(","):
        if example == "cleanrl_ppo.py" and args.cleanrl is None:
            print("cleanrl_ppo.py is left out: pass --cleanrl")
            continue
        if importlib.util.find_spec(NEEDS[example]) is None:
            print(f"{example} is left out: {NEEDS[example]} is not installed")
            continue
        first = [str(Path(args.cleanrl).resolve())] if example == "cleanrl_ppo.py" else []
        curves[example] = run(example, first, args.seconds)
        print(example, curves[example][0], curves[example][-1], flush=True)
        if out is not None:
            columns = ["env steps", "mean return of the last episodes"]
            out.write_text(json.dumps({"machine": machine.facts(), "env": ENV, "columns": columns, "curves": curves}) + "\n")


if __name__ == "__main__":
    main()
