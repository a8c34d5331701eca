"""Throughput of native MuJoCo (C, float64) on this machine: the peer that `corral bench --python PATH` measures.

Reads one JSON document on stdin, as src/bench/python-peer.ts writes it: the model, its options, start states,
controls, physics steps for which a control is held, control steps of an episode. Worlds start from the start states,
take the controls, and start over after an episode, in the thread pool of mujoco.rollout. Prints one JSON document.
"""

import json
import statistics
import sys
import time


def main():
    try:
        import mujoco
        import numpy as np
        from mujoco import rollout
    except ImportError as error:
        print(json.dumps({"absent": f"not measured: {sys.executable} cannot import {error.name or error}; pip install mujoco==3.14.0 numpy"}))
        return

    setup = json.load(sys.stdin)
    if mujoco.__version__.split(".")[:2] != setup["mujoco"].split(".")[:2]:
        # told by whoever asked
        print(json.dumps({"mujoco": mujoco.__version__, "rows": []}))
        return
    model = mujoco.MjModel.from_xml_path(setup["model"])
    for name, value in setup["option"].items():
        if hasattr(model.opt, name):
            setattr(model.opt, name, value)
    starts = np.array(setup["starts"], float).reshape(-1, model.nq + model.nv)
    table = np.array(setup["controls"], float).reshape(-1, setup["phases"], model.nu) if model.nu else None
    rng = np.random.default_rng(setup["seed"])

    def states(count):
        data = mujoco.MjData(model)
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        rows = np.empty((count, mujoco.mj_stateSize(model, kind)))
        for row, start in zip(rows, starts[rng.integers(len(starts), size=count)]):
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = start[: model.nq], start[model.nq :]
            mujoco.mj_getState(model, data, row, kind)
        return rows

    def controls(count, length):
        """[count, length * frame_skip, nu]: rows drawn anew each control step, or groups of rows one after the other."""
        if setup["phases"] == 1:
            held = table[rng.integers(len(table), size=(count, length)), 0]
        else:
            group = rng.integers(len(table), size=(count, 1))
            held = table[group, np.arange(length)[None] % setup["phases"]]
        return np.ascontiguousarray(np.repeat(held, setup["frame_skip"], axis=1))

    def contacts(rows):
        data = mujoco.MjData(model)
        found = []
        for row in rows:
            mujoco.mj_setState(model, data, row, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            mujoco.mj_forward(model, data)
            found.append(data.ncon)
        return float(np.mean(found))

    def measure(threads):
        datas = [mujoco.MjData(model) for _ in range(threads)]
        # an episode is one call; long ones are cut, which costs nothing but a state in and out
        length = max(1, min(setup["episode_steps"], 200))
        with rollout.Rollout(nthread=0 if threads == 1 else threads) as pool:
            count, rates, mean = 8 * threads, [], []
            for repetition in range(-1, setup["repetitions"]):
                initial, ctrl = states(count), controls(count, length) if model.nu else None
                steps = length * setup["frame_skip"]
                begin = time.perf_counter()
                out, _ = pool.rollout(model, datas, initial, ctrl, **({} if model.nu else {"nstep": steps}))
                took = time.perf_counter() - begin
                if repetition < 0:
                    # as many worlds as fill the time
                    count = int(max(threads, min(8192, round(setup["seconds"] / took * count / threads) * threads)))
                else:
                    rates.append(count * steps / took)
                    # states throughout the episode, as MuJoCo's workers count them
                    mean.append(contacts(out.reshape(-1, out.shape[-1])[rng.integers(count * steps, size=128)]))
        rate = statistics.median(rates)
        return {
            "threads": threads,
            "numEnvs": count,
            "physicsStepsPerSec": rate,
            "envStepsPerSec": rate / setup["frame_skip"],
            "physicsRange": {"min": min(rates), "max": max(rates)},
            "meanContacts": statistics.mean(mean),
        }

    print(json.dumps({"mujoco": mujoco.__version__, "rows": [measure(n) for n in setup["threads"]]}))


if __name__ == "__main__":
    main()
