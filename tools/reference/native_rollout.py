"""Throughput of native MuJoCo (C, float64) on this machine: the peer of `corral bench`.

    python tools/reference/native_rollout.py MODEL.xml [--threads 1,2] [--envs 64] [--steps 500] [--frame-skip 5] [--seed 0]

Rolls out worlds with random controls in the control range, each held for `frame-skip` physics steps, in the thread pool
of mujoco.rollout. The worlds are stepped before the clock starts, so that they are on the ground with their contacts.
Prints one JSON document.
"""

import argparse
import json
import os
import statistics
import time

import mujoco
import numpy as np
from mujoco import rollout

WARM_UP = 100
REPEATS = 5


def initial_states(model, count, rng):
    """Full physics states: qpos0 with noise of 0.1, velocities with noise of 0.1."""
    data = mujoco.MjData(model)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    states = np.empty((count, mujoco.mj_stateSize(model, kind)))
    for row in states:
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, rng.uniform(-0.1, 0.1, model.nv), 1.0)
        data.qvel[:] = 0.1 * rng.standard_normal(model.nv)
        mujoco.mj_getState(model, data, row, kind)
    return states


def controls(model, envs, steps, frame_skip, rng):
    """Random controls [envs, steps, nu]; a range of one for actuators without a control range."""
    limited = model.actuator_ctrllimited.astype(bool)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -1.0)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], 1.0)
    held = rng.uniform(low, high, (envs, -(-steps // frame_skip), model.nu))
    return np.ascontiguousarray(np.repeat(held, frame_skip, axis=1)[:, :steps])


def measure(model, threads, envs, steps, frame_skip, seed):
    rng = np.random.default_rng(seed)
    datas = [mujoco.MjData(model) for _ in range(threads)]
    seconds = []
    with rollout.Rollout(nthread=0 if threads == 1 else threads) as pool:
        states = initial_states(model, envs, rng)
        warm, _ = pool.rollout(model, datas, states, controls(model, envs, WARM_UP, frame_skip, rng))
        states = np.ascontiguousarray(warm[:, -1])
        ctrl = controls(model, envs, steps, frame_skip, rng)
        for _ in range(REPEATS):
            start = time.perf_counter()
            out, _ = pool.rollout(model, datas, states, ctrl)
            seconds.append(time.perf_counter() - start)

    # contacts of the final states, as a measure of the load
    data, contacts = mujoco.MjData(model), []
    for state in out[:, -1]:
        mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_forward(model, data)
        contacts.append(data.ncon)
    rate = envs * steps / statistics.median(seconds)
    return {
        "threads": threads,
        "numEnvs": envs,
        "steps": steps,
        "seconds": {"median": statistics.median(seconds), "min": min(seconds), "max": max(seconds)},
        "physicsStepsPerSec": rate,
        "envStepsPerSec": rate / frame_skip,
        "meanContacts": float(np.mean(contacts)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}", help="thread counts, comma separated")
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--steps", type=int, default=500, help="physics steps a repeat")
    parser.add_argument("--frame-skip", type=int, default=1, help="physics steps a control is held")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    model = mujoco.MjModel.from_xml_path(args.model)
    counts = dict.fromkeys(int(x) for x in args.threads.split(","))
    document = {
        "name": os.path.basename(args.model),
        "mujoco": mujoco.__version__,
        "integrator": mujoco.mjtIntegrator(model.opt.integrator).name,
        "timestep": model.opt.timestep,
        "cores": os.cpu_count(),
        "repeats": REPEATS,
        "rows": [measure(model, n, args.envs, args.steps, args.frame_skip, args.seed) for n in counts],
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
