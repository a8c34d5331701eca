"""The autoreset rules of docs/gymnasium-parity.md, held against what SyncVectorEnv returned for the Countdown worlds."""

import json

NUMBER = {"episode_index": "int64", "step": "int64"}


class Countdown:
    """Twin of the environment in record_autoreset.py."""

    def __init__(self, plan):
        self.plan, self.episode, self.steps = plan, -1, 0

    def observation(self):
        return [float(self.episode), float(self.steps)]

    def reset(self):
        self.episode, self.steps = self.episode + 1, 0
        return {"episode_index": self.episode}

    def step(self):
        self.steps += 1
        done = [self.steps == self.plan[key] for key in ("terminate_at", "truncate_at")]
        return float(10 * self.episode + self.steps), *done, {"step": self.steps}


class Rules:
    """A vector environment, by the rules alone."""

    def __init__(self, mode, plan, statistics, forgets):
        self.mode, self.worlds, self.statistics, self.forgets = mode, [Countdown(p) for p in plan], statistics, forgets
        self.n = len(plan)
        self.done = [False] * self.n
        self.returns, self.lengths = [0.0] * self.n, [0] * self.n

    def array(self, values, dtype, shape=None):
        return {"dtype": dtype, "shape": shape or [self.n], "data": values}

    def infos(self, rows):
        """An array and a mask for every key; worlds without the key have zero and false."""
        infos = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            present = [name in row for row in rows]
            if name == "final_obs":
                values = [self.array(row[name], "float32", [2]) if name in row else None for row in rows]
                infos[name] = self.array(values, "object")
            elif name == "final_info":
                infos[name] = self.infos([row.get(name, {}) for row in rows])
            else:
                infos[name] = self.array([row.get(name, 0) for row in rows], NUMBER[name])
            infos[f"_{name}"] = self.array(present, "bool")
        return infos

    def observations(self):
        return self.array([world.observation() for world in self.worlds], "float32", [self.n, 2])

    def reset(self, mask):
        chosen = mask or [True] * self.n
        rows = [world.reset() if c else {} for world, c in zip(self.worlds, chosen)]
        for i in range(self.n):
            if chosen[i] or self.forgets:
                self.returns[i], self.lengths[i] = 0.0, 0
            if chosen[i]:
                self.done[i] = False
        return {"observations": self.observations(), "infos": self.infos(rows)}

    def step(self):
        rewards, terminated, truncated, rows = [], [], [], []
        for i, world in enumerate(self.worlds):
            if self.mode == "NEXT_STEP" and self.done[i]:
                # this call only resets: its action is ignored
                reward, term, trunc, row = 0.0, False, False, world.reset()
                self.returns[i], self.lengths[i] = 0.0, 0
            else:
                reward, term, trunc, row = world.step()
                self.returns[i] += reward
                self.lengths[i] += 1
                if self.mode == "SAME_STEP" and (term or trunc):
                    row = {"final_obs": world.observation(), "final_info": row, **world.reset()}
            rewards.append(reward)
            terminated.append(term)
            truncated.append(trunc)
            rows.append(row)

        done = [a or b for a, b in zip(terminated, truncated)]
        infos = self.infos(rows)
        if self.statistics and any(done):
            infos["episode"] = {
                "r": self.array([r if d else 0.0 for r, d in zip(self.returns, done)], "float64"),
                "l": self.array([l if d else 0 for l, d in zip(self.lengths, done)], "int64"),
            }
            infos["_episode"] = self.array(done, "bool")
        if self.mode == "SAME_STEP":
            self.returns = [0.0 if d else r for r, d in zip(self.returns, done)]
            self.lengths = [0 if d else l for l, d in zip(self.lengths, done)]
        self.done = done
        return {
            "observations": self.observations(),
            "rewards": self.array(rewards, "float64"),
            "terminated": self.array(terminated, "bool"),
            "truncated": self.array(truncated, "bool"),
            "infos": infos,
        }


def scenarios(path):
    """(name, holds, calls) of every recorded scenario of the Countdown worlds, up to the first refused call."""
    for scenario in json.loads(path.read_text())["scenarios"]:
        if scenario["env"] != "Countdown":
            continue
        rules = Rules(scenario["autoreset_mode"], scenario["plan"], scenario["statistics"], "forgotten" in scenario["name"])
        holds, calls = True, 0
        for call in scenario["calls"]:
            if "error" in call:
                break
            expected = rules.reset(call["reset_mask"]) if call["call"] == "reset" else rules.step()
            holds &= all(call[name] == value for name, value in expected.items())
            calls += 1
        yield f"{scenario['name']} {scenario['autoreset_mode']}", holds, calls


def half_stepped(path):
    """After the refused step (world 3 was done), worlds 0 to 2 are at step 2 and world 4 is still at step 1."""
    (misuse,) = [s for s in json.loads(path.read_text())["scenarios"] if s["name"] == "countdown_misuse"]
    refused = next(i for i, call in enumerate(misuse["calls"]) if "error" in call)
    seen = misuse["calls"][refused + 1]["observations"]["data"]
    return [row[1] for row in seen] == [2, 2, 2, 0, 1]
