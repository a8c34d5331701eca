"""Checks every statement of docs/gymnasium-parity.md against recorded data and against the installed Gymnasium.

    python tools/reference/verify_parity.py

Prints one line a statement with what was measured; exits 1 when one does not hold.
"""

import inspect
import pathlib
import sys

import gymnasium
import mujoco
import numpy as np

import fixture
import semantics
import verify_autoreset
from replay import measure, replay, same, steps

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "test" / "fixtures" / "gymnasium"
ENVS = FIXTURES.parents[2] / "envs"
MODELS = {
    "Ant-v5": "ant",
    "HalfCheetah-v5": "half_cheetah",
    "Hopper-v5": "hopper",
    "Walker2d-v5": "walker2d",
    "InvertedPendulum-v5": "inverted_pendulum",
    "InvertedDoublePendulum-v5": "inverted_double_pendulum",
    "Reacher-v5": "reacher",
    "Humanoid-v5": "humanoid",
    "HumanoidStandup-v5": "humanoid_standup",
    "Swimmer-v5": "swimmer",
    "Pusher-v5": "pusher",
}
MUJOCO_ENVS = list(MODELS)

failures = 0
gymnasium.logger.min_level = gymnasium.logger.ERROR
# two checks provoke warnings, which MuJoCo would write to a file
mujoco.set_mju_user_warning(lambda _: None)


def check(holds, statement, measured=""):
    global failures
    failures += not holds
    print(f"{'ok  ' if holds else 'FAIL'} {statement}{f' ({measured})' if measured != '' else ''}")


def make(env_id, **kwargs):
    return gymnasium.make(env_id, disable_env_checker=True, **kwargs)


def verify_replay(env_id):
    env = make(env_id).unwrapped
    wrong, count = replay(env_id, FIXTURES, env.model)
    check(not wrong, f"{env_id}: state, observation, reward, terms, terminated, truncated follow from qpos, qvel, qacc_warmstart, time and the carried xpos, to the bit", wrong or f"{count} steps")
    path = ENVS / MODELS[env_id] / "model.xml"
    wrong, count = replay(env_id, FIXTURES, mujoco.MjModel.from_xml_path(str(path)))
    check(not wrong, f"{env_id}: envs/{MODELS[env_id]}/model.xml does the same, to the bit", wrong or f"{count} steps")


def verify_reset(env_id):
    """The start state of every recorded episode comes out of its seed."""
    header, array = fixture.read(FIXTURES / f"{env_id}.bin.gz")
    holds, zero, observed, count = True, True, True, 0
    for case in header["cases"]:
        env = make(env_id, **case["kwargs"]).unwrapped
        args, row = semantics.arguments(header, case), 0
        fields = {name: array(entry) for name, entry in case["fields"].items()}
        for episode in case["episodes"]:
            qpos, qvel = semantics.reset_state(env_id, args, episode["seed"], env.model)
            for joint, value in episode.get("start", {}).items():
                qpos[env.model.joint(joint).qposadr[0]] = value
            holds &= same(qpos, fields["qpos"][row]) and same(qvel, fields["qvel"][row])
            zero &= not (fields["qacc_warmstart"][row].any() or fields["ctrl"][row].any() or fields["time"][row].any())
            # mj_forward leaves cfrc_ext, which is zero in MjData without a step
            data = mujoco.MjData(env.model)
            data.qpos[:], data.qvel[:] = qpos, qvel
            mujoco.mj_forward(env.model, data)
            observed &= same(semantics.observe(env_id, args, data).astype(np.float32), fields["observation"][row])
            observed &= same(data.body(args.get("main_body", 1)).xpos, fields["main_body_xpos"][row])
            row, count = row + episode["steps"] + 1, count + 1
    check(holds, f"{env_id}: reset noise on qpos and qvel is as documented", f"{count} episodes")
    check(zero, f"{env_id}: qacc_warmstart, ctrl and time are zero after a reset")
    check(observed, f"{env_id}: reset observation is that of mj_forward at qpos and qvel with cfrc_ext zero; xpos is exact then")


