"""What is recorded: for each environment, cases of constructor arguments, and for each case episodes (seed, actions, steps).

Actions are float32, as an action space samples them:
  random   uniform over the space
  zero     all zero
  extreme  each entry at its lower or its upper bound
  outside  uniform over three times the space, so MuJoCo clamps the control while the reward counts the action as given
  held     a random action, kept for ten steps
  high     every entry at its upper bound
  balance  a feedback that keeps a pole up (InvertedPendulum and CartPole)
`limit` is max_episode_steps; None is the registered default.
"""


def episode(seed, actions, steps, limit=None):
    return {"seed": seed, "actions": actions, "steps": steps, "limit": limit}


def case(name, kwargs, *episodes):
    return {"name": name, "kwargs": kwargs, "episodes": list(episodes)}


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
            episode(6, "balance", 120),
        ),
        case("large_reset_noise", {"reset_noise_scale": 0.15}, episode(10, "random", 40), episode(11, "zero", 40)),
        case("no_reset_noise", {"reset_noise_scale": 0.0}, episode(12, "zero", 30)),
        case("frame_skip_1", {"frame_skip": 1}, episode(13, "random", 40)),
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
        ),
        case("sutton_barto_reward", {"sutton_barto_reward": True}, episode(10, "random", 60)),
    ],
}

# the truncation of an episode that terminates at the same step: a second pass records it with this limit
BOTH = {"Hopper-v5": 0, "CartPole-v1": 2, "InvertedPendulum-v5": 3}
