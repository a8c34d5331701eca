"""Throughput of MuJoCo Warp on an NVIDIA GPU: a peer that `corral bench --python PATH` measures where there is one.

Reads the same JSON document on stdin as jax_rollout.py, and steps the same model from the same start states: the physics
steps of a control step are one CUDA graph, as MuJoCo Warp's own benchmark has it, and controls of all worlds are copied
on the device before each. Refuses to measure on anything but a GPU. Prints one JSON document.
"""

import json
import statistics
import sys
import time

from peer_rates import scene

BATCHES = (1024, 4096, 8192, 32768)
STEPS = 64
# batches of controls that are used by turns
PICKS = 8


def absent(text):
    print(json.dumps({"absent": f"not measured: {text}"}))


def main():
    # warp says on stdout what it compiles
    answer, sys.stdout = sys.stdout, sys.stderr
    try:
        import mujoco
        import mujoco_warp as mjw
        import numpy as np
        import warp as wp
    except ImportError as error:
        sys.stdout = answer
        return absent(f"{sys.executable} cannot import {error.name or error}; pip install mujoco-warp")
    setup = json.load(sys.stdin)
    device = wp.get_device()
    # "any_device" is for trying out this script; corral never passes it
    if not device.is_cuda and not setup.get("any_device"):
        sys.stdout = answer
        return absent("Warp finds no CUDA device here")

    frame_skip, steps = setup["frame_skip"], setup.get("steps", STEPS)
    rows, versions = [], {"warp": wp.__version__, "mujoco": mujoco.__version__}
    try:
        model, starts, controls = scene(setup)
        draw = np.random.default_rng(setup["seed"])
        on_device = mjw.put_model(model)
        blank = mujoco.MjData(model)
        mujoco.mj_forward(model, blank)
        for count in setup.get("batches", BATCHES):
            data = mjw.put_data(model, blank, nworld=count)
            from_start = np.resize(starts, (count, starts.shape[1]))
            data.qpos.assign(np.ascontiguousarray(from_start[:, : model.nq]))
            data.qvel.assign(np.ascontiguousarray(from_start[:, model.nq :]))
            picks = [wp.array(controls[draw.integers(len(controls), size=count)]) for _ in range(PICKS)] if model.nu else []
            begin = time.perf_counter()
            mjw.step(on_device, data)
            graph = None
            if device.is_cuda:
                with wp.ScopedCapture() as capture:
                    for _ in range(frame_skip):
                        mjw.step(on_device, data)
                graph = capture.graph
            wp.synchronize()
            compile_seconds = time.perf_counter() - begin

            def run():
                for step in range(steps):
                    if picks:
                        wp.copy(data.ctrl, picks[step % PICKS])
                    if graph is not None:
                        wp.capture_launch(graph)
                    else:
                        for _ in range(frame_skip):
                            mjw.step(on_device, data)
                wp.synchronize()

            run()
            rates = []
            for _ in range(setup["repetitions"]):
                begin = time.perf_counter()
                run()
                rates.append(count * steps / (time.perf_counter() - begin))
            rate = statistics.median(rates)
            rows.append(
                {
                    "what": "MuJoCo Warp",
                    "numEnvs": count,
                    "physicsStepsPerSec": rate * frame_skip,
                    "envStepsPerSec": rate,
                    "compileSeconds": compile_seconds,
                }
            )
    except Exception as error:  # a model that MuJoCo Warp does not support is no failure of the bench
        versions["mujoco_warp"] = f"refused: {type(error).__name__}: {error}"

    sys.stdout = answer
    print(json.dumps({"device": str(device.name), "versions": versions, "rows": rows}))


if __name__ == "__main__":
    main()