def verify_ant_quaternion():
    header, array = fixture.read(FIXTURES / "Ant-v5.bin.gz")
    start, later = [], []
    for case in header["cases"]:
        for _, t, before, _ in steps(case, array):
            (start if t == 0 else later).append(abs(np.linalg.norm(before["qpos"][3:7]) - 1))
    check(max(start) > 0.05, "Ant-v5: the reset quaternion is not normalised and is observed so", f"largest |norm - 1| {max(start):.3f}")
    check(max(later) < 1e-14, "Ant-v5: the quaternion has norm 1 after every step", f"{max(later):.1e}")

    # MuJoCo normalises what it reads, so the norm of the start state does not matter
    env, worst = make("Ant-v5").unwrapped, 0.0
    for _, t, before, after in steps(header["cases"][0], array):
        if t == 0:
            qpos = before["qpos"].copy()
            qpos[3:7] /= np.linalg.norm(qpos[3:7])
            data = semantics.load(env.model, before | {"qpos": qpos})
            semantics.control_step(env.model, data, after["action"], 5)
            worst = max(worst, measure(data.qpos, after["qpos"]), measure(data.qvel, after["qvel"]))
    check(worst < 1e-12, "Ant-v5: normalising the quaternion before the first step changes nothing after it", f"{worst:.1e}")


def verify_runge_kutta(env_id):
    """RK4 leaves the derived quantities of its fourth evaluation behind, and one warm start serves all four."""
    env = make(env_id).unwrapped
    env.reset(seed=3)
    model, rng, worst, gap, equal = env.model, np.random.default_rng(0), 0.0, 0.0, True
    reference, mine = mujoco.MjData(model), mujoco.MjData(model)
    for data in (reference, mine):
        data.qpos[:], data.qvel[:] = env.data.qpos, env.data.qvel
    for _ in range(300):
        ctrl = rng.uniform(-1, 1, model.nu)
        for data in (reference, mine):
            data.ctrl[:] = ctrl
        for name in ("qpos", "qvel", "qacc_warmstart"):
            getattr(mine, name)[:] = getattr(reference, name)
        mine.time = reference.time
        mujoco.mj_step(model, reference)
        stage4 = semantics.runge_kutta(model, mine)
        worst = max(worst, *(measure(getattr(mine, name), getattr(reference, name)) for name in ("qpos", "qvel", "xpos", "qacc", "qacc_warmstart")))
        equal &= same(reference.qacc, reference.qacc_warmstart) and mine.ncon == reference.ncon
        # the kinematics of evaluation 4
        at4 = mujoco.MjData(model)
        at4.qpos[:] = stage4
        mujoco.mj_kinematics(model, at4)
        gap = max(gap, measure(at4.xpos, reference.xpos))
    check(worst < 1e-12 and gap < 1e-12 and equal, f"{env_id}: after mj_step with RK4, xpos, contacts, qacc (= qacc_warmstart) are those of evaluation 4; all four start from the same qacc_warmstart", f"{worst:.1e}, {gap:.1e}")


def verify_stale_xpos():
    header, array = fixture.read(FIXTURES / "Ant-v5.bin.gz")
    position = velocity = 0.0
    for _, _, before, after in steps(header["cases"][0], array):
        position = max(position, np.abs(after["main_body_xpos"][:2] - after["qpos"][:2]).max())
        velocity = max(velocity, abs(after["info.x_velocity"][0] - (after["qpos"][0] - before["qpos"][0]) / 0.05))
    check(position > 1e-5, "Ant-v5: the torso's xpos after a step is not qpos[0:2]", f"up to {position:.1e} m apart")
    check(velocity > 1e-3, "Ant-v5: x_velocity from qpos would be wrong", f"by up to {velocity:.1e} m/s, so the reward too")

    env, gap = make("HalfCheetah-v5"), 0.0
    env.reset(seed=0)
    for _ in range(20):
        env.step(np.ones(6, dtype=np.float32))
        gap = max(gap, abs(env.unwrapped.data.xpos[1][0] - env.unwrapped.data.qpos[0]))
    check(gap > 1e-4, "HalfCheetah-v5 (Euler): xpos lags qpos by one physics step; x_velocity comes from qpos, so it does not matter", f"{gap:.1e} m")


