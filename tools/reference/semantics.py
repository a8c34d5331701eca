"""The environments a second time, from docs/gymnasium-parity.md alone: plain MuJoCo and numpy, no Gymnasium environment.

verify_parity.py holds this against what real Gymnasium recorded, to the bit. Scalar types follow Gymnasium's: the control
cost is float32 because actions are.
"""

import math

import mujoco
import numpy as np


HUMANOIDS = ("Humanoid-v5", "HumanoidStandup-v5")


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
    if env_id == "InvertedDoublePendulum-v5":
        angles, force = data.qpos[1:], np.clip(data.qfrc_constraint, -10, 10)[:1]
        return np.concatenate([data.qpos[:1], np.sin(angles), np.cos(angles), np.clip(data.qvel, -10, 10), force])
    if env_id == "Reacher-v5":
        angles, offset = data.qpos[:2], data.body("fingertip").xpos - data.body("target").xpos
        return np.concatenate([np.cos(angles), np.sin(angles), data.qpos[2:], data.qvel[:2], offset[:2]])
    if env_id == "Pusher-v5":
        places = [data.body(name).xpos for name in ("tips_arm", "object", "goal")]
        return np.concatenate([data.qpos[:7], data.qvel[:7], *places])

    skipped = 2 if env_id in ("Ant-v5", "Swimmer-v5", *HUMANOIDS) else 1
    qpos = data.qpos[skipped:] if args["exclude_current_positions_from_observation"] else data.qpos
    qvel = data.qvel
    if env_id in ("Hopper-v5", "Walker2d-v5"):
        qvel = np.clip(qvel, -10, 10)
    parts = [qpos, qvel]
    if env_id == "Ant-v5" and args["include_cfrc_ext_in_observation"]:
        # the world's row is left out
        parts.append(np.clip(data.cfrc_ext, *args["contact_force_range"])[1:].ravel())
    if env_id in HUMANOIDS:
        # of the last evaluation, without the world's row, not clipped
        for name, start in (("cinert", 1), ("cvel", 1), ("qfrc_actuator", 6), ("cfrc_ext", 1)):
            if args[f"include_{name}_in_observation"]:
                parts.append(getattr(data, name)[start:].ravel())
    return np.concatenate(parts)


def healthy(env_id, args, data):
    if env_id == "Humanoid-v5":
        return bool(within(data.qpos[2], args["healthy_z_range"]))
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


def centre(model, data):
    """x and y of the centre of mass, of the last evaluation."""
    return (np.einsum("b,bj->j", model.body_mass, data.xipos) / model.body_mass.sum())[:2]


def tendons(data):
    rows = {f"tendon_length_{i}": x for i, x in enumerate(data.ten_length)}
    return rows | {f"tendon_velocity_{i}": x for i, x in enumerate(data.ten_velocity)}


def manipulation(env_id, args, data, action):
    """Reacher and Pusher: distances of bodies, of the last evaluation."""
    distance = lambda a, b: np.linalg.norm(data.body(a).xpos - data.body(b).xpos)
    ctrl = -np.square(action).sum() * args["reward_control_weight"]
    if env_id == "Reacher-v5":
        dist = -distance("fingertip", "target") * args["reward_dist_weight"]
        return dist + ctrl, False, {"reward_dist": dist, "reward_ctrl": ctrl}
    near = -distance("object", "tips_arm") * args["reward_near_weight"]
    dist = -distance("object", "goal") * args["reward_dist_weight"]
    return dist + ctrl + near, False, {"reward_dist": dist, "reward_ctrl": ctrl, "reward_near": near}


