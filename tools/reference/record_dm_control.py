"""Records control steps of dm_control's suite into test/fixtures/dm_control/.

    python tools/reference/record_dm_control.py [DOMAIN-TASK ...]

Each step has what puts another simulator into the state before it (qpos, qvel, qacc_warmstart, and of
those that have one the target), the action, and what came out: qpos, qvel, observation, reward. Steps are spread over an episode of random actions.
"""

import json
import pathlib
import sys

import mujoco
import numpy as np
from dm_control import suite

OUT = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "dm_control"
TASKS = [
    "cartpole-balance", "cartpole-balance_sparse", "cartpole-swingup", "cartpole-swingup_sparse", "pendulum-swingup",
    "acrobot-swingup", "acrobot-swingup_sparse", "point_mass-easy", "reacher-easy", "reacher-hard", "ball_in_cup-catch",
    "cheetah-run", "walker-stand", "walker-walk", "walker-run", "hopper-stand", "hopper-hop", "finger-spin",
    "finger-turn_easy", "finger-turn_hard", "fish-upright", "fish-swim",
    "swimmer-swimmer6", "swimmer-swimmer15", "humanoid-stand", "humanoid-walk", "humanoid-run", "manipulator-bring_ball",
]
STEPS = 40
EVERY = 5


def flat(observation):
    return np.concatenate([np.ravel(x) for x in observation.values()])


def state(physics):
    data = physics.data
    row = {name: np.array(getattr(data, name)).tolist() for name in ("qpos", "qvel", "qacc_warmstart")}
    if "target" in physics.named.model.geom_pos.axes.row.names and physics.model.name.startswith("two-link"):
        row["target"] = physics.named.model.geom_pos["target", :2].tolist()
    if physics.model.name == "finger":
        row["target"] = physics.named.model.site_pos["target", [0, 2]].tolist()
    if physics.model.name == "planar manipulator":
        row["target"] = physics.named.model.body_pos["target_ball", [0, 2]].tolist()
        row["turn"] = physics.named.model.body_quat["target_ball", [0, 2]].tolist()
    if physics.model.name == "swimmer":
        row["target"] = physics.named.model.geom_pos["target", :2].tolist()
    if physics.model.name == "fish":
        row["target"] = physics.named.model.geom_pos["target"].tolist()
    return row


