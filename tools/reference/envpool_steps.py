"""Env steps/s of EnvPool (C++ threads) on an environment, through its public interface: one JSON document on stdout.

stdin: {env, threads, seconds, repetitions, seed}. Actions are drawn before the clock starts. Of several sizes, steps of
all worlds at once and of whichever are ready, each with its median of the repetitions.
"""

import json
import statistics
import sys
import time

given = json.load(sys.stdin)
try:
    import envpool
    import numpy as np
except ImportError as error:
    print(json.dumps({"absent": f"not measured: {error.name} is not installed (pip install envpool==1.2.5)"}))
    sys.exit()

if given["env"] not in envpool.list_all_envs():
    print(json.dumps({"absent": f"not measured: EnvPool {envpool.__version__} has no {given['env']}"}))
    sys.exit()

threads, seconds = given["threads"], given["seconds"]


def rate_of(worlds, batch):
    """Steps/s of worlds in answers of `batch`: all at once, or whichever are ready."""
    env = envpool.make(
        given["env"], env_type="gymnasium", num_envs=worlds, batch_size=batch, num_threads=threads, seed=given["seed"]
    )
    space = env.action_space
    rng = np.random.default_rng(given["seed"])
    actions = rng.uniform(space.low, space.high, (16, batch, *space.shape))
    rates, per_cpu_second = [], []
    if batch == worlds:
        env.reset()
        env.step(actions[0])
    else:
        env.async_reset()
    for _ in range(given["repetitions"]):
        steps, begin, used = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - begin < seconds:
            if batch == worlds:
                env.step(actions[steps % 16])
            else:
                info = env.recv()[-1]
                env.send(actions[steps % 16], info["env_id"])
            steps += 1
        rates.append(steps * batch / (time.perf_counter() - begin))
        per_cpu_second.append(steps * batch / (time.process_time() - used))
    env.close()
    return {"envStepsPerSec": statistics.median(rates), "envStepsPerCpuSecond": statistics.median(per_cpu_second)}


rows = []
for worlds, batch in [(32 * threads, 32 * threads), (128 * threads, 128 * threads), (32 * threads, 8 * threads)]:
    rows.append({"threads": threads, "numEnvs": worlds, "batch": batch, **rate_of(worlds, batch)})
print(json.dumps({"envpool": envpool.__version__, "rows": rows}))
