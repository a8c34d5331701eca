// flat settings of runs: which differences a run that goes on may have
import { expect, test } from "vitest";
import { differences } from "../../../src/runs/options.ts";

const CONFIG = { env: "CartPole", algo: "ppo", numEnvs: 64, gamma: 0.99, steps: 1000 };

test("a hyperparameter that an older run did not know had its default", () => {
  expect(differences(CONFIG, { ...CONFIG, weightDecay: 0, steps: 2000 })).toEqual([]);
  expect(differences(CONFIG, { ...CONFIG, weightDecay: 0.1 })).toEqual(["weightDecay was not given and is 0.1"]);
  expect(differences(CONFIG, { ...CONFIG, gamma: 0.9 })).toEqual(["gamma was 0.99 and is 0.9"]);
  expect(differences({ ...CONFIG, "set.x": 1 }, CONFIG)).toEqual(["set.x was 1 and is not given"]);
});
