"""A PPO in CleanRL's style, with CleanRL's published hyperparameters: a peer that bench/learning.ts --python PATH measures.

This is not CleanRL, which installs beside no current Gymnasium: it is corral's own re-implementation of the algorithm of
its ppo_continuous_action.py and ppo.py, written for this measurement, with torch and Gymnasium's vector environments.
Hyperparameters and preprocessing are those that https://docs.cleanrl.dev/rl-algorithms/ppo/ publishes: two tanh networks
of 64 x 64, orthogonal weights, Adam with epsilon 1e-5 and a linearly falling rate, GAE, clipped surrogate and value loss;
for continuous actions also actions clipped to their bounds, observations and rewards normalized and clipped to 10.

Reads {"env": id, "seconds": s, "threads": t}, then what peer_rates.py says. Its ways: CleanRL's own number of environments,
and 8, in one process and in eight, with minibatches of the published size; a rollout has the published number of samples in
all. The row that does not count keeps CleanRL's number of minibatches with 8 environments instead, as its --num-envs does:
larger ones, and fewer gradient steps for as many samples. With {"train": steps, "seed": n} it trains instead and prints the
returns of episodes over env steps.
"""

import json
import statistics
import sys
import time

from peer_rates import serve

CONTINUOUS = {"envs": 1, "steps": 2048, "minibatches": 32, "epochs": 10, "rate": 3e-4, "entropy": 0.0}
DISCRETE = {"envs": 4, "steps": 128, "minibatches": 4, "epochs": 4, "rate": 2.5e-4, "entropy": 0.01}
GAMMA, LAMBDA, CLIP, VALUE_WEIGHT, MAX_NORM = 0.99, 0.95, 0.2, 0.5, 0.5


def make_envs(env_id, count, processes):
    import gymnasium as gym
    import numpy as np

    def make():
        env = gym.wrappers.RecordEpisodeStatistics(gym.make(env_id))
        if isinstance(env.action_space, gym.spaces.Discrete):
            return env
        env = gym.wrappers.NormalizeObservation(gym.wrappers.ClipAction(env))
        space = gym.spaces.Box(-10, 10, env.observation_space.shape, np.float32)
        env = gym.wrappers.TransformObservation(env, lambda obs: np.clip(obs, -10, 10), space)
        env = gym.wrappers.NormalizeReward(env, gamma=GAMMA)
        return gym.wrappers.TransformReward(env, lambda reward: float(np.clip(reward, -10, 10)))

    vector = gym.vector.AsyncVectorEnv if processes else gym.vector.SyncVectorEnv
    return vector([make] * count, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)


