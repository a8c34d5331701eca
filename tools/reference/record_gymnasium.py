"""Records trajectories of real Gymnasium environments into test/fixtures/gymnasium/.

    python tools/reference/record_gymnasium.py [ENV_ID ...]

Every step holds what puts another simulator into the same state before it (qpos, qvel, qacc_warmstart, time, ctrl, and the
position of the main body that Gymnasium carries over from the step before) and what must come out after it. Fields marked
`state` have one row more than the episode has steps: row t is before step t, row t + 1 is after it.
"""

import hashlib
import inspect
import pathlib
import sys

import gymnasium
import mujoco
import numpy as np

import fixture
from cases import APPROXIMATE, BOTH, CASES, episode

OUT = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "gymnasium"

# trials and size of the perturbation behind the field `sensitivity`
TRIALS = 4
PERTURBATION = 1e-7
# fields stored in float32: they are compared with what follows from others, or in tolerances far above its rounding
SINGLE = {"observation", "cfrc_ext", "sensitivity", "leftover"}
# what runs on to the solution that MuJoCo's own settings stop short of
EXACT = {"solver": mujoco.mjtSolver.mjSOL_NEWTON, "iterations": 200, "tolerance": 1e-10, "ccd_iterations": 1000, "ccd_tolerance": 1e-12}


class Actions:
    """The actions of one episode, float32 (or an integer for a discrete space)."""

    def __init__(self, kind, space, seed):
        self.kind = kind
        self.space = space
        self.rng = np.random.default_rng([seed, 7])
        self.held = None

    def next(self, t, observation):
        if isinstance(self.space, gymnasium.spaces.Discrete):
            return self.discrete(t, observation)
        low, high = self.space.low, self.space.high
        if self.kind == "balance":
            # a feedback that keeps the inverted pendulum up, with noise
            feedback = np.dot([0.3, 4.0, 0.6, 0.8], observation) + self.rng.normal(0, 0.05)
            return np.clip([feedback], low, high).astype(np.float32)
        if self.kind == "zero":
            return np.zeros_like(low)
        if self.kind == "high":
            return high.copy()
        if self.kind == "extreme":
            return np.where(self.rng.random(low.shape) < 0.5, low, high)
        if self.kind == "outside":
            return self.rng.uniform(3 * low, 3 * high).astype(np.float32)
        if self.kind == "held" and t % 10 != 0:
            return self.held
        self.held = self.rng.uniform(low, high).astype(np.float32)
        return self.held

    def discrete(self, t, observation):
        if self.kind == "zero":
            return 0
        if self.kind == "high":
            return 1
        if self.kind == "balance":
            return int(3 * observation[2] + observation[3] > 0)
        if self.kind == "held" and t % 10 != 0:
            return self.held
        self.held = int(self.rng.integers(self.space.n))
        return self.held