def verify_contact_forces():
    header, array = fixture.read(FIXTURES / "Ant-v5.bin.gz")
    world, free, recomputed = 0.0, 0.0, 0.0
    env = make("Ant-v5").unwrapped
    for _, _, before, after in steps(header["cases"][0], array):
        world = max(world, np.abs(after["cfrc_ext"][:6]).max())
        if after["ncon"][0] == 0:
            free = max(free, np.abs(after["cfrc_ext"]).max())
        # what a forward evaluation at the final state would give instead
        data = semantics.load(env.model, {name: after[name] for name in ("qpos", "qvel", "qacc_warmstart", "time")})
        data.ctrl[:] = after["action"]
        mujoco.mj_forward(env.model, data)
        mujoco.mj_rnePostConstraint(env.model, data)
        recomputed = max(recomputed, np.abs(data.cfrc_ext.ravel() - after["cfrc_ext"]).max())
    check(world == 0, "Ant-v5: row 0 (world) of cfrc_ext is always zero")
    check(free == 0, "Ant-v5: cfrc_ext is zero without contacts (joint limits do not enter it)")
    check(recomputed > 1, "Ant-v5: cfrc_ext is of evaluation 4 of the last physics step, not of the final state", f"forces differ by up to {recomputed:.1f} N")


    # spelled out from the contacts: [torque, force] about the centre of mass of the tree, in world axes
    env.reset(seed=1)
    worst, largest, rng, wrench = 0.0, 0.0, np.random.default_rng(0), np.zeros(6)
    for _ in range(40):
        env.step(rng.uniform(-1, 1, 8).astype(np.float32))
        data, expected = env.data, np.zeros((env.model.nbody, 6))
        for i in range(data.ncon):
            contact = data.contact[i]
            mujoco.mj_contactForce(env.model, data, i, wrench)
            force = contact.frame.reshape(3, 3).T @ wrench[:3]
            for geom, sign in ((contact.geom1, -1), (contact.geom2, 1)):
                body = env.model.geom_bodyid[geom]
                if body:
                    arm = contact.pos - data.subtree_com[env.model.body_rootid[body]]
                    expected[body] += sign * np.concatenate([np.cross(arm, force), force])
        worst, largest = max(worst, np.abs(data.cfrc_ext - expected).max()), max(largest, np.abs(expected).max())
    check(worst < 1e-9 < largest, "Ant-v5: cfrc_ext is torque then force of the contacts about the centre of mass of the tree, in world axes", f"{worst:.1e} of {largest:.0f}")


def verify_bounds():
    """Open and closed intervals, at the bound itself."""

    def is_healthy(env_id, index, value, **kwargs):
        env = make(env_id, **kwargs).unwrapped
        env.reset(seed=0)
        env.data.qpos[:], env.data.qvel[:] = env.init_qpos, env.init_qvel
        state = np.concatenate([env.data.qpos, env.data.qvel])
        state[index] = value
        env.data.qpos[:], env.data.qvel[:] = state[: env.model.nq], state[env.model.nq :]
        return bool(env.is_healthy)

    check(all(is_healthy("Ant-v5", 2, z) for z in (0.2, 1.0)) and not any(is_healthy("Ant-v5", 2, z) for z in (np.nextafter(0.2, 0), np.nextafter(1, 2))), "Ant-v5: healthy_z_range is closed")
    check(not is_healthy("Ant-v5", 20, np.nan) and not is_healthy("Ant-v5", 20, np.inf), "Ant-v5: a non-finite state is unhealthy")
    check(not is_healthy("Hopper-v5", 1, 0.7) and is_healthy("Hopper-v5", 1, np.nextafter(0.7, 1)), "Hopper-v5: healthy_z_range is open")
    check(not any(is_healthy("Hopper-v5", 2, a) for a in (-0.2, 0.2)) and is_healthy("Hopper-v5", 2, np.nextafter(0.2, 0)), "Hopper-v5: healthy_angle_range is open")
    check(not is_healthy("Hopper-v5", 5, 100) and not is_healthy("Hopper-v5", 7, -100) and is_healthy("Hopper-v5", 0, 1000), "Hopper-v5: healthy_state_range is open, on qpos[2:] and all of qvel as they are (not clipped)")
    check(not is_healthy("Hopper-v5", 1, 1000, healthy_z_range=(0.7, 1000.0)) and is_healthy("Hopper-v5", 1, 1000), "Hopper-v5: qpos[1] is not subject to healthy_state_range")
    check(not is_healthy("Hopper-v5", 8, np.nan), "Hopper-v5: NaN is unhealthy")
    check(not any(is_healthy("Walker2d-v5", 1, z) for z in (0.8, 2.0)) and not any(is_healthy("Walker2d-v5", 2, a) for a in (-1, 1)), "Walker2d-v5: both ranges are open")
    check(is_healthy("Walker2d-v5", 12, np.nan), "Walker2d-v5: a velocity that is NaN is healthy (only z and angle are looked at)")

    env = make("InvertedPendulum-v5").unwrapped
    results = {}
    for angle in (0.19, 0.21):
        env.reset(seed=0)
        env.set_state(np.array([0, angle]), np.zeros(2))
        env.model.opt.gravity[:] = 0
        _, reward, terminated, _, _ = env.step(np.zeros(1, dtype=np.float32))
        results[angle] = (reward, terminated)
    check(results == {0.19: (1, False), 0.21: (0, True)}, "InvertedPendulum-v5: terminated when |angle| > 0.2, reward 0 on that step and 1 on every other", results)


