"""A learning curve of FastTD3 in torch on worlds of corral: the peer of bench/peer-curves.ts fasttd3 --peer PYTHON.

Written from Seo et al. (2025, arXiv 2505.22642) in float32: parallel worlds, each with exploration noise of its own deviation; two
critics that put out distributions over atoms, of which the one of the lower mean is the target; observations normalised by running
moments when they are drawn; a policy that moves every few batches; AdamW. Reads what rsl_rl_curves.py does. config has "atoms" (1:
values in place of distributions), "vMin", "vMax", "normalizeObservations" and "layerNorm", which is not FastTD3's, beside corral's
names. torch with one thread; the worlds step in a Node process.
"""

import copy
import json
import os
import resource
import sys
import time
from datetime import datetime, timezone
from importlib.metadata import version

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from corral.vector_env import CorralVectorEnv

EVAL_SEED = 10_000
# deviations of exploration, uniform over worlds and drawn anew with each episode; of the targets' actions, and its bound
NOISE = (0.001, 0.4)
TARGET_NOISE, TARGET_NOISE_CLIP = 0.001, 0.5
LAST_LAYER_DEVIATION = 0.01
NORMALIZER_EPSILON = 1e-2


def mlp(inputs, hidden, outputs, norms):
    widths = [inputs, *hidden]
    between = lambda width: [nn.LayerNorm(width), nn.ReLU()] if norms else [nn.ReLU()]  # noqa: E731
    layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), *between(b))]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


class Normalizer:
    """Moments of every observation so far."""

    def __init__(self, size):
        self.mean, self.squares, self.count = np.zeros(size), np.zeros(size), 0

    def add(self, rows):
        now, mean = len(rows), rows.mean(0, dtype=np.float64)
        shift, total = mean - self.mean, self.count + now
        self.squares += ((rows - mean) ** 2).sum(0) + shift**2 * self.count * now / total
        self.mean, self.count = self.mean + shift * now / total, total

    def __call__(self, rows):
        deviation = np.sqrt(self.squares / max(self.count, 1))
        return ((rows - self.mean) / (deviation + NORMALIZER_EPSILON)).astype(np.float32)


class Replay:
    """The newest rows of every world; samples are uniform over the starts of returns of several steps."""

    def __init__(self, rows, worlds, observations, actions):
        self.seen, self.next = np.zeros((2, rows, worlds, observations), np.float32)
        self.actions, self.rewards = np.zeros((rows, worlds, actions), np.float32), np.zeros((rows, worlds), np.float32)
        self.terminated, self.ended = np.zeros((2, rows, worlds), bool)
        self.count = 0

    def append(self, seen, actions, rewards, following, terminated, ended):
        at = self.count % len(self.seen)
        self.seen[at], self.actions[at], self.rewards[at], self.next[at] = seen, actions, rewards, following
        self.terminated[at], self.ended[at] = terminated, ended
        self.count += 1

    def sample(self, rng, batch, steps, gamma):
        rows, worlds = self.ended.shape
        oldest = max(0, self.count - rows)
        first = rng.integers(oldest, self.count - steps + 1, batch)
        world = rng.integers(0, worlds, batch)
        total, discount, last = np.zeros(batch, np.float32), np.ones(batch, np.float32), first % rows
        going = np.ones(batch, bool)
        for i in range(steps):
            at = (first + i) % rows
            total += np.where(going, discount * self.rewards[at, world], 0)
            discount = np.where(going, discount * np.float32(gamma), discount)
            last = np.where(going, at, last)
            going &= ~self.ended[at, world]
        discount = np.where(self.terminated[last, world], np.float32(0), discount)
        start = first % rows
        return self.seen[start, world], self.actions[start, world], total, self.next[last, world], discount


class Agent:
    def __init__(self, config, observations, actions):
        self.config, self.batches = config, 0
        atoms, hidden, norms = config["atoms"], config["hidden"], config["layerNorm"]
        self.policy = mlp(observations, hidden, actions, norms)
        nn.init.normal_(self.policy[-1].weight, 0, LAST_LAYER_DEVIATION)
        nn.init.zeros_(self.policy[-1].bias)
        make = lambda: mlp(observations + actions, hidden, atoms, norms)  # noqa: E731
        self.critics = nn.ModuleList([make(), make()])
        self.targets = copy.deepcopy(self.critics)
        self.support = torch.linspace(config["vMin"], config["vMax"], atoms) if atoms > 1 else None
        adam = lambda part, rate: torch.optim.AdamW(part.parameters(), rate, weight_decay=config["weightDecay"])  # noqa: E731
        self.by_policy = adam(self.policy, config["learningRate"])
        self.by_critics = adam(self.critics, config["criticLearningRate"])

    def act(self, seen):
        return self.policy(seen).tanh()

    def value(self, put_out):
        return put_out[:, 0] if self.support is None else put_out.softmax(1) @ self.support

    def project(self, shares, rewards, discount):
        """Shares of atoms that moved to rewards + discount * atom, between the two atoms that each now lies between."""
        support = self.support
        width = support[1] - support[0]
        moved = (rewards[:, None] + discount[:, None] * support).clamp(support[0], support[-1])
        place = ((moved - support[0]) / width).clamp(0, len(support) - 1)
        below = place.floor().clamp(max=len(support) - 2)
        upper = place - below
        found = torch.zeros_like(shares)
        found.scatter_add_(1, below.long(), shares * (1 - upper))
        return found.scatter_add_(1, below.long() + 1, shares * upper)

    def critic_loss(self, seen, actions, rewards, following, discount):
        with torch.no_grad():
            noise = (TARGET_NOISE * torch.randn_like(actions)).clamp(-TARGET_NOISE_CLIP, TARGET_NOISE_CLIP)
            pair = torch.cat([following, (self.act(following) + noise).clamp(-1, 1)], 1)
            first, second = (target(pair) for target in self.targets)
            values = self.value(first), self.value(second)
            if self.support is None:
                goals = rewards + discount * torch.minimum(*values)
            else:
                lower = torch.where((values[0] < values[1])[:, None], first, second).softmax(1)
                goals = self.project(lower, rewards, discount)
        put_out = [critic(torch.cat([seen, actions], 1)) for critic in self.critics]
        if self.support is None:
            return sum(functional.mse_loss(one[:, 0], goals) for one in put_out)
        return sum(-(goals * one.log_softmax(1)).sum(1).mean() for one in put_out)

    def learn(self, seen, actions, rewards, following, discount):
        loss = self.critic_loss(seen, actions, rewards, following, discount)
        self.by_critics.zero_grad()
        loss.backward()
        self.by_critics.step()
        if self.batches % self.config["policyEvery"] == 0:
            pair = torch.cat([seen, self.act(seen)], 1)
            loss = -torch.minimum(*(self.value(critic(pair)) for critic in self.critics)).mean()
            self.by_policy.zero_grad()
            loss.backward()
            self.by_policy.step()
        self.batches += 1
        with torch.no_grad():
            torch._foreach_lerp_(list(self.targets.parameters()), list(self.critics.parameters()), self.config["tau"])


