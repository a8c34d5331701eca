"""Rates of a peer for bench/learning.ts, which asks for them in turns with corral's own.

A peer has several ways to be run: numbers of environments, processes, threads. All are warmed up and tried for a moment;
of each kind, simulated, inference and training, the fastest is kept and measured. On stdin: the setup, then a line
{"kind": kind} for each measurement; on stdout: what was tried, then a line {"rate": env steps per second} for each.
"""

import json
import sys
import time


def scene(setup):
    """The model of a setup with its options, and rows of states (nq + nv) and of controls, if it has any."""
    import mujoco
    import numpy as np

    model = mujoco.MjModel.from_xml_path(setup["model"])
    for name, value in setup["option"].items():
        if hasattr(model.opt, name):
            setattr(model.opt, name, value)
    starts = np.array(setup["starts"], np.float32).reshape(-1, model.nq + model.nv)
    controls = np.array(setup["controls"], np.float32).reshape(-1, model.nu) if model.nu else None
    return model, starts, controls


def rate(run, seconds):
    """Env steps per second of a function that returns how many it made: whole runs, for so long at least."""
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds or done == 0:
        done += run()
    return done / (time.perf_counter() - start)


def serve(about, ways, setup):
    """`ways`: descriptions, and functions that make a dict of kinds and `close`; told but not counted without "counts"."""
    rows, best = [], {}
    for description, make in ways:
        kinds, close = make()
        way = (kinds, close)
        row = dict(description)
        for kind, run in kinds.items():
            run()
            row[kind] = rate(run, setup["seconds"] / 2)
            if row["counts"] and (kind not in best or row[kind] > best[kind][0]):
                best[kind] = (row[kind], way)
        rows.append(row)
        kept = {id(kept_way) for _, kept_way in best.values()}
        print(f"  tried {json.dumps(row)}", file=sys.stderr, flush=True)
        if id(way) not in kept:
            close()
    print(json.dumps({**about, "env": setup["env"], "threads": setup["threads"], "rows": rows}), flush=True)
    for line in sys.stdin:
        kind = json.loads(line)["kind"]
        kinds, _ = best[kind][1]
        print(json.dumps({"rate": rate(kinds[kind], setup["seconds"])}), flush=True)
    for close in {id(way): way[1] for _, way in best.values()}.values():
        close()
