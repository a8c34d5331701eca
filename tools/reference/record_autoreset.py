"""Records what gymnasium.vector.SyncVectorEnv returns, call by call, in its three autoreset modes.

    python tools/reference/record_autoreset.py

Writes test/fixtures/gymnasium/autoreset.json: scenarios, each with the calls in order (reset or step, with arguments) and
everything that came back. Arrays in infos are {dtype, shape, data}; an entry without a value is null.
"""

import json
import pathlib

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import fixture

OUT = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "gymnasium" / "autoreset.json"

# one entry a world; null never happens
COUNTDOWN = [
    {"terminate_at": 3, "truncate_at": None},
    {"terminate_at": None, "truncate_at": 4},
    {"terminate_at": 5, "truncate_at": 5},
    {"terminate_at": 1, "truncate_at": None},
    {"terminate_at": None, "truncate_at": None},
]


class Countdown(gymnasium.Env):
    """Ends after a given number of steps. Observation [episode, step]; reward 10 * episode + step."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, terminate_at, truncate_at):
        self.terminate_at, self.truncate_at = terminate_at, truncate_at
        self.episode, self.steps = -1, 0

    def observation(self):
        return np.array([self.episode, self.steps], dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.steps = self.episode + 1, 0
        return self.observation(), {"episode_index": self.episode}

    def step(self, action):
        self.steps += 1
        terminated, truncated = self.steps == self.terminate_at, self.steps == self.truncate_at
        return self.observation(), float(10 * self.episode + self.steps), terminated, truncated, {"step": self.steps}


def plain(value):
    """Anything a vector environment returns, as JSON. Wall-clock entries (`t` of the statistics) are left out."""
    if isinstance(value, dict):
        return {key: plain(x) for key, x in value.items() if key != "t"}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"dtype": "object", "shape": list(value.shape), "data": [None if x is None else plain(x) for x in value]}
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": list(value.shape), "data": value.tolist()}
    return value


class Kept(dict):
    """Options that stay when SyncVectorEnv pops them, so that RecordEpisodeStatistics outside of it sees the mask too.

    With a plain dictionary the wrapper finds no mask and forgets the statistics of every world; the scenario
    `countdown_statistics_forgotten` records that.
    """

    def pop(self, key):
        return self[key]


class Script:
    """Calls a vector environment and writes down every call with its result."""

    def __init__(self, envs, peek=None, options=Kept):
        self.envs, self.peek, self.options, self.calls = envs, peek, options, []

    def note(self, call, result):
        # the float64 state behind a float32 observation
        extra = {"state": self.peek(self.envs)} if self.peek else {}
        self.calls.append({**call, **{key: plain(value) for key, value in result.items()}, **extra})

    def reset(self, seed=None, mask=None):
        call = {"call": "reset", "seed": seed, "reset_mask": mask}
        options = None if mask is None else self.options(reset_mask=np.array(mask))
        try:
            observations, infos = self.envs.reset(seed=seed, options=options)
        except Exception as error:
            self.calls.append({**call, "error": {"type": type(error).__name__, "message": str(error)}})
            return
        self.note(call, {"observations": observations, "infos": infos})

    def step(self, actions):
        call = {"call": "step", "actions": [int(a) if np.issubdtype(type(a), np.integer) else plain(a)["data"] for a in actions]}
        try:
            observations, rewards, terminated, truncated, infos = self.envs.step(np.asarray(actions))
        except AssertionError as error:
            self.calls.append({**call, "error": {"type": type(error).__name__, "message": str(error)}})
            return None
        self.note(
            call,
            {
                "observations": observations,
                "rewards": rewards,
                "terminated": terminated,
                "truncated": truncated,
                "infos": infos,
            },
        )
        return np.logical_or(terminated, truncated)


def countdown(mode, statistics):
    envs = SyncVectorEnv([lambda plan=plan: Countdown(**plan) for plan in COUNTDOWN], autoreset_mode=mode)
    return RecordEpisodeStatistics(envs) if statistics else envs


def countdown_scenario(mode, statistics, options=Kept):
    """Fourteen steps; in DISABLED mode the worlds that are done are reset by a mask before the next step."""
    script = Script(countdown(mode, statistics), options=options)
    script.reset(seed=5)
    for t in range(14):
        done = script.step([t % 2] * len(COUNTDOWN))
        if mode == AutoresetMode.DISABLED and done.any():
            script.reset(mask=done.tolist())
    return {"env": "Countdown", "plan": COUNTDOWN, "statistics": statistics, "calls": script.calls}


def countdown_reset_scenario(mode):
    """A reset of everything, and one of some worlds, in the middle of episodes."""
    script = Script(countdown(mode, False))
    script.reset(seed=5)
    script.step([0] * 5)
    if mode != AutoresetMode.DISABLED:
        script.step([0] * 5)
    script.reset()
    for _ in range(2):
        script.step([0] * 5)
        if mode == AutoresetMode.DISABLED:
            script.reset(mask=[False, False, False, True, False])
    script.reset(mask=[True, False, True, False, False])
    for _ in range(4):
        done = script.step([0] * 5)
        if mode == AutoresetMode.DISABLED and done.any():
            script.reset(mask=done.tolist())
    return {"env": "Countdown", "plan": COUNTDOWN, "statistics": False, "calls": script.calls}


def countdown_misuse_scenario():
    """Steps a world that is done, and masks that are refused."""
    script = Script(countdown(AutoresetMode.DISABLED, False))
    script.reset(seed=5)
    script.step([0] * 5)
    script.step([0] * 5)
    # shows how far the refused step went
    script.reset(mask=[False, False, False, True, False])
    script.reset(mask=[False] * 5)
    script.reset(mask=[True] * 4)
    script.reset(mask=[1, 0, 0, 0, 0])
    script.reset(seed=[1, 2])
    return {"env": "Countdown", "plan": COUNTDOWN, "statistics": False, "calls": script.calls}


def cartpole_scenario(mode):
    """CartPole-v1: pushed right, pushed left, at random and balanced; the limit truncates the balanced one."""
    limit = 20
    envs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1", max_episode_steps=limit) for _ in range(4)], autoreset_mode=mode)
    script = Script(
        RecordEpisodeStatistics(envs),
        peek=lambda envs: [list(map(float, env.unwrapped.state)) for env in envs.unwrapped.envs],
    )
    rng = np.random.default_rng(3)
    script.reset(seed=42)
    for _ in range(30):
        state = script.calls[-1]["state"][3]
        done = script.step([1, 0, int(rng.integers(2)), int(3 * state[2] + state[3] > 0)])
        if mode == AutoresetMode.DISABLED and done.any():
            script.reset(mask=done.tolist())
    return {"env": "CartPole-v1", "max_episode_steps": limit, "statistics": True, "calls": script.calls}


def hopper_scenario(mode):
    """Hopper-v5 with a limit of three steps: the keys and masks of a MuJoCo environment's infos."""
    limit = 3
    envs = SyncVectorEnv([lambda: gymnasium.make("Hopper-v5", max_episode_steps=limit) for _ in range(2)], autoreset_mode=mode)
    script = Script(RecordEpisodeStatistics(envs))
    rng = np.random.default_rng(4)
    script.reset(seed=8)
    for _ in range(5):
        done = script.step(rng.uniform(-1, 1, (2, 3)).astype(np.float32))
        if mode == AutoresetMode.DISABLED and done.any():
            script.reset(mask=done.tolist())
    return {"env": "Hopper-v5", "max_episode_steps": limit, "statistics": True, "calls": script.calls}


def main():
    scenarios = []
    for mode in AutoresetMode:
        named = {
            "countdown": countdown_scenario(mode, statistics=False),
            "countdown_statistics": countdown_scenario(mode, statistics=True),
            "countdown_resets": countdown_reset_scenario(mode),
            "cartpole": cartpole_scenario(mode),
            "hopper": hopper_scenario(mode),
        }
        if mode == AutoresetMode.DISABLED:
            named["countdown_misuse"] = countdown_misuse_scenario()
            named["countdown_statistics_forgotten"] = countdown_scenario(mode, statistics=True, options=dict)
        scenarios += [{"name": name, "autoreset_mode": mode.name, **scenario} for name, scenario in named.items()]

    document = {"provenance": fixture.provenance("record_autoreset.py"), "scenarios": scenarios}
    # one call a line: short, and a difference can be read
    text = json.dumps(document, separators=(",", ":")).replace('{"call":', '\n{"call":').replace('{"name":', '\n{"name":')
    OUT.write_text(text + "\n")
    print(f"{OUT.name}: {len(scenarios)} scenarios, {sum(len(s['calls']) for s in scenarios)} calls, {len(text)} bytes")


if __name__ == "__main__":
    main()