class Worlds:
    """Worlds whose actions are in [-1, 1], with normalised observations."""

    def __init__(self, env, count):
        self.envs = CorralVectorEnv(env, count, autoreset="same-step", device="wasm", threads=1)
        space = self.envs.single_action_space
        self.low, self.high = space.low, space.high

    def step(self, actions):
        return self.envs.step((self.low + (self.high - self.low) * (0.5 + 0.5 * actions)).astype(np.float32))


def evaluate(act, worlds, seed):
    """The mean return of each world's first episode without noise."""
    seen, _ = worlds.envs.reset(seed=seed)
    returns, going = np.zeros(len(seen)), np.ones(len(seen), bool)
    while going.any():
        seen, rewards, terminated, truncated, _ = worlds.step(act(seen))
        returns += going * rewards
        going &= ~(terminated | truncated)
    return float(f"{returns.mean():.6g}")


def main():
    setup = json.loads(sys.stdin.readline())
    config, seed = setup["config"], setup["seed"]
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    count = config["numEnvs"]
    worlds, judges = Worlds(setup["env"], count), Worlds(setup["env"], setup["evalEpisodes"])
    observations, actions = worlds.envs.single_observation_space.shape[0], len(worlds.low)
    agent, normalizer = Agent(config, observations, actions), Normalizer(observations)
    normalize = normalizer if config["normalizeObservations"] else lambda rows: rows.astype(np.float32)
    replay = Replay(config["bufferSize"] // count, count, observations, actions)

    @torch.inference_mode()
    def act(seen):
        return agent.act(torch.from_numpy(normalize(seen))).numpy()

    points, evaluations, start = [], [], time.process_time()
    seen, _ = worlds.envs.reset(seed=seed)
    deviation = rng.uniform(*NOISE, (count, 1))
    ended_since, returned = 0, 0.0
    for at in range(count, setup["steps"] + 1, count):
        normalizer.add(seen)
        given = np.clip(act(seen) + deviation * rng.standard_normal((count, actions)), -1, 1)
        following, rewards, terminated, truncated, infos = worlds.step(given)
        ended, last = terminated | truncated, following
        if ended.any():
            last = following.copy()
            last[ended] = np.stack(infos["final_obs"][ended])
            deviation[ended] = rng.uniform(*NOISE, (int(ended.sum()), 1))
            ended_since, returned = ended_since + int(ended.sum()), returned + float(infos["episode"]["r"][ended].sum())
        replay.append(seen, given, rewards, last, terminated, ended)
        seen = following
        if at >= config["learningStarts"]:
            for _ in range(config["gradientSteps"]):
                rows = replay.sample(rng, config["batchSize"], config["nSteps"], config["gamma"])
                drawn = (normalize(rows[0]), *rows[1:3], normalize(rows[3]), rows[4])
                agent.learn(*(torch.from_numpy(row) for row in drawn))
        if at % setup["evalEvery"] == 0:
            if ended_since > 0:
                mean = float(f"{returned / ended_since:.6g}")
                points.append({"envSteps": at, "episodes": ended_since, "episodeReturn": mean})
            ended_since, returned = 0, 0.0
            evaluations.append([at, evaluate(act, judges, EVAL_SEED + seed)])
    load = os.getloadavg()[0]
    for held in (worlds, judges):
        held.envs.close()
    stepping = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = {
        "seed": seed,
        "points": points,
        "evaluations": evaluations,
        "evalEpisodes": setup["evalEpisodes"],
        "seconds": time.process_time() - start + stepping.ru_utime + stepping.ru_stime,
        "load": load,
        "date": datetime.now(timezone.utc).isoformat(),
    }
    print(json.dumps({"versions": {name: version(name) for name in ("torch", "numpy")}, "run": run}))


if __name__ == "__main__":
    main()
