"""PPO on every node of a Ray cluster: actors collect where worlds are, one process learns, weights go by the object store.

python ray_ppo.py [ENV] [STEPS] [WORLDS PER NODE] [CHECKPOINT] [UNTIL RETURN]. Runs on the cluster of RAY_ADDRESS, or on this machine.
Steps of a node that is lost are missing from one update; a run that is killed goes on from its checkpoint.
"""

import sys
import time
from pathlib import Path

import numpy as np
import ray
import torch
from torch import nn
from torch.distributions import Normal

import corral.ray

ROLLOUT, EPOCHS, MINIBATCH = 64, 6, 1024
GAMMA, LAMBDA, CLIP, RATE, GRADIENT = 0.99, 0.95, 0.2, 1e-3, 0.5


class Policy:
    """What collectors are sent: weights of a network of tanh, and a deviation. Needs NumPy alone."""

    def __init__(self, layers, log_std):
        self.layers, self.log_std, self.random = layers, log_std, None

    def __call__(self, observations):
        # collectors that were sent one state of a generator would draw alike
        self.random = self.random or np.random.default_rng()
        x = observations
        for i, (weight, bias) in enumerate(self.layers):
            x = (np.tanh(x) if i > 0 else x) @ weight.T + bias
        return (x + np.exp(self.log_std) * self.random.standard_normal(x.shape)).astype(np.float32), {}


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class Learner:
    def __init__(self, inputs, outputs):
        self.actor, self.critic = network(inputs, outputs), network(inputs, 1)
        self.log_std = nn.Parameter(torch.zeros(outputs))
        self.modules = nn.ModuleList([self.actor, self.critic, nn.ParameterList([self.log_std])])
        self.optimizer = torch.optim.Adam(self.modules.parameters(), lr=RATE, eps=1e-5)
        self.steps = 0

    def policy(self):
        layers = [(each.weight.detach().numpy(), each.bias.detach().numpy()) for each in self.actor if isinstance(each, nn.Linear)]
        return Policy(layers, self.log_std.detach().numpy())

    def advantages(self, fragment):
        """Rows of a fragment that were steps: observations, actions, advantages, returns."""
        observations = torch.tensor(fragment.observations)
        with torch.no_grad():
            values = self.critic(observations).squeeze(-1).numpy()
        going_on = ~(fragment.terminated | fragment.truncated)
        # the observation behind a step that ended is the last of its episode
        errors = fragment.rewards + GAMMA * values[1:] * ~fragment.terminated - values[:-1]
        found, after = np.zeros_like(errors), np.zeros(errors.shape[1], errors.dtype)
        for t in reversed(range(len(errors))):
            found[t] = after = errors[t] + GAMMA * LAMBDA * going_on[t] * after
        taken = fragment.steps_taken
        rows = (fragment.observations[:-1][taken], fragment.actions[taken], found[taken], (found + values[:-1])[taken])
        return [torch.from_numpy(np.asarray(each, np.float32)) for each in rows]

    def update(self, fragments):
        observations, actions, advantages, returns = map(torch.cat, zip(*map(self.advantages, fragments)))
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        with torch.no_grad():
            before = Normal(self.actor(observations), self.log_std.exp()).log_prob(actions).sum(-1)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(observations)).split(MINIBATCH):
                log_prob = Normal(self.actor(observations[rows]), self.log_std.exp()).log_prob(actions[rows]).sum(-1)
                ratio = (log_prob - before[rows]).exp()
                gain = torch.min(ratio * advantages[rows], ratio.clamp(1 - CLIP, 1 + CLIP) * advantages[rows])
                error = (self.critic(observations[rows]).squeeze(-1) - returns[rows]).square()
                self.optimizer.zero_grad()
                (0.5 * error.mean() - gain.mean()).backward()
                nn.utils.clip_grad_norm_(self.modules.parameters(), GRADIENT)
                self.optimizer.step()
        self.steps += len(observations)

    def save(self, path):
        partial = path.with_suffix(".partial")
        torch.save({"modules": self.modules.state_dict(), "optimizer": self.optimizer.state_dict(), "steps": self.steps}, partial)
        partial.replace(path)

    def load(self, path):
        kept = torch.load(path)
        self.modules.load_state_dict(kept["modules"])
        self.optimizer.load_state_dict(kept["optimizer"])
        self.steps = kept["steps"]


def train(env, steps, worlds, checkpoint=None, until=float("inf"), **options):
    """Trains for so many steps, or until a mean return, and returns that of the last 100 episodes."""
    # networks so small are no work for two threads, which wait for each other
    torch.set_num_threads(1)
    with corral.ray.Collectors(env, worlds, **options) as collectors:
        learner = Learner(collectors.single_observation_space.shape[0], collectors.single_action_space.shape[0])
        if checkpoint is not None and checkpoint.exists():
            learner.load(checkpoint)
        returns, mean, start = [], float("nan"), time.perf_counter()
        while learner.steps < steps and not mean >= until:
            fragments = collectors.collect(learner.policy(), ROLLOUT)
            if not fragments:
                continue
            learner.update(fragments)
            if checkpoint is not None:
                learner.save(checkpoint)
            returns = (returns + [each for fragment in fragments for each in fragment.returns])[-100:]
            mean = float(np.mean(returns)) if returns else mean
            where = f"{len(fragments)} collectors, {collectors.lost} lost"
            print(f"{learner.steps:>8} steps  {time.perf_counter() - start:6.1f} s  mean return {mean:8.1f}  {where}", flush=True)
    return mean


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    torch.manual_seed(0)
    ray.init(ignore_reinit_error=True, include_dashboard=False, log_to_driver=False)
    kept = Path(given[4]) if 4 in given else None
    until = float(given.get(5, "inf"))
    train(given.get(1, "InvertedPendulum-v5"), int(given.get(2, 400_000)), int(given.get(3, 32)), kept, until)