class Ppo:
    """Environments, networks and a rollout; `update` is one iteration."""

    def __init__(self, env_id, seed=0, count=None, processes=False, minibatches=None, steps=None, total=1_000_000):
        import gymnasium as gym
        import numpy as np
        import torch
        from torch import nn

        self.np, self.torch = np, torch
        torch.manual_seed(seed)
        np.random.seed(seed)
        self.continuous = isinstance(gym.make(env_id).action_space, gym.spaces.Box)
        published = CONTINUOUS if self.continuous else DISCRETE
        self.setup = {**published, "steps": steps or published["steps"]}
        self.count = count or self.setup["envs"]
        self.envs = make_envs(env_id, self.count, processes)
        samples = self.count * self.setup["steps"]
        size = published["envs"] * published["steps"] // published["minibatches"]
        self.minibatch = samples // minibatches if minibatches else size
        self.total, self.done_steps, self.returns = total, 0, []

        observations = int(np.prod(self.envs.single_observation_space.shape))
        space = self.envs.single_action_space
        actions = int(np.prod(space.shape)) if self.continuous else int(space.n)

        def network(outputs, gain):
            layers = [(observations, 64, 2**0.5), (64, 64, 2**0.5), (64, outputs, gain)]
            parts = []
            for inputs, width, scale in layers:
                layer = nn.Linear(inputs, width)
                nn.init.orthogonal_(layer.weight, scale)
                nn.init.zeros_(layer.bias)
                parts += [layer, nn.Tanh()]
            return nn.Sequential(*parts[:-1])

        self.policy, self.value = network(actions, 0.01), network(1, 1.0)
        parameters = [*self.policy.parameters(), *self.value.parameters()]
        self.log_std = nn.Parameter(torch.zeros(1, actions))
        self.parameters = parameters + [self.log_std] if self.continuous else parameters
        self.adam = torch.optim.Adam(self.parameters, lr=self.setup["rate"], eps=1e-5)

        shape = (self.setup["steps"], self.count)
        self.rows = torch.zeros(shape + self.envs.single_observation_space.shape)
        self.actions = torch.zeros(shape + space.shape)
        self.log_probs, self.rewards, self.ends, self.values = (torch.zeros(shape) for _ in range(4))
        self.observation = torch.as_tensor(self.envs.reset(seed=seed)[0], dtype=torch.float32)
        self.ended = torch.zeros(self.count)

    def distribution(self, observations):
        outputs = self.policy(observations)
        if self.continuous:
            return self.torch.distributions.Normal(outputs, self.log_std.expand_as(outputs).exp())
        return self.torch.distributions.Categorical(logits=outputs)

    def summed(self, values):
        return values.sum(1) if self.continuous else values

    def act(self):
        """One control step of all environments with actions of the policy."""
        with self.torch.no_grad():
            distribution = self.distribution(self.observation)
            action = distribution.sample()
            log_prob, value = self.summed(distribution.log_prob(action)), self.value(self.observation).flatten()
        found, rewards, terminated, truncated, infos = self.envs.step(action.numpy())
        return action, log_prob, value, found, rewards, self.np.logical_or(terminated, truncated), infos

    def collect(self):
        for t in range(self.setup["steps"]):
            self.rows[t], self.ends[t] = self.observation, self.ended
            action, self.log_probs[t], self.values[t], found, rewards, ended, infos = self.act()
            self.actions[t] = action
            self.rewards[t] = self.torch.as_tensor(rewards, dtype=self.torch.float32)
            self.observation = self.torch.as_tensor(found, dtype=self.torch.float32)
            self.ended = self.torch.as_tensor(ended, dtype=self.torch.float32)
            self.done_steps += self.count
            episodes = infos.get("final_info", {}).get("episode")
            if episodes is not None:
                self.returns += [(self.done_steps, float(r)) for r, over in zip(episodes["r"], ended) if over]

    def advantages(self):
        with self.torch.no_grad():
            after = self.value(self.observation).flatten()
        result, last, ended = self.torch.zeros_like(self.rewards), 0.0, self.ended
        for t in reversed(range(self.setup["steps"])):
            delta = self.rewards[t] + GAMMA * after * (1 - ended) - self.values[t]
            last = delta + GAMMA * LAMBDA * (1 - ended) * last
            result[t], after, ended = last, self.values[t], self.ends[t]
        return result

    def update(self):
        """A rollout and the epochs on it. Returns env steps."""
        torch = self.torch
        for group in self.adam.param_groups:
            group["lr"] = self.setup["rate"] * max(0.0, 1 - self.done_steps / self.total)
        before = self.done_steps
        self.collect()
        advantages = self.advantages()
        rows = self.rows.reshape(-1, *self.rows.shape[2:])
        actions = self.actions.reshape(-1, *self.actions.shape[2:])
        old, values, advantages = (x.reshape(-1) for x in (self.log_probs, self.values, advantages))
        goals = advantages + values
        for _ in range(self.setup["epochs"]):
            for part in torch.randperm(len(old)).split(self.minibatch):
                distribution = self.distribution(rows[part])
                ratio = (self.summed(distribution.log_prob(actions[part])) - old[part]).exp()
                scaled = advantages[part]
                scaled = (scaled - scaled.mean()) / (scaled.std() + 1e-8)
                policy_loss = -torch.min(scaled * ratio, scaled * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                value = self.value(rows[part]).flatten()
                near = values[part] + (value - values[part]).clamp(-CLIP, CLIP)
                value_loss = 0.5 * torch.max((value - goals[part]) ** 2, (near - goals[part]) ** 2).mean()
                entropy = self.summed(distribution.entropy()).mean()
                loss = policy_loss - self.setup["entropy"] * entropy + VALUE_WEIGHT * value_loss
                self.adam.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
                self.adam.step()
        return self.done_steps - before


def way(setup, **how):
    ppo = Ppo(setup["env"], **how)
    actions = ppo.envs.action_space.sample()

    def simulated():
        ppo.envs.step(actions)
        return ppo.count

    def inference():
        ppo.observation = ppo.torch.as_tensor(ppo.act()[3], dtype=ppo.torch.float32)
        return ppo.count

    return {"simulated": simulated, "inference": inference, "training": ppo.update}, ppo.envs.close


def train(setup):
    ppo, start = Ppo(setup["env"], seed=setup["seed"], total=setup["train"]), time.perf_counter()
    while ppo.done_steps < setup["train"]:
        ppo.update()
    ppo.envs.close()
    last = [r for _, r in ppo.returns[-100:]]
    mean = statistics.fmean(last) if last else None
    return {"seconds": time.perf_counter() - start, "lastReturn": mean, "returns": ppo.returns}


def main():
    try:
        import gymnasium
        import torch
    except ImportError as error:
        print(json.dumps({"absent": f"not measured: {sys.executable} cannot import {error.name or error}; pip install torch 'gymnasium[mujoco]'"}))
        return

    setup = json.loads(sys.stdin.readline())
    versions = {m.__name__: m.__version__ for m in (gymnasium, torch)}
    about = {"what": "corral's re-implementation with CleanRL's published hyperparameters", "versions": versions, "env": setup["env"]}
    # of a network this small more threads only wait for each other: CleanRL's own benchmark uses one too
    torch.set_num_threads(setup.get("torchThreads", 1))
    if "train" in setup:
        print(json.dumps({**about, **train(setup)}))
        return
    continuous = isinstance(gymnasium.make(setup["env"]).action_space, gymnasium.spaces.Box)
    published = CONTINUOUS if continuous else DISCRETE
    own, minibatch = published["envs"], published["envs"] * published["steps"] // published["minibatches"]
    # samples of a rollout stay as they are; of larger minibatches there are as many, on rollouts that are longer by as much
    steps = own * published["steps"] // 8
    ways = [
        ({"environments": own, "processes": False}, {}),
        ({"environments": 8, "processes": False}, {"count": 8, "steps": steps}),
        ({"environments": 8, "processes": True}, {"count": 8, "steps": steps, "processes": True}),
        ({"environments": 8, "processes": False}, {"count": 8, "minibatches": published["minibatches"]}),
    ]
    described = [
        (
            {**row, "minibatch": 8 * published["steps"] // how["minibatches"] if "minibatches" in how else minibatch, "counts": "minibatches" not in how},
            lambda how=how: way(setup, **how),
        )
        for row, how in ways
    ]
    serve(about, described, setup)


if __name__ == "__main__":
    main()
