"""The environments a second time, from docs/gymnasium-parity.md alone: plain MuJoCo and numpy, no Gymnasium environment.

verify_parity.py holds this against what real Gymnasium recorded, to the bit. Scalar types follow Gymnasium's: the control
cost is float32 because actions are.
"""

import math

import mujoco
import numpy as np


def arguments(header, case):
    """All constructor arguments of a case: the defaults of the environment, overridden by the case."""
    infinite = lambda value: [infinite(x) for x in value] if isinstance(value, list) else float(value) if value in ("inf", "-inf") else value
    return {name: infinite(value) for name, value in (header["defaults"] | case["kwargs"]).items()}


def within(x, bounds):
    """Strictly between two bounds."""
    return bounds[0] < x < bounds[1]


def ctrl_cost(args, action):
    return args["ctrl_cost_weight"] * np.sum(np.square(action))


def observe(env_id, args, data):
    """The observation of the state in `data`."""
    if env_id == "InvertedPendulum-v5":
        return np.concatenate([data.qpos, data.qvel])

    skipped = 2 if env_id == "Ant-v5" else 1
    qpos = data.qpos[skipped:] if args["exclude_current_positions_from_observation"] else data.qpos
    qvel = data.qvel
    if env_id in ("Hopper-v5", "Walker2d-v5"):
        qvel = np.clip(qvel, -10, 10)
    parts = [qpos, qvel]
    if env_id == "Ant-v5" and args["include_cfrc_ext_in_observation"]:
        # the world's row is left out
        parts.append(np.clip(data.cfrc_ext, *args["contact_force_range"])[1:].ravel())
    return np.concatenate(parts)


def healthy(env_id, args, data):
    if env_id == "Ant-v5":
        # closed interval, and every entry finite
        low, high = args["healthy_z_range"]
        return bool(np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all() and low <= data.qpos[2] <= high)
    if env_id == "Hopper-v5":
        rest = np.concatenate([data.qpos, data.qvel])[2:]
        return bool(
            all(within(x, args["healthy_state_range"]) for x in rest)
            and within(data.qpos[1], args["healthy_z_range"])
            and within(data.qpos[2], args["healthy_angle_range"])
        )
    if env_id == "Walker2d-v5":
        return bool(within(data.qpos[1], args["healthy_z_range"]) and within(data.qpos[2], args["healthy_angle_range"]))
    raise KeyError(env_id)


def outcome(env_id, args, data, before, action, dt, init_qpos):
    """Reward, terminated and info after a control step. `before` has qpos and main_body_xpos of before the step."""
    if env_id == "InvertedPendulum-v5":
        seen = observe(env_id, args, data)
        terminated = bool(not np.isfinite(seen).all() or abs(seen[1]) > 0.2)
        reward = 0 if terminated else 1
        return reward, terminated, {"reward_survive": reward}

    if env_id == "Ant-v5":
        # of the last evaluation inside mj_step, before as well as after
        velocity = (data.body(args["main_body"]).xpos - before["main_body_xpos"]) / dt
        info = {
            "x_position": data.qpos[0],
            "y_position": data.qpos[1],
            "distance_from_origin": math.sqrt(data.qpos[0] ** 2 + data.qpos[1] ** 2),
            "x_velocity": velocity[0],
            "y_velocity": velocity[1],
        }
    else:
        info = {"x_position": data.qpos[0], "x_velocity": (data.qpos[0] - before["qpos"][0]) / dt}
        if env_id != "HalfCheetah-v5":
            info["z_distance_from_origin"] = data.qpos[1] - init_qpos[1]

    forward, ctrl = args["forward_reward_weight"] * info["x_velocity"], ctrl_cost(args, action)
    info |= {"reward_forward": forward, "reward_ctrl": -ctrl}
    if env_id == "HalfCheetah-v5":
        return forward - ctrl, False, info

    is_healthy = healthy(env_id, args, data)
    survive = is_healthy * args["healthy_reward"]
    info["reward_survive"] = survive
    costs = ctrl
    if env_id == "Ant-v5":
        contact = args["contact_cost_weight"] * np.sum(np.square(np.clip(data.cfrc_ext, *args["contact_force_range"])))
        info["reward_contact"] = -contact
        costs = ctrl + contact
    return forward + survive - costs, bool(not is_healthy and args["terminate_when_unhealthy"]), info


