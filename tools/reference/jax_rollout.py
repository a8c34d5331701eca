"""Throughput of MJX and Brax on an NVIDIA GPU: peers that `corral bench --python PATH` measures where there is one.

Reads the same JSON document on stdin as native_rollout.py. MJX steps the same model from the same start states with the
same controls, all steps of a measurement in one compiled scan on the device; Brax steps its environment of the same name,
if it has one, under random actions. Refuses to measure on anything but a GPU: JAX on a CPU says nothing about either.
Prints one JSON document.
"""

import json
import statistics
import sys
import time

from peer_rates import scene

BATCHES = (1024, 4096, 8192, 32768)
STEPS = 64
BRAX = {
    "Ant-v5": "ant",
    "HalfCheetah-v5": "halfcheetah",
    "Hopper-v5": "hopper",
    "Walker2d-v5": "walker2d",
    "Humanoid-v5": "humanoid",
    "HumanoidStandup-v5": "humanoidstandup",
    "Swimmer-v5": "swimmer",
    "Reacher-v5": "reacher",
    "Pusher-v5": "pusher",
    "InvertedPendulum-v5": "inverted_pendulum",
    "InvertedDoublePendulum-v5": "inverted_double_pendulum",
}


def absent(text):
    print(json.dumps({"absent": f"not measured: {text}"}))


def main():
    try:
        import jax
        import jax.numpy as jnp
        import mujoco
        import numpy as np
        from mujoco import mjx
    except ImportError as error:
        return absent(f"{sys.executable} cannot import {error.name or error}; pip install 'jax[cuda12]' mujoco-mjx brax")
    setup = json.load(sys.stdin)
    device = jax.devices()[0]
    # "any_device" is for trying out this script; corral never passes it
    if device.platform != "gpu" and not setup.get("any_device"):
        return absent(f"JAX runs on {device.platform} ({device.device_kind}) here, not on a GPU")

    frame_skip, repetitions = setup["frame_skip"], setup["repetitions"]
    batches = setup.get("batches", BATCHES)
    steps = setup.get("steps", STEPS)
    rows, versions = [], {"jax": jax.__version__, "mujoco": mujoco.__version__}

    def timed(what, count, run, state, physics_steps):
        """`run(state, key)` makes `steps` control steps of `physics_steps` each."""
        begin = time.perf_counter()
        state = jax.block_until_ready(run(state, jax.random.PRNGKey(setup["seed"])))
        compile_seconds = time.perf_counter() - begin
        rates = []
        for repetition in range(repetitions):
            begin = time.perf_counter()
            state = jax.block_until_ready(run(state, jax.random.PRNGKey(repetition)))
            rates.append(count * steps / (time.perf_counter() - begin))
        rate = statistics.median(rates)
        rows.append(
            {
                "what": what,
                "numEnvs": count,
                "physicsStepsPerSec": rate * physics_steps if physics_steps else None,
                "envStepsPerSec": rate,
                "compileSeconds": compile_seconds,
            }
        )

    try:
        model, starts, controls = scene(setup)
        controls = jnp.array(controls) if model.nu else None
        on_device, blank = mjx.put_model(model), mjx.make_data(model)

        def world(start):
            return blank.replace(qpos=start[: model.nq], qvel=start[model.nq :])

        def control_step(data, row):
            data = data.replace(ctrl=controls[row]) if model.nu else data
            return jax.lax.fori_loop(0, frame_skip, lambda _, d: mjx.step(on_device, d), data)

        for count in batches:
            data = jax.vmap(world)(jnp.array(np.resize(starts, (count, starts.shape[1]))))

            @jax.jit
            def run(data, key, count=count):
                high = len(controls) if model.nu else 1
                picks = jax.random.randint(key, (steps, count), 0, high)
                return jax.lax.scan(lambda d, p: (jax.vmap(control_step)(d, p), None), data, picks)[0]

            timed("MJX", count, run, data, frame_skip)
    except Exception as error:  # a model that MJX does not support is no failure of the bench
        versions["mjx"] = f"refused: {type(error).__name__}: {error}"

    try:
        import brax
        from brax import envs

        name = BRAX.get(setup.get("env", ""))
        if name is not None:
            versions["brax"] = brax.__version__
            env = envs.get_environment(name)
            for count in batches:
                state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.PRNGKey(0), count))

                @jax.jit
                def run(state, key, count=count):
                    actions = jax.random.uniform(key, (steps, count, env.action_size), minval=-1, maxval=1)
                    return jax.lax.scan(lambda s, a: (jax.vmap(env.step)(s, a), None), state, actions)[0]

                timed(f"Brax {name}", count, run, state, getattr(env, "_n_frames", None))
    except ImportError:
        versions["brax"] = "not installed"
    except Exception as error:
        versions["brax"] = f"refused: {type(error).__name__}: {error}"

    print(json.dumps({"device": str(device.device_kind), "versions": versions, "rows": rows}))


if __name__ == "__main__":
    main()