def push(env, task, rng, t):
    """Now and then a state where the reward is neither 0 nor what chance gives."""
    physics = env.physics
    with physics.reset_context():
        data = physics.named.data
        if task == "pendulum-swingup":
            data.qpos["hinge"] = rng.normal(0, 0.15)
        if task.startswith("cartpole"):
            physics.data.qpos[:] = rng.normal(0, [0.3, 0.1])
            physics.data.qvel[:] = rng.normal(0, 1, 2)
        if task.startswith("acrobot"):
            physics.data.qpos[:] = rng.normal(0, 0.3, 2)
        if task.startswith("point_mass"):
            physics.data.qpos[:] = rng.normal(0, 0.015, 2)
        if task.startswith("reacher"):
            target = physics.named.model.geom_pos["target", :2]
            # both links have 0.12 m
            bend = np.arccos(np.clip(target @ target / 0.0288 - 1, -1, 1))
            physics.data.qpos[:] = np.array([np.arctan2(target[1], target[0]) - bend / 2, bend]) + rng.normal(0, 0.1, 2)
        if task.startswith("ball_in_cup"):
            physics.data.qpos[:] = [0, 0, rng.normal(0, 0.01), 0.35 + rng.normal(0, 0.02)]
        if task.startswith("walker"):
            # at qpos0 its feet touch the floor to the last bit, which rounding decides
            physics.data.qpos[:] = rng.normal(0, 0.1, physics.model.nq)
        if task.startswith("hopper"):
            physics.data.qpos[:] = rng.normal(0, 0.05, physics.model.nq) + [0, 0.2, 0, 0, -0.1, 0.2, 0]
            physics.data.qvel[0] = rng.uniform(0, 4)
        if task.startswith("manipulator"):
            # in the open hand, which closes, or near the target
            model = physics.named.model
            data.qpos[["thumb", "thumbtip", "finger", "fingertip"]] = rng.uniform([0.4, -0.1] * 2, [0.6, 0.1] * 2)
            data.qvel[:] = rng.normal(0, 0.3, physics.model.nv)
            if rng.uniform() < 0.5:
                data.qpos[["ball_x", "ball_z"]] = model.body_pos["target_ball", [0, 2]] + rng.normal(0, 0.01, 2)
            else:
                data.qpos[["arm_root", "arm_shoulder", "arm_elbow", "arm_wrist"]] = rng.normal(0, 0.3, 4)
                physics.after_reset()
                data.qpos[["ball_x", "ball_z"]] = data.site_xpos["grasp", [0, 2]] + rng.normal(0, 0.002, 2)
        if task.startswith("swimmer"):
            physics.data.qpos[:2] = physics.named.model.geom_pos["target", :2] + rng.normal(0, 0.1, 2)
        if task.startswith("humanoid"):
            # above the floor, about upright
            physics.data.qpos[:3] = [0, 0, 1.5]
            turn = rng.normal(0, 0.1, 4) + [1, 0, 0, 0]
            physics.data.qpos[3:7] = turn / np.linalg.norm(turn)
            physics.data.qpos[7:] = rng.normal(0, 0.05, physics.model.nq - 7)
            physics.data.qvel[:] = rng.normal(0, 0.3, physics.model.nv)
            physics.data.qvel[0] = rng.uniform(0, 6)
        if task.startswith("fish"):
            near = rng.normal(0, 0.05, 3) if task == "fish-swim" else 0
            physics.data.qpos[:3] = physics.named.model.geom_pos["target"] + near
            turn = rng.normal(0, 0.3, 4) + [1, 0, 0, 0]
            physics.data.qpos[3:7] = turn / np.linalg.norm(turn)
            physics.data.qvel[:] = 0
        if task.startswith("finger"):
            # away from the spinner, which turns or is where it should
            physics.data.qpos[:2] = rng.normal(0, 0.2, 2) + [-1.6, 0]
            physics.data.qvel[2] = rng.uniform(-30, 0)
            if "turn" in task:
                x, z = physics.named.model.site_pos["target", [0, 2]]
                physics.data.qpos[2] = -np.arctan2(x - 0.2, z - 0.4) + rng.normal(0, 0.4)
                physics.data.qvel[2] = rng.normal(0, 1)
        if task.startswith(("cheetah", "walker")):
            physics.data.qvel[0 if task.startswith("cheetah") else 1] = rng.uniform(0, 12)
            physics.data.qvel[3:] = rng.normal(0, 1, physics.model.nv - 3)


def record(task):
    env = suite.load(*task.split("-"), task_kwargs={"random": 3})
    rng = np.random.default_rng(5)
    env.reset()
    spec = env.action_spec()
    steps = []
    # rows of the largest are long
    count = 16 if task.startswith("humanoid") or task == "swimmer-swimmer15" else STEPS
    for t in range(count * EVERY):
        if t % (4 * EVERY) == 2 * EVERY - 1:
            push(env, task, rng, t)
        before = state(env.physics)
        action = rng.uniform(spec.minimum, spec.maximum).astype(np.float32)
        after = env.step(action.astype(np.float64))
        if t % EVERY == EVERY - 1:
            steps.append({
                **before,
                "action": action.tolist(),
                "after": {k: v for k, v in state(env.physics).items() if k in ("qpos", "qvel")},
                "observation": flat(after.observation).tolist(),
                "reward": float(after.reward),
            })
    if task in ("fish-upright", "finger-spin"):
        # which have the target of the model, hidden
        for step in steps:
            del step["target"]
    model = env.physics.model
    return {
        "task": task,
        "dm_control": __import__("importlib.metadata").metadata.version("dm_control"),
        "mujoco": mujoco.__version__,
        "frame_skip": int(round(env.control_timestep() / model.opt.timestep)),
        "body_mass": model.body_mass.tolist(),
        "body_inertia": model.body_inertia.ravel().tolist(),
        "dof_damping": model.dof_damping.tolist(),
        "jnt_range": model.jnt_range.ravel().tolist(),
        "limit": int(round(env._step_limit)) if np.isfinite(env._step_limit) else None,
        "steps": steps,
    }


def rounded(x):
    """Numbers as short as float64 to 12 digits has them."""
    if isinstance(x, float):
        return float(f"{x:.12g}")
    if isinstance(x, list):
        return [rounded(v) for v in x]
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    return x


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or TASKS:
        path = OUT / f"{name}.json"
        path.write_text(json.dumps(rounded(record(name)), separators=(",", ":")) + "\n")
        print(path.name, path.stat().st_size)