def verify_actions():
    """Out of range, non-finite and mis-shaped actions."""
    for env_id in MUJOCO_ENVS:
        outside = []
        for clip in (False, True):
            env = make(env_id).unwrapped
            env.reset(seed=1)
            action = (3 * env.action_space.high).astype(np.float32)
            _, _, _, _, info = env.step(np.clip(action, env.action_space.low, env.action_space.high) if clip else action)
            outside.append((env.data.qpos.copy(), info.get("reward_ctrl", info.get("reward_quadctrl"))))
        cost = "Pendulum" in env_id or np.isclose(outside[0][1], 9 * outside[1][1])
        check(same(outside[0][0], outside[1][0]) and cost, f"{env_id}: an action out of range is clamped by MuJoCo and not by the environment, so the control cost counts it in full")

    env, rows = make("HalfCheetah-v5").unwrapped, []
    for action in ([np.nan, 1, 1, 1, 1, 1], [0] * 6):
        env.reset(seed=1)
        _, reward, _, _, _ = env.step(np.array(action, dtype=np.float32))
        rows.append((env.data.qpos.copy(), reward))
    check(same(rows[0][0], rows[1][0]) and np.isnan(rows[0][1]), "HalfCheetah-v5: with one NaN in the action MuJoCo applies no control at all, and the reward is NaN")
    refused = 0
    for action in (np.zeros(5), np.zeros((1, 6))):
        try:
            env.step(action.astype(np.float32))
        except ValueError:
            refused += 1
    check(refused == 2, "an action of another shape is a ValueError")


def verify_blow_up():
    """MuJoCo resets a state that has gone bad by itself; no environment notices."""
    env = make("HalfCheetah-v5").unwrapped
    env.reset(seed=1)
    env.data.qvel[4] = 1e11
    observation, reward, terminated, _, _ = env.step(np.zeros(6, dtype=np.float32))
    check(np.abs(observation).max() < 20 and not terminated and env.data.time < env.dt * 1.5, "a velocity beyond 1e10 makes mj_step reset the state to qpos0 and go on: no termination, finite observation", f"time {env.data.time:.2f} s, reward {reward:.3g}")


def verify_warm_start(env_id):
    header, array = fixture.read(FIXTURES / f"{env_id}.bin.gz")
    env, worst = make(env_id).unwrapped, np.zeros(2)
    for _, _, before, after in steps(header["cases"][0], array):
        data = semantics.load(env.model, before | {"qacc_warmstart": 0 * before["qacc_warmstart"]})
        semantics.control_step(env.model, data, after["action"], env.frame_skip)
        worst = np.maximum(worst, [measure(data.qpos, after["qpos"]), measure(data.qvel, after["qvel"])])
    check(worst[1] < 2e-5, f"{env_id}: a cold start (qacc_warmstart zero) changes a control step by less than 2e-5", f"qpos {worst[0]:.1e}, qvel {worst[1]:.1e}")


def verify_registration():
    expected = {"Ant-v5": (5, 0.05), "HalfCheetah-v5": (5, 0.05), "Hopper-v5": (4, 0.008), "Walker2d-v5": (4, 0.008), "InvertedPendulum-v5": (2, 0.04), "InvertedDoublePendulum-v5": (5, 0.05), "Reacher-v5": (2, 0.02), "Humanoid-v5": (5, 0.015), "HumanoidStandup-v5": (5, 0.015), "Swimmer-v5": (4, 0.04), "Pusher-v5": (5, 0.05)}
    limits = {"Reacher-v5": 50, "Pusher-v5": 100}
    for env_id, (frame_skip, dt) in expected.items():
        env = make(env_id)
        check(env.spec.max_episode_steps == limits.get(env_id, 1000) and env.unwrapped.frame_skip == frame_skip and abs(env.unwrapped.dt - dt) < 1e-15, f"{env_id}: max_episode_steps {limits.get(env_id, 1000)}, frame_skip {frame_skip}, dt {dt}")
        check(env.observation_space.dtype == np.float64 and env.action_space.dtype == np.float32 and not env.observation_space.is_bounded("below"), f"{env_id}: unbounded float64 observations, float32 actions")
    check(make("CartPole-v1").spec.max_episode_steps == 500, "CartPole-v1: max_episode_steps 500")
    env = make("Ant-v5").unwrapped
    check(same(env.init_qpos, env.model.qpos0) and not same(env.init_qpos, env.model.numeric("init_qpos").data), "Ant-v5: starts around qpos0; the numeric `init_qpos` of the model is not used")
    check(same(make("Hopper-v5").unwrapped.init_qpos, [0, 1.25, 0, 0, 0, 0]), "Hopper-v5: qpos[1] starts at 1.25 (the slide's ref)")
    sizes = {(c, e): make("Ant-v5", include_cfrc_ext_in_observation=c, exclude_current_positions_from_observation=e).observation_space.shape[0] for c in (True, False) for e in (True, False)}
    check(sizes == {(True, True): 105, (True, False): 107, (False, True): 27, (False, False): 29}, "Ant-v5: observation sizes", list(sizes.values()))


