"""What is recorded: for each environment, cases of constructor arguments, and for each case episodes (seed, actions, steps).

Actions are float32, as an action space samples them:
  random   uniform over the space
  zero     all zero
  extreme  each entry at its lower or its upper bound
  outside  uniform over three times the space, so MuJoCo clamps the control while the reward counts the action as given
  held     a random action, kept for ten steps
  high     every entry at its upper bound
  balance  a feedback that keeps a pole up (InvertedPendulum and CartPole)
`limit` is max_episode_steps; None is the registered default. `start` puts joints by name elsewhere after the reset.
"""


def episode(seed, actions, steps, limit=None, start=None):
    return {"seed": seed, "actions": actions, "steps": steps, "limit": limit, "start": start}


def episodes(first, count, steps, kinds=("random", "extreme", "zero", "held")):
    """Episodes of consecutive seeds, with one kind of actions after the other."""
    return [episode(first + i, kinds[i % len(kinds)], steps) for i in range(count)]


def case(name, kwargs, *episodes):
    return {"name": name, "kwargs": kwargs, "episodes": list(episodes)}


def body_cases(first, steps, limited):
    """Cases that the two humanoids have alike: each part of the observation left out, all of them, and positions."""
    parts = ["cinert", "cvel", "qfrc_actuator", "cfrc_ext"]
    flag = lambda part: f"include_{part}_in_observation"
    return [
        case("default", {}, *episodes(first, 12, steps), episode(first + 12, "outside", steps), episode(first + 13, "zero", limited, limit=limited)),
        *[case(f"without_{part}", {flag(part): False}, episode(first + 20 + i, "random", 2)) for i, part in enumerate(parts)],
        case("without_all", {flag(part): False for part in parts}, episode(first + 30, "random", 8)),
        case("with_positions", {"exclude_current_positions_from_observation": False}, episode(first + 31, "random", 2)),
        case("large_reset_noise", {"reset_noise_scale": 0.1}, episode(first + 32, "random", 6)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(first + 33, "zero", 4)),
        case("frame_skip_2", {"frame_skip": 2}, episode(first + 34, "random", 6)),
    ]


# an arm whose fork is at the cylinder, then the cylinder's two slides: beside it, above it, with one tine and with several
PUSHER_JOINTS = ["r_shoulder_pan_joint", "r_shoulder_lift_joint", "r_upper_arm_roll_joint", "r_elbow_flex_joint"]
PUSHER_JOINTS += ["r_forearm_roll_joint", "r_wrist_flex_joint", "r_wrist_roll_joint", "obj_slidey", "obj_slidex"]
PUSHER_PLACES = [
    [-1.164, 0.408, 0.164, -0.089, 0.067, -0.502, -0.067, -1.202, -0.112],
    [1.594, 0.467, -1.129, -0.874, 0.83, -0.423, 1.252, 0.237, -0.655],
    [-1.5, 1.389, -0.072, -1.725, -0.128, -0.812, 0.079, -1.09, -0.31],
    [-0.112, 0.297, -1.108, -0.079, 0.574, -0.183, -0.428, -0.626, 0.367],
    [0.911, 1.187, 0.163, -1.468, -0.075, -0.973, -0.019, -0.273, 0.032],
    [-1.637, 1.055, 0.983, -1.756, -0.616, -0.047, -0.414, -0.99, -0.789],
]
PUSHES = [
    episode(40 + i, kind, 20, start=dict(zip(PUSHER_JOINTS, place)))
    for i, (place, kind) in enumerate(zip(PUSHER_PLACES, ["zero", "random", "held", "extreme", "random", "zero"]))
]

