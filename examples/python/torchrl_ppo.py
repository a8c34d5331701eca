"""PPO of TorchRL's parts on 64 worlds of corral: python torchrl_ppo.py [ENV] [STEPS]."""

import sys

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import ExplorationType, GymWrapper, RewardSum, TransformedEnv, set_exploration_type
from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import corral

env = sys.argv[1] if len(sys.argv) > 1 else "InvertedPendulum-v5"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
num_envs, rollout, epochs, minibatch = 64, 64, 6, 1024

torch.manual_seed(0)
# networks so small are no work for two threads, which wait for each other
torch.set_num_threads(1)
# same-step: the next observation of a step that ends an episode is its last
worlds = TransformedEnv(GymWrapper(corral.make_vec(env, num_envs, seed=0, autoreset="same-step")), RewardSum())
space = worlds.action_spec_unbatched.space
inputs, outputs = worlds.observation_spec["observation"].shape[-1], worlds.action_spec_unbatched.shape[-1]


def network(size):
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, size))


actor = ProbabilisticActor(
    TensorDictModule(nn.Sequential(network(2 * outputs), NormalParamExtractor()), ["observation"], ["loc", "scale"]),
    in_keys=["loc", "scale"],
    distribution_class=TanhNormal,
    distribution_kwargs={"low": space.low, "high": space.high},
    return_log_prob=True,
)
critic = ValueOperator(network(1), in_keys=["observation"])
advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_bonus=False, normalize_advantage=True)
optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)

returns, at, start = [], 0, worlds.reset()
while at < steps:
    with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
        found = worlds.rollout(rollout, actor, tensordict=start, auto_reset=False, break_when_any_done=False)
        start = worlds.maybe_reset(worlds.step_mdp(found[:, -1]))
        advantage(found)
    for _ in range(epochs):
        for rows in torch.randperm(found.numel()).split(minibatch):
            losses = loss(found.reshape(-1)[rows])
            optimizer.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"]).backward()
            nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
            optimizer.step()
    at += found.numel()
    ended = found["next", "done"]
    returns = (returns + found["next", "episode_reward"][ended].tolist())[-100:]
    print(f"{at:>8} steps  mean return {sum(returns) / max(1, len(returns)):8.1f}", flush=True)
worlds.close()