def verify_versions():
    """What changed from v4 to v5."""
    pendulum = make("InvertedPendulum-v4").unwrapped
    pendulum.reset(seed=0)
    pendulum.set_state(np.array([0, 0.5]), np.zeros(2))
    check(pendulum.step(np.zeros(1, dtype=np.float32))[1:3] == (1.0, True), "InvertedPendulum-v4 rewards the terminating step, v5 does not")
    rewards = []
    for env_id in ("Hopper-v4", "Hopper-v5"):
        env = make(env_id).unwrapped
        env.reset(seed=0)
        env.set_state(np.array([0, 0.3, 0, 0, 0, 0]), np.zeros(6))
        _, reward, terminated, _, info = env.step(np.zeros(3, dtype=np.float32))
        rewards.append(reward - info["x_velocity"])
        assert terminated
    check(np.allclose(rewards, [1, 0], atol=1e-6), "Hopper-v4 pays healthy_reward on the terminating step, v5 does not (Walker2d and Ant likewise)")
    ant = make("Ant-v4").unwrapped
    check(ant.observation_space.shape == (27,) and not ant._use_contact_forces, "Ant-v4 has 27 observations and no contact cost; v5 has 105 and both")
    check("frame_skip" not in inspect.signature(type(ant).__init__).parameters, "v4 has no argument frame_skip")
    friction = [make(f"Walker2d-{v}").unwrapped.model.geom(g).friction[0] for v in ("v4", "v5") for g in ("foot_geom", "foot_left_geom")]
    check(friction == [0.9, 1.9, 1.9, 1.9], "Walker2d-v5: both feet have friction 1.9 (v4: 0.9 and 1.9)")


def verify_cartpole():
    header, array = fixture.read(FIXTURES / "CartPole-v1.bin.gz")
    holds, start, count = True, True, 0
    for case in header["cases"]:
        args, row, step = semantics.arguments(header, case), 0, 0
        fields = {name: array(entry) for name, entry in case["fields"].items()}
        for episode in case["episodes"]:
            drawn = np.random.Generator(np.random.PCG64(np.random.SeedSequence(episode["seed"]))).uniform(-0.05, 0.05, 4)
            start &= same(drawn, fields["state"][row])
            for t in range(episode["steps"]):
                state, reward, terminated = semantics.cartpole_step(args, fields["state"][row + t], fields["action"][step + t][0])
                holds &= np.allclose(state, fields["state"][row + t + 1], rtol=0, atol=1e-15)
                holds &= same(fields["state"][row + t + 1].astype(np.float32), fields["observation"][row + t + 1])
                holds &= reward == fields["reward"][step + t][0] and terminated == fields["terminated"][step + t][0]
                holds &= (t + 1 >= episode["max_episode_steps"]) == fields["truncated"][step + t][0]
                count += 1
            row, step = row + episode["steps"] + 1, step + episode["steps"]
    check(holds, "CartPole-v1: explicit Euler in float64, observed in float32; rewards, terminated, truncated", f"{count} steps")
    check(start, "CartPole-v1: starts uniform in [-0.05, 0.05) on all four entries")


def main():
    verify_registration()
    for env_id in MUJOCO_ENVS:
        verify_replay(env_id)
        verify_reset(env_id)
    verify_ant_quaternion()
    for env_id in ("Ant-v5", "Hopper-v5", "Walker2d-v5", "InvertedPendulum-v5"):
        verify_runge_kutta(env_id)
    verify_stale_xpos()
    verify_contact_forces()
    verify_bounds()
    verify_actions()
    verify_blow_up()
    for env_id in MUJOCO_ENVS:
        verify_warm_start(env_id)
    verify_cartpole()
    for name, holds, calls in verify_autoreset.scenarios(FIXTURES / "autoreset.json"):
        check(holds, f"autoreset: {name} follows the rules", f"{calls} calls")
    check(verify_autoreset.half_stepped(FIXTURES / "autoreset.json"), "autoreset: a step refused in DISABLED mode has moved the worlds before the offending one, not those after it")
    verify_versions()
    print(f"{failures} statements do not hold" if failures else "every statement holds")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
