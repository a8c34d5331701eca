"""Runs the cases of Gymnasium's own tests of vector environments on autoreset, seeds, masks and infos, and writes down what
comes back, so that corral's answer can be held beside it.

    python tools/reference/record_vector_cases.py

Writes test/fixtures/gymnasium/vector_cases.json. Each case has the name of the test that it is of (tests/vector of Gymnasium);
`calls` as in autoreset.json, or `outcomes`: what is asked, and whether it holds or is refused.
"""

import json
import pathlib

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import fixture
from record_autoreset import Script

OUT = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "gymnasium" / "vector_cases.json"


class Counter(gymnasium.Env):
    """Counts its steps and ends at `most`; the reward is the action."""

    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(5)

    def __init__(self, most):
        self.most, self.count = most, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return 0, {}

    def step(self, action):
        self.count += 1
        return self.count, float(action), self.count == self.most, False, {}


class Echo(gymnasium.Env):
    """Observes its action, which ends the episode from 3 on; a reset and a step have infos of their own."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {"reset": 1}

    def step(self, action):
        return int(action) if action < 3 else 0, 0.0, bool(action >= 3), False, {"action": int(action)}


class Infos(gymnasium.Env):
    """Ends with each step; other infos of a reset than of a step."""

    observation_space = gymnasium.spaces.Box(0, 1)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, a, c):
        self.a, self.c = a, c

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {"a": self.a}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, True, False, {"c": self.c}


def counters(mode):
    return SyncVectorEnv([lambda most=most: Counter(most) for most in (2, 3, 3)], autoreset_mode=mode)


def autoreset_case(mode):
    script = Script(counters(mode))
    script.reset()
    for _ in range(4):
        done = script.step([1, 2, 3])
        if mode == AutoresetMode.DISABLED and done.any():
            script.reset(mask=done.tolist())
    return script.calls


def echo_case(mode):
    script = Script(SyncVectorEnv([Echo], autoreset_mode=mode))
    script.reset()
    for action in (1, 2, 3, 1):
        script.step([action])
    return script.calls


def infos_case(mode):
    script = Script(SyncVectorEnv([lambda: Infos(1, 3), lambda: Infos(2, 4)], autoreset_mode=mode))
    script.reset()
    for _ in range(3):
        script.step([0, 1])
    return script.calls


def cartpoles(n=3, mode=AutoresetMode.DISABLED, kind=SyncVectorEnv):
    return kind([lambda: gymnasium.make("CartPole-v1") for _ in range(n)], autoreset_mode=mode)


def outcome(call):
    """True or false as the call says, or that it is refused."""
    try:
        result = call()
    except Exception:
        return "refused"
    return bool(result) if isinstance(result, (bool, np.bool_)) else "taken"


def partial_reset():
    envs = cartpoles()
    start = envs.reset(seed=[0, 1, 2])[0].copy()
    for _ in range(2):
        envs.step(np.array([1, 1, 1]))
    stepped = envs.step(np.array([1, 1, 1]))[0].copy()
    after = envs.reset(seed=[0, 1, 0], options={"reset_mask": np.array([True, True, False])})[0]
    return {
        "worlds of the mask start as their seeds say": np.array_equal(after[:2], start[:2]),
        "the other world stays where it is": np.array_equal(after[2], stepped[2]),
    }


def partial_reset_failure():
    envs = cartpoles()
    masks = {
        "all": [True, True, True],
        "too short": [True],
        "too long": [True, True, False, False],
        "in a list of its own": [[True, True, True]],
        "of none": [False, False, False],
        "of whole numbers": [1, 1, 0],
        "of floats": [1.0, 1.0, 0.0],
        "of some": [True, False, True],
    }
    return {name: outcome(lambda: envs.reset(options={"reset_mask": np.array(mask)})) for name, mask in masks.items()}


def action_count():
    envs = cartpoles(4)
    envs.reset()
    return {
        "one for each world": outcome(lambda: envs.step(np.array([0, 1, 0, 1]))),
        "too few": outcome(lambda: envs.step(np.array([0, 1, 0]))),
        "too many": outcome(lambda: envs.step(np.array([0, 1, 0, 1, 0]))),
        "a number": outcome(lambda: envs.step(0)),
    }


def seeding():
    envs = cartpoles(4)
    first = envs.reset(seed=42)[0].copy()
    second = envs.reset()[0].copy()
    again = envs.reset(seed=42)[0].copy()
    return {
        "worlds start differently": len({tuple(row) for row in first}) == 4,
        "a reset without a seed goes on": not np.array_equal(first, second),
        "the same seed starts the same": np.array_equal(first, again),
        "and then goes on the same": np.array_equal(envs.reset()[0], second),
        "another seed starts otherwise": not np.array_equal(envs.reset(seed=43)[0], first),
    }


def determinism():
    def run():
        envs = cartpoles(3, AutoresetMode.NEXT_STEP)
        rows = [envs.reset(seed=123)[0].copy()]
        rng = np.random.default_rng(0)
        for _ in range(100):
            observations, rewards, terminated, truncated, _ = envs.step(rng.integers(2, size=3))
            rows += [observations.copy(), rewards.copy(), terminated.copy(), truncated.copy()]
        return rows

    return {"two batches of one seed are equal": all(np.array_equal(a, b) for a, b in zip(run(), run()))}


def out_of_order():
    envs = cartpoles(3, kind=AsyncVectorEnv)
    envs.reset()
    envs.step_async(np.array([1, 1, 1]))
    result = {
        "a step while one is under way": outcome(lambda: envs.step_async(np.array([1, 1, 1]))),
        "a reset while a step is under way": outcome(envs.reset_async),
    }
    envs.step_wait()
    result["a step after it"] = outcome(lambda: envs.step(np.array([1, 1, 1])))
    envs.close()
    result["a step after close"] = outcome(lambda: envs.step(np.array([1, 1, 1])))
    return result


def main():
    names = {AutoresetMode.NEXT_STEP: "next_step", AutoresetMode.SAME_STEP: "within_step", AutoresetMode.DISABLED: "disabled"}
    cases = [
        {"test": f"test_autoreset_{name}", "env": "Counter", "autoreset_mode": mode.name, "calls": autoreset_case(mode)}
        for mode, name in names.items()
    ]
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        cases.append({"test": "test_final_obs_info", "env": "Echo", "autoreset_mode": mode.name, "calls": echo_case(mode)})
        cases.append({"test": "test_vector_return_info", "env": "Infos", "autoreset_mode": mode.name, "calls": infos_case(mode)})
    for name, run in {
        "test_partial_reset": partial_reset,
        "test_partial_reset_failure": partial_reset_failure,
        "test_action_count_compatibility": action_count,
        "test_random_seeding_basics": seeding,
        "test_sync_vector_determinism": determinism,
        "test_step_out_of_order_async_vector_env": out_of_order,
    }.items():
        cases.append({"test": name, "env": "CartPole-v1", "outcomes": run()})
    document = {"provenance": fixture.provenance("record_vector_cases.py"), "cases": cases}
    text = json.dumps(document, separators=(",", ":")).replace('{"call":', '\n{"call":').replace('{"test":', '\n{"test":')
    OUT.write_text(text + "\n")
    print(f"{OUT.name}: {len(cases)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
