"""Records returns of 256 episodes of each MuJoCo environment under one stochastic policy into test/fixtures/gymnasium/returns.json.

    python tools/reference/record_returns.py

The policy is the same formula everywhere: a = middle + half * (0.5 Σ_i w_ij tanh(o_i) + 0.6 N(0, 1)), clipped to the action
space, over the first 16 entries of the observation, w_ij = sin(7 i + 13 j + 1) / 4.
"""

import json

import gymnasium
import numpy as np

import fixture
from record_gymnasium import OUT

EPISODES = 256
# limits of episodes, so that the slow ones take seconds
LIMITS = {
    "Ant-v5": 100,
    "HalfCheetah-v5": 100,
    "Hopper-v5": 200,
    "Humanoid-v5": 100,
    "HumanoidStandup-v5": 30,
    "InvertedDoublePendulum-v5": 200,
    "InvertedPendulum-v5": 200,
    "Pusher-v5": 60,
    "Reacher-v5": 50,
    "Swimmer-v5": 100,
    "Walker2d-v5": 200,
}
GAIN, NOISE, ENTRIES = 0.5, 0.6, 16


def act(space, observation, noise):
    seen = np.tanh(observation[:ENTRIES])
    i, j = np.arange(len(seen))[:, None], np.arange(space.shape[0])[None, :]
    weights = np.sin(7 * i + 13 * j + 1) / 4
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    action = (low + high) / 2 + (high - low) / 2 * (GAIN * seen @ weights + NOISE * noise)
    return np.clip(action, low, high).astype(np.float32)


def record(env_id, limit):
    env = gymnasium.make(env_id, disable_env_checker=True, max_episode_steps=limit)
    rng, returns, lengths = np.random.default_rng(0), [], []
    for seed in range(EPISODES):
        observation, _ = env.reset(seed=seed)
        total, steps, done = 0.0, 0, False
        while not done:
            observation, reward, terminated, truncated, _ = env.step(act(env.action_space, observation, rng.standard_normal(env.action_space.shape[0])))
            total, steps, done = total + reward, steps + 1, terminated or truncated
        returns.append(float(f"{total:.7g}"))
        lengths.append(steps)
    print(f"{env_id}: return {np.mean(returns):.4g} ± {np.std(returns):.3g}, length {np.mean(lengths):.1f}")
    return {"max_episode_steps": limit, "returns": returns, "lengths": lengths}


if __name__ == "__main__":
    data = {
        "provenance": fixture.provenance("record_returns.py"),
        "policy": {"gain": GAIN, "noise": NOISE, "entries": ENTRIES},
        "envs": {env_id: record(env_id, limit) for env_id, limit in LIMITS.items()},
    }
    path = OUT / "returns.json"
    path.write_text(json.dumps(data, separators=(",", ":")) + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes")