def reset_state(env_id, args, seed, model):
    """qpos and qvel that Gymnasium draws for a seed: PCG64 over SeedSequence(seed), qpos first."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    scale = args["reset_noise_scale"]
    init = mujoco.MjData(model)
    qpos = init.qpos + rng.uniform(-scale, scale, model.nq)
    if env_id in ("Ant-v5", "HalfCheetah-v5"):
        return qpos, init.qvel + scale * rng.standard_normal(model.nv)
    return qpos, init.qvel + rng.uniform(-scale, scale, model.nv)


def load(model, before):
    """Fresh MjData in a recorded state: nothing but these fields carries from one control step to the next."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = before["qpos"], before["qvel"]
    data.qacc_warmstart[:] = before["qacc_warmstart"]
    data.time = before["time"][0]
    return data


def control_step(model, data, action, frame_skip):
    """One control step: constant control, then the contact forces of the last evaluation."""
    data.ctrl[:] = action
    for _ in range(frame_skip):
        mujoco.mj_step(model, data)
    mujoco.mj_rnePostConstraint(model, data)


def runge_kutta(model, data):
    """mj_step with the RK4 integrator, spelled out. Leaves in `data` what mj_step leaves."""
    h = model.opt.timestep
    qpos, qvel, time = data.qpos.copy(), data.qvel.copy(), data.time
    mujoco.mj_forward(model, data)
    velocities, accelerations = [qvel], [data.qacc.copy()]

    # evaluations 2 to 4; none of them touches qacc_warmstart
    for weight in (0.5, 0.5, 1.0):
        stage = qpos.copy()
        # qpos moves by the velocity of the evaluation before, qvel by its acceleration
        mujoco.mj_integratePos(model, stage, weight * velocities[-1], h)
        data.qpos[:] = stage
        data.qvel[:] = qvel + h * weight * accelerations[-1]
        data.time = time + h * weight
        velocities.append(data.qvel.copy())
        mujoco.mj_forward(model, data)
        accelerations.append(data.qacc.copy())

    weights = np.array([1, 2, 2, 1]) / 6
    mean_velocity = sum(w * v for w, v in zip(weights, velocities))
    mean_acceleration = sum(w * a for w, a in zip(weights, accelerations))
    stage4 = data.qpos.copy()
    data.qvel[:] = qvel + h * mean_acceleration
    moved = qpos.copy()
    mujoco.mj_integratePos(model, moved, mean_velocity, h)
    data.qpos[:] = moved
    data.time = time + h
    data.qacc_warmstart[:] = data.qacc
    return stage4


def cartpole_step(args, state, action):
    """The classic cart-pole in float64: explicit Euler, every derivative from before the step."""
    x, x_dot, theta, theta_dot = state
    force, total, pole_moment = (10.0 if action == 1 else -10.0), 1.1, 0.05
    sin, cos = np.sin(theta), np.cos(theta)
    push = (force + pole_moment * np.square(theta_dot) * sin) / total
    theta_acc = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * np.square(cos) / total))
    x_acc = push - pole_moment * theta_acc * cos / total
    after = np.array([x + 0.02 * x_dot, x_dot + 0.02 * x_acc, theta + 0.02 * theta_dot, theta_dot + 0.02 * theta_acc])
    terminated = bool(abs(after[0]) > 2.4 or abs(after[2]) > 12 * 2 * math.pi / 360)
    if args["sutton_barto_reward"]:
        return after, -1.0 if terminated else 0.0, terminated
    return after, 1.0, terminated