def measure(x, reference):
    """max|x - reference| / (1 + max|reference|)"""
    x, reference = np.asarray(x, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    return np.max(np.abs(x - reference)) / (1 + np.max(np.abs(reference)))


class MujocoRecorder:
    """What is read of a MuJoCo environment around a step."""

    def __init__(self, env_id, kwargs):
        self.unwrapped = None
        # a second environment in float64 that answers: how much does a perturbation of 1e-7 change?
        self.shadow = gymnasium.make(env_id, disable_env_checker=True, **kwargs).unwrapped
        self.shadow.reset(seed=0)
        self.main_body = kwargs.get("main_body", 1)
        # a third that goes on to the exact solution, where MuJoCo's settings leave some of it over
        self.exact = None
        if env_id in APPROXIMATE:
            self.exact = gymnasium.make(env_id, disable_env_checker=True, **kwargs).unwrapped
            self.exact.reset(seed=0)
            for name, value in EXACT.items():
                setattr(self.exact.model.opt, name, value)
        self.has_centre = env_id == "Humanoid-v5"
        self.xipos = None

    def attach(self, env):
        self.unwrapped = env.unwrapped

    def model_header(self):
        model, env = self.shadow.model, self.shadow
        path = pathlib.Path(env.fullpath)
        return {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            **{name: int(getattr(model, name)) for name in ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom")},
            "timestep": model.opt.timestep,
            "integrator": mujoco.mjtIntegrator(model.opt.integrator).name,
            "solver": mujoco.mjtSolver(model.opt.solver).name,
            "iterations": int(model.opt.iterations),
            "tolerance": model.opt.tolerance,
            "ctrlrange": model.actuator_ctrlrange.tolist(),
            "init_qpos": env.init_qpos.tolist(),
            "init_qvel": env.init_qvel.tolist(),
        }

    def state(self):
        data = self.unwrapped.data
        row = {name: getattr(data, name).copy() for name in ("qpos", "qvel", "qacc_warmstart", "ctrl")}
        row["time"] = [data.time]
        # of the last evaluation inside mj_step, so not the position that goes with qpos
        row["main_body_xpos"] = data.body(self.main_body).xpos.copy()
        if self.has_centre:
            mass = self.unwrapped.model.body_mass
            row["centre"] = (np.einsum("b,bj->j", mass, data.xipos) / mass.sum())[:2]
        return row

    def before(self):
        self.xipos = self.unwrapped.data.xipos.copy()
        return self.state()

    def after(self):
        data = self.unwrapped.data
        row = {"ncon": [data.ncon], "nefc": [data.nefc]}
        if hasattr(self.unwrapped, "contact_forces"):
            row["cfrc_ext"] = data.cfrc_ext.ravel().copy()
        return row

    def again(self, env, before, state, action, observation, reward):
        """How far the same step of another environment ends: in qpos, qvel, observation, reward."""
        data, after = env.data, self.unwrapped.data
        for name, value in state.items():
            getattr(data, name)[:] = value
        data.time = before["time"][0]
        data.xipos[:] = self.xipos
        data.body(self.main_body).xpos[:] = before["main_body_xpos"].astype(np.float32)
        seen, seen_reward, _, _, _ = env.step(action)
        pairs = [(data.qpos, after.qpos), (data.qvel, after.qvel), (seen, observation), (seen_reward, reward)]
        return np.array([measure(x, reference) for x, reference in pairs])

    def trust(self, before, action, observation, reward, rng):
        """`sensitivity`: the largest change when the state is perturbed by 1e-7, then rounded to float32; and `leftover`."""
        worst, args = np.zeros(4), (action, observation, reward)
        for _ in range(TRIALS):
            state = {"qacc_warmstart": before["qacc_warmstart"].astype(np.float32)}
            for name in ("qpos", "qvel"):
                x = before[name]
                x = x + PERTURBATION * (1 + np.abs(x)) * rng.uniform(-1, 1, x.shape)
                state[name] = x.astype(np.float32)
            worst = np.maximum(worst, self.again(self.shadow, before, state, *args))
        if self.exact is None:
            return {"sensitivity": worst}
        state = {name: before[name] for name in ("qpos", "qvel", "qacc_warmstart")}
        return {"sensitivity": worst, "leftover": self.again(self.exact, before, state, *args)}


class CartPoleRecorder:
    """What is read of the classic cart-pole around a step."""

    def __init__(self, env_id, kwargs):
        self.unwrapped = None

    def attach(self, env):
        self.unwrapped = env.unwrapped

    def model_header(self):
        return None

    def state(self):
        return {"state": np.array(self.unwrapped.state, dtype=np.float64)}

    def after(self):
        return {}

    def before(self):
        return self.state()

    def trust(self, *_):
        return {}


class Columns:
    """Rows of every field of one case, `state` fields and `step` fields apart."""

    def __init__(self):
        self.fields = {"state": {}, "step": {}}

    def add(self, kind, row):
        for name, value in row.items():
            self.fields[kind].setdefault(name, []).append(np.atleast_1d(np.asarray(value, dtype=np.float64)))

    def header(self, payload):
        return {
            name: {"per": kind, **payload.add(rows, name in SINGLE)}
            for kind, fields in self.fields.items()
            for name, rows in fields.items()
        }


def numbers(info):
    """The numbers of an info dictionary, as fields `info.NAME`; those of an array have its index behind their name."""
    rows = {}
    for name, value in info.items():
        if np.ndim(value) == 0:
            rows[f"info.{name}"] = float(value)
        else:
            rows |= {f"info.{name}_{i}": float(x) for i, x in enumerate(value)}
    return rows


def place(env, start):
    """Puts the joints named in `start` where it says, at rest; returns the observation."""
    qpos = env.data.qpos.copy()
    for joint, value in start.items():
        qpos[env.model.joint(joint).qposadr[0]] = value
    env.set_state(qpos, env.data.qvel.copy())
    return env._get_obs()


def record_episode(env_id, kwargs, plan, recorder, columns, reset_info):
    """Runs one episode to its end, or to the planned number of steps."""
    limits = {} if plan["limit"] is None else {"max_episode_steps": plan["limit"]}
    env = gymnasium.make(env_id, disable_env_checker=True, **limits, **kwargs)
    recorder.attach(env)
    actions = Actions(plan["actions"], env.action_space, plan["seed"])
    rng = np.random.default_rng([plan["seed"], 11])

    observation, info = env.reset(seed=plan["seed"])
    if plan["start"]:
        observation = place(env.unwrapped, plan["start"])
    reset_info.append(numbers(info))
    columns.add("state", {**recorder.state(), "observation": observation})

    steps, terminated, truncated = 0, False, False
    while steps < plan["steps"] and not (terminated or truncated):
        before = recorder.before()
        action = actions.next(steps, observation)
        observation, reward, terminated, truncated, info = env.step(action)
        row = {"action": action, "reward": reward, "terminated": terminated, "truncated": truncated}
        row |= recorder.trust(before, action, observation, reward, rng)
        columns.add("step", {**row, **recorder.after(), **numbers(info)})
        columns.add("state", {**recorder.state(), "observation": observation})
        steps += 1

    env.close()
    return {
        "seed": plan["seed"],
        **({"start": plan["start"]} if plan["start"] else {}),
        "actions": plan["actions"],
        "max_episode_steps": env.spec.max_episode_steps,
        "steps": steps,
        "terminated": bool(terminated),
        "truncated": bool(truncated),
    }


def record_case(env_id, case, payload):
    """Records the episodes of one case; returns its part of the header."""
    make = CartPoleRecorder if env_id == "CartPole-v1" else MujocoRecorder
    recorder = make(env_id, case["kwargs"])
    columns, reset_info, episodes = Columns(), [], []
    for plan in case["episodes"]:
        episodes.append(record_episode(env_id, case["kwargs"], plan, recorder, columns, reset_info))

    # once more, with the limit at the step that terminates
    if case["name"] == "default" and env_id in BOTH:
        plan = case["episodes"][BOTH[env_id]]
        limit = episodes[BOTH[env_id]]["steps"]
        again = episode(plan["seed"], plan["actions"], plan["steps"], limit=limit)
        episodes.append(record_episode(env_id, case["kwargs"], again, recorder, columns, reset_info))
        assert episodes[-1]["terminated"] and episodes[-1]["truncated"]

    env = recorder.unwrapped
    header = {"name": case["name"], "kwargs": case["kwargs"], "episodes": episodes, "reset_info": reset_info}
    if hasattr(env, "frame_skip"):
        header |= {"frame_skip": env.frame_skip, "dt": env.dt, "main_body": int(env.data.body(recorder.main_body).id)}
        structure = getattr(env, "observation_structure", {})
        header["observation_structure"] = {name: int(size) for name, size in structure.items()}
    header["fields"] = columns.header(payload)
    return header, recorder.model_header()


def constructor_defaults(env_id):
    """Every argument of the environment's constructor that has to do with the task, with its default."""
    skip = {"self", "kwargs", "default_camera_config", "render_mode"}
    env = gymnasium.make(env_id, disable_env_checker=True).unwrapped
    parameters = inspect.signature(type(env).__init__).parameters.values()
    # JSON has no infinity
    plain = lambda value: [plain(x) for x in value] if isinstance(value, tuple) else str(value) if value in (np.inf, -np.inf) else value
    return {p.name: plain(p.default) for p in parameters if p.name not in skip}


def record(env_id):
    payload, cases, model = fixture.Payload(), [], None
    for case in CASES[env_id]:
        header, model = record_case(env_id, case, payload)
        cases.append(header)
    spec = gymnasium.spec(env_id)
    header = {
        "provenance": fixture.provenance("record_gymnasium.py"),
        "env": env_id,
        "max_episode_steps": spec.max_episode_steps,
        "reward_threshold": spec.reward_threshold,
        "defaults": constructor_defaults(env_id),
        "model": model,
        "sensitivity": {"trials": TRIALS, "perturbation": PERTURBATION, "columns": ["qpos", "qvel", "observation", "reward"]},
        "cases": cases,
    }
    path = OUT / f"{env_id}.bin.gz"
    size = fixture.write(path, header, payload)
    episodes = [e for c in cases for e in c["episodes"]]
    print(
        f"{path.name}: {len(cases)} cases, {len(episodes)} episodes, {sum(e['steps'] for e in episodes)} steps, "
        f"{sum(e['terminated'] for e in episodes)} terminated, {sum(e['truncated'] for e in episodes)} truncated, "
        f"{size} bytes"
    )


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or CASES:
        record(name)
