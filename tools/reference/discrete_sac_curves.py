"""A learning curve of SAC over discrete actions in torch: the peer of bench/peer-curves.ts sac-discrete --peer PYTHON.

Written from Christodoulou (2019) in float32: two critics, targets that follow them, expectations over all actions, a temperature
that is learnt. Reads and prints what sb3_curves.py does. One Gymnasium environment, torch with one thread.
"""

import copy
import json
import math
import os
import sys
import time
from datetime import datetime, timezone

import gymnasium
import numpy as np
import torch
from torch import nn

EVAL_SEED = 10_000


def mlp(inputs, hidden, outputs):
    widths = [inputs, *hidden]
    layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


class Replay:
    """Every transition, in order; samples are uniform over the starts of returns of several steps."""

    def __init__(self, size, observations):
        self.seen, self.next = np.zeros((2, size, observations), np.float32)
        self.actions, self.rewards = np.zeros(size, np.int64), np.zeros(size, np.float32)
        self.terminated, self.ended = np.zeros((2, size), bool)
        self.count = 0

    def append(self, seen, action, reward, following, terminated, ended):
        at = self.count
        self.seen[at], self.actions[at], self.rewards[at], self.next[at] = seen, action, reward, following
        self.terminated[at], self.ended[at] = terminated, ended
        self.count += 1

    def sample(self, rng, batch, steps, gamma):
        first = rng.integers(0, self.count - steps + 1, batch)
        total, discount, last = np.zeros(batch, np.float32), np.ones(batch, np.float32), first.copy()
        going = np.ones(batch, bool)
        for i in range(steps):
            at = first + i
            total += np.where(going, discount * self.rewards[at], 0)
            discount = np.where(going, discount * gamma, discount)
            last = np.where(going, at, last)
            going &= ~self.ended[at]
        discount = np.where(self.terminated[last], 0, discount)
        rows = (self.seen[first], self.actions[first], total, self.next[last], discount)
        return [torch.as_tensor(row.astype(np.int64 if row.dtype == np.int64 else np.float32)) for row in rows]


class Agent:
    def __init__(self, config, observations, actions):
        self.config = config
        make = lambda: mlp(observations, config["hidden"], actions)  # noqa: E731
        self.policy, self.critics = make(), nn.ModuleList([make(), make()])
        self.targets = copy.deepcopy(self.critics)
        self.log_alpha = torch.tensor(math.log(config["initialTemperature"]), requires_grad=True)
        self.goal = config["targetEntropy"] * math.log(actions)
        adam = torch.optim.Adam
        self.by_policy = adam(self.policy.parameters(), config["learningRate"])
        self.by_critics = adam(self.critics.parameters(), config["criticLearningRate"])
        self.by_alpha = adam([self.log_alpha], config["temperatureLearningRate"])

    def learn(self, seen, actions, rewards, following, discount):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            logs = self.policy(following).log_softmax(1)
            lower = torch.minimum(self.targets[0](following), self.targets[1](following))
            goals = rewards + discount * (logs.exp() * (lower - alpha * logs)).sum(1)
        values = [critic(seen) for critic in self.critics]
        taken = [value.gather(1, actions[:, None])[:, 0] for value in values]
        loss = sum(0.5 * (value - goals).square().mean() for value in taken)
        self.by_critics.zero_grad()
        loss.backward()
        self.by_critics.step()

        with torch.no_grad():
            lower = torch.minimum(self.critics[0](seen), self.critics[1](seen))
        logs = self.policy(seen).log_softmax(1)
        loss = (logs.exp() * (alpha * logs - lower)).sum(1).mean()
        self.by_policy.zero_grad()
        loss.backward()
        self.by_policy.step()

        entropy = -(logs.exp() * logs).sum(1).mean().detach()
        self.by_alpha.zero_grad()
        (self.log_alpha * (entropy - self.goal)).backward()
        self.by_alpha.step()
        with torch.no_grad():
            for target, own in zip(self.targets.parameters(), self.critics.parameters()):
                target.lerp_(own, self.config["tau"])

    @torch.inference_mode()
    def logits(self, observation):
        return self.policy(torch.as_tensor(observation, dtype=torch.float32))


def evaluate(agent, env, seed, episodes):
    total = 0.0
    for i in range(episodes):
        observation, _ = env.reset(seed=seed + i)
        over = False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(int(agent.logits(observation).argmax()))
            total += reward
            over = terminated or truncated
    return float(f"{total / episodes:.6g}")


def main():
    setup = json.loads(sys.stdin.readline())
    config, seed = setup["config"], setup["seed"]
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env, judge = gymnasium.make(setup["env"]), gymnasium.make(setup["env"])
    agent = Agent(config, env.observation_space.shape[0], env.action_space.n)
    replay = Replay(setup["steps"], env.observation_space.shape[0])
    points, evaluations, start = [], [], time.process_time()
    observation, _ = env.reset(seed=seed)
    total = 0.0
    for at in range(1, setup["steps"] + 1):
        if at <= config["learningStarts"]:
            action = int(rng.integers(env.action_space.n))
        else:
            action = int(torch.distributions.Categorical(logits=agent.logits(observation)).sample())
        following, reward, terminated, truncated, _ = env.step(action)
        replay.append(observation, action, reward, following, terminated, terminated or truncated)
        observation, total = following, total + reward
        if terminated or truncated:
            points.append({"envSteps": at, "episodes": 1, "episodeReturn": total})
            observation, _ = env.reset()
            total = 0.0
        if at >= config["learningStarts"] and at % config["collectSteps"] == 0:
            for _ in range(config["gradientSteps"]):
                agent.learn(*replay.sample(rng, config["batchSize"], config["nSteps"], config["gamma"]))
        if at % setup["evalEvery"] == 0:
            evaluations.append([at, evaluate(agent, judge, EVAL_SEED + seed, setup["evalEpisodes"])])
    run = {
        "seed": seed,
        "points": points,
        "evaluations": evaluations,
        "evalEpisodes": setup["evalEpisodes"],
        "seconds": time.process_time() - start,
        "load": os.getloadavg()[0],
        "date": datetime.now(timezone.utc).isoformat(),
    }
    print(json.dumps({"versions": {m.__name__: m.__version__ for m in (gymnasium, torch)}, "run": run}))


if __name__ == "__main__":
    main()