CASES = {
    "Ant-v5": [
        case(
            "default",
            {},
            episode(0, "random", 60),
            episode(1, "held", 60),
            episode(2, "extreme", 50),
            episode(3, "zero", 30),
            episode(4, "outside", 30),
            episode(5, "random", 50, limit=12),
            *episodes(50, 6, 20),
        ),
        # a jump that leaves the healthy range in the middle of an episode
        case(
            "narrow_healthy_z_range",
            {"healthy_z_range": (0.2, 0.85)},
            episode(10, "held", 60),
            episode(11, "extreme", 60),
            episode(12, "high", 60),
        ),
        case(
            "healthy_z_range_always_unhealthy",
            {"healthy_z_range": (5.0, 6.0), "healthy_reward": 2.0},
            episode(13, "random", 3),
        ),
        case(
            "unhealthy_goes_on",
            {"terminate_when_unhealthy": False, "healthy_z_range": (0.5, 0.6)},
            episode(14, "held", 40, limit=40),
        ),
        case(
            "without_cfrc_ext",
            {"include_cfrc_ext_in_observation": False},
            episode(15, "random", 15),
        ),
        case(
            "with_positions",
            {"exclude_current_positions_from_observation": False},
            episode(16, "random", 15),
        ),
        case(
            "positions_without_cfrc_ext",
            {
                "exclude_current_positions_from_observation": False,
                "include_cfrc_ext_in_observation": False,
            },
            episode(17, "random", 5),
        ),
        case(
            "weights",
            {
                "forward_reward_weight": 2.5,
                "ctrl_cost_weight": 0.25,
                "contact_cost_weight": 0.01,
                "healthy_reward": 0.5,
            },
            episode(18, "extreme", 30),
        ),
        case(
            "contact_force_range",
            {"contact_force_range": (-20.0, 50.0), "contact_cost_weight": 1e-3},
            episode(19, "held", 30),
        ),
        case("main_body_name", {"main_body": "aux_1"}, episode(20, "random", 15)),
        case("main_body_id", {"main_body": 4}, episode(21, "random", 10)),
        case("large_reset_noise", {"reset_noise_scale": 0.4}, episode(22, "random", 25), episode(23, "zero", 15)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(24, "zero", 15)),
        case("frame_skip_1", {"frame_skip": 1}, episode(25, "random", 30)),
        case("frame_skip_10", {"frame_skip": 10}, episode(26, "random", 15)),
    ],
    "HalfCheetah-v5": [
        case(
            "default",
            {},
            episode(0, "random", 120),
            episode(1, "held", 120),
            episode(2, "extreme", 80),
            episode(3, "zero", 40),
            episode(4, "outside", 40),
            episode(5, "random", 40, limit=15),
            *episodes(50, 10, 20),
        ),
        case("with_positions", {"exclude_current_positions_from_observation": False}, episode(10, "random", 15)),
        case("weights", {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.5}, episode(11, "extreme", 20)),
        case("large_reset_noise", {"reset_noise_scale": 0.5}, episode(12, "random", 40), episode(13, "held", 40)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(14, "zero", 15)),
        case("frame_skip_1", {"frame_skip": 1}, episode(15, "random", 30)),
    ],
    "Hopper-v5": [
        case(
            "default",
            {},
            episode(0, "random", 100),
            episode(1, "held", 100),
            episode(2, "extreme", 100),
            episode(3, "zero", 200),
            episode(4, "outside", 100),
            episode(5, "random", 40, limit=8),
            *episodes(50, 6, 25),
        ),
        # lies on the ground, joint limits and self contacts included
        case(
            "unhealthy_goes_on",
            {"terminate_when_unhealthy": False},
            episode(10, "held", 150),
            episode(11, "random", 150),
        ),
        case("healthy_state_range", {"healthy_state_range": (-8.0, 8.0)}, episode(12, "extreme", 60)),
        case("healthy_angle_range", {"healthy_angle_range": (-0.05, 0.02)}, episode(13, "held", 100)),
        case("healthy_z_range", {"healthy_z_range": (1.2, 1.4)}, episode(14, "high", 100)),
        case("with_positions", {"exclude_current_positions_from_observation": False}, episode(15, "random", 15)),
        case(
            "weights",
            {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.5, "healthy_reward": 3.0},
            episode(16, "extreme", 20),
        ),
        case("large_reset_noise", {"reset_noise_scale": 0.1}, episode(17, "random", 40), episode(18, "zero", 40)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(19, "zero", 15)),
        case("frame_skip_2", {"frame_skip": 2}, episode(20, "random", 30)),
    ],
    "Walker2d-v5": [
        case(
            "default",
            {},
            episode(0, "random", 100),
            episode(1, "held", 100),
            episode(2, "extreme", 100),
            episode(3, "zero", 200),
            episode(4, "outside", 100),
            episode(5, "random", 40, limit=8),
            *episodes(50, 8, 25),
        ),
        case(
            "unhealthy_goes_on",
            {"terminate_when_unhealthy": False},
            episode(10, "held", 150),
            episode(11, "random", 150),
        ),
        case("healthy_angle_range", {"healthy_angle_range": (-0.3, 0.25)}, episode(12, "held", 100)),
        case("healthy_z_range", {"healthy_z_range": (1.15, 1.3)}, episode(13, "extreme", 100)),
        case("with_positions", {"exclude_current_positions_from_observation": False}, episode(14, "random", 15)),
        case(
            "weights",
            {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.5, "healthy_reward": 3.0},
            episode(15, "extreme", 20),
        ),
        case("large_reset_noise", {"reset_noise_scale": 0.1}, episode(16, "random", 40), episode(17, "zero", 40)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(18, "zero", 15)),
        case("frame_skip_2", {"frame_skip": 2}, episode(19, "random", 30)),
    ],
    "InvertedPendulum-v5": [
        case(
            "default",
            {},
            episode(0, "random", 60),
            episode(1, "zero", 100),
            episode(2, "extreme", 60),
            episode(3, "high", 60),
            episode(4, "outside", 60),
            episode(5, "zero", 40, limit=6),
            *episodes(50, 10, 30),
            episode(6, "balance", 120),
        ),
        case("large_reset_noise", {"reset_noise_scale": 0.15}, episode(10, "random", 40), episode(11, "zero", 40)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(12, "zero", 30)),
        case("frame_skip_1", {"frame_skip": 1}, episode(13, "random", 40)),
    ],
    "InvertedDoublePendulum-v5": [
        case(
            "default",
            {},
            *episodes(0, 12, 40),
            episode(12, "outside", 40),
            episode(13, "high", 40),
            episode(14, "zero", 40, limit=6),
            *episodes(15, 4, 40),
        ),
        case("healthy_reward", {"healthy_reward": 2.5}, episode(20, "random", 20)),
        case("large_reset_noise", {"reset_noise_scale": 0.5}, *episodes(21, 4, 30)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(25, "zero", 30)),
        case("frame_skip_1", {"frame_skip": 1}, episode(26, "random", 40)),
    ],
    "Reacher-v5": [
        case(
            "default",
            {},
            *episodes(0, 16, 25),
            episode(16, "outside", 25),
            episode(17, "random", 60),
            episode(18, "high", 60),
            episode(19, "random", 10, limit=6),
        ),
        case("weights", {"reward_dist_weight": 2.5, "reward_control_weight": 0.3}, episode(20, "extreme", 20)),
        case("frame_skip_1", {"frame_skip": 1}, episode(21, "random", 20)),
        case("frame_skip_5", {"frame_skip": 5}, episode(22, "held", 20)),
    ],
    "Humanoid-v5": [
        *body_cases(0, 8, 3),
        case("ranges", {"healthy_z_range": (1.3, 1.41), "contact_cost_range": (0.0, 0.05)}, *episodes(40, 3, 12)),
        case("unhealthy_goes_on", {"terminate_when_unhealthy": False, "include_cinert_in_observation": False}, episode(44, "held", 45)),
        case(
            "weights",
            {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.5, "contact_cost_weight": 1e-5, "healthy_reward": 1.5},
            episode(46, "extreme", 8),
        ),
    ],
    "HumanoidStandup-v5": [
        *body_cases(0, 8, 3),
        case("ranges", {"impact_cost_range": (0.5, 0.6)}, *episodes(40, 2, 8)),
        case("long", {"include_cinert_in_observation": False}, episode(44, "held", 60)),
        case(
            "weights",
            {"uph_cost_weight": 3.0, "ctrl_cost_weight": 0.5, "impact_cost_weight": 1e-5},
            episode(46, "extreme", 8),
        ),
    ],
    "Swimmer-v5": [
        case(
            "default",
            {},
            *episodes(0, 16, 25),
            episode(16, "outside", 25),
            episode(17, "held", 100),
            episode(18, "high", 60),
            episode(19, "random", 20, limit=12),
        ),
        case("with_positions", {"exclude_current_positions_from_observation": False}, episode(20, "random", 15)),
        case("weights", {"forward_reward_weight": 2.5, "ctrl_cost_weight": 0.1}, episode(21, "extreme", 20)),
        case("large_reset_noise", {"reset_noise_scale": 2.5}, *episodes(22, 4, 15)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(26, "zero", 15)),
        case("frame_skip_1", {"frame_skip": 1}, episode(27, "random", 20)),
    ],
    "Pusher-v5": [
        case(
            "default",
            {},
            *episodes(0, 12, 20),
            episode(12, "outside", 20),
            episode(13, "held", 120),
            episode(14, "random", 20, limit=8),
            # the fork beside the cylinder, before it, above it
            *PUSHES,
        ),
        case(
            "weights",
            {"reward_near_weight": 2.0, "reward_dist_weight": 0.5, "reward_control_weight": 1.0},
            episode(30, "extreme", 20),
        ),
        case("frame_skip_2", {"frame_skip": 2}, episode(31, "random", 20)),
    ],
    "CartPole-v1": [
        case(
            "default",
            {},
            episode(0, "random", 60),
            episode(1, "zero", 60),
            episode(2, "high", 60),
            episode(3, "held", 60),
            episode(4, "balance", 200),
            episode(5, "balance", 40, limit=7),
            *episodes(50, 12, 40, ("random", "held", "balance")),
        ),
        case("sutton_barto_reward", {"sutton_barto_reward": True}, episode(10, "random", 60)),
    ],
}

# environments whose MuJoCo stops short of the solution: PGS, and the general convex collider
APPROXIMATE = {"Humanoid-v5", "HumanoidStandup-v5", "Pusher-v5"}

# the truncation of an episode that terminates at the same step: a second pass records it with this limit
BOTH = {"Hopper-v5": 0, "CartPole-v1": 2, "InvertedPendulum-v5": 3}
