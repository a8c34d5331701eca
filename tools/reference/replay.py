"""Replays recorded steps from the rules in semantics.py, each from fresh MjData in the recorded state."""

import numpy as np

import fixture
import semantics

CARRIED = ["qpos", "qvel", "qacc_warmstart", "time", "main_body_xpos", "centre", "observation"]


# a norm may differ in its last bit between libraries
ROUNDED = {"info.distance_from_origin": 1e-15}


def same(a, b):
    return np.array_equal(np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel())


def measure(x, reference):
    return float(np.max(np.abs(x - reference)) / (1 + np.max(np.abs(reference))))


def steps(case, array):
    """Every recorded step of a case: (episode, index in it, rows before, rows after)."""
    fields = {name: array(entry) for name, entry in case["fields"].items()}
    state_row = step_row = 0
    for episode in case["episodes"]:
        for t in range(episode["steps"]):
            before = {name: fields[name][state_row + t] for name in CARRIED if name in fields}
            after = {
                name: rows[(state_row + t + 1) if case["fields"][name]["per"] == "state" else step_row + t]
                for name, rows in fields.items()
            }
            yield episode, t, before, after
        state_row += episode["steps"] + 1
        step_row += episode["steps"]


def replay(env_id, folder, model):
    """(first step of every field that is not equal to the bit, number of steps) of all recorded steps on a model."""
    header, array = fixture.read(folder / f"{env_id}.bin.gz")
    wrong, count = {}, 0
    for case in header["cases"]:
        args = semantics.arguments(header, case)
        for episode, t, before, after in steps(case, array):
            data = semantics.load(model, before)
            action = after["action"].astype(np.float32)
            semantics.control_step(model, data, action, args["frame_skip"])
            dt = model.opt.timestep * args["frame_skip"]
            reward, terminated, info = semantics.outcome(env_id, args, model, data, before, action, dt, header["model"]["init_qpos"])
            got = {
                "qpos": data.qpos,
                "qvel": data.qvel,
                "qacc_warmstart": data.qacc_warmstart,
                "time": data.time,
                "ctrl": data.ctrl,
                "ncon": data.ncon,
                "nefc": data.nefc,
                "observation": semantics.observe(env_id, args, data),
                "centre": semantics.centre(model, data),
                "main_body_xpos": data.body(args.get("main_body", 1)).xpos,
                "cfrc_ext": data.cfrc_ext,
                "reward": reward,
                "terminated": terminated,
                "truncated": t + 1 >= episode["max_episode_steps"],
                **{f"info.{name}": value for name, value in info.items()},
            }
            for name in after:
                if name in ("action", "sensitivity", "leftover"):
                    continue
                # some fields are kept in float32
                kept = case["fields"][name].get("type", "f8")
                if not same(np.asarray(got[name], dtype=kept), after[name]):
                    if np.max(np.abs(got[name] - after[name])) < ROUNDED.get(name, 0):
                        continue
                    wrong.setdefault(name, (case["name"], t, got[name], after[name]))
            missing = {name for name in after if name.startswith("info.")} ^ {f"info.{name}" for name in info}
            if missing:
                wrong.setdefault("info keys", (case["name"], t, missing))
            count += 1
    return wrong, count