def outcome(env_id, args, model, data, before, action, dt, init_qpos):
    """Reward, terminated and info after a control step. `before` has qpos, main_body_xpos, centre of before the step."""
    if env_id in ("Reacher-v5", "Pusher-v5"):
        return manipulation(env_id, args, data, action)
    if env_id == "InvertedDoublePendulum-v5":
        x, _, z = data.site_xpos[0]
        v1, v2 = data.qvel[1:3]
        terminated = bool(z <= 1)
        survive, distance = args["healthy_reward"] * int(not terminated), 0.01 * x**2 + (z - 2) ** 2
        velocity = 1e-3 * v1**2 + 5e-3 * v2**2
        info = {"reward_survive": survive, "distance_penalty": -distance, "velocity_penalty": -velocity}
        return survive - distance - velocity, terminated, info
    if env_id == "HumanoidStandup-v5":
        up, ctrl = data.qpos[2] / model.opt.timestep, args["ctrl_cost_weight"] * np.square(data.ctrl).sum()
        impact = np.clip(args["impact_cost_weight"] * np.square(data.cfrc_ext).sum(), *args["impact_cost_range"])
        info = {"x_position": data.qpos[0], "y_position": data.qpos[1], "z_distance_from_origin": data.qpos[2] - init_qpos[2]}
        info |= tendons(data) | {"reward_linup": up, "reward_quadctrl": -ctrl, "reward_impact": -impact}
        return up - ctrl - impact + 1, False, info
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
    elif env_id in ("Swimmer-v5", "Humanoid-v5"):
        moved = data.qpos[:2] - before["qpos"][:2] if env_id == "Swimmer-v5" else centre(model, data) - before["centre"]
        info = {
            "x_position": data.qpos[0],
            "y_position": data.qpos[1],
            "distance_from_origin": np.linalg.norm(data.qpos[:2], ord=2),
            "x_velocity": moved[0] / dt,
            "y_velocity": moved[1] / dt,
        }
        if env_id == "Humanoid-v5":
            info |= tendons(data)
    else:
        info = {"x_position": data.qpos[0], "x_velocity": (data.qpos[0] - before["qpos"][0]) / dt}
        if env_id != "HalfCheetah-v5":
            info["z_distance_from_origin"] = data.qpos[1] - init_qpos[1]

    # the humanoid's cost is of the controls, which are float64
    forward, ctrl = args["forward_reward_weight"] * info["x_velocity"], ctrl_cost(args, data.ctrl if env_id == "Humanoid-v5" else action)
    info |= {"reward_forward": forward, "reward_ctrl": -ctrl}
    if env_id in ("HalfCheetah-v5", "Swimmer-v5"):
        return forward - ctrl, False, info

    is_healthy = healthy(env_id, args, data)
    survive = is_healthy * args["healthy_reward"]
    info["reward_survive"] = survive
    costs = ctrl
    if env_id == "Ant-v5":
        contact = args["contact_cost_weight"] * np.sum(np.square(np.clip(data.cfrc_ext, *args["contact_force_range"])))
        info["reward_contact"] = -contact
        costs = ctrl + contact
    if env_id == "Humanoid-v5":
        contact = np.clip(args["contact_cost_weight"] * np.sum(np.square(data.cfrc_ext)), *args["contact_cost_range"])
        info["reward_contact"] = -contact
        costs = ctrl + contact
    return forward + survive - costs, bool(not is_healthy and args["terminate_when_unhealthy"]), info


def reset_state(env_id, args, seed, model):
    """qpos and qvel that Gymnasium draws for a seed: PCG64 over SeedSequence(seed), qpos first."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    init = mujoco.MjData(model)
    if env_id == "Reacher-v5":
        qpos = rng.uniform(-0.1, 0.1, model.nq) + init.qpos
        while True:
            goal = rng.uniform(-0.2, 0.2, 2)
            if np.linalg.norm(goal) < 0.2:
                break
        qpos[-2:] = goal
        qvel = rng.uniform(-0.005, 0.005, model.nv)
        qvel[-2:] = 0
        return qpos, qvel
    if env_id == "Pusher-v5":
        qpos = init.qpos.copy()
        while True:
            place = np.concatenate([rng.uniform(-0.3, 0, 1), rng.uniform(-0.2, 0.2, 1)])
            if np.linalg.norm(place) > 0.17:
                break
        qpos[-4:-2], qpos[-2:] = place, 0
        qvel = rng.uniform(-0.005, 0.005, model.nv)
        qvel[-4:] = 0
        return qpos, qvel
    scale = args["reset_noise_scale"]
    qpos = init.qpos + rng.uniform(-scale, scale, model.nq)
    if env_id in ("Ant-v5", "HalfCheetah-v5", "InvertedDoublePendulum-v5"):
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
