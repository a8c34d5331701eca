// flat settings of runs: which differences a run that goes on may have
import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { sacDiscreteConfig } from "../../../src/rl/sac-discrete/config.ts";
import { differences, trainOptions } from "../../../src/runs/options.ts";
import { hyperparameters } from "../../../src/runs/settings.ts";

const CONFIG = { env: "CartPole", algo: "ppo", numEnvs: 64, gamma: 0.99, steps: 1000 };

test("a hyperparameter that an older run did not know had its default", () => {
  expect(differences(CONFIG, { ...CONFIG, weightDecay: 0, steps: 2000 })).toEqual([]);
  expect(differences(CONFIG, { ...CONFIG, weightDecay: 0.1 })).toEqual(["weightDecay was not given and is 0.1"]);
  expect(differences(CONFIG, { ...CONFIG, gamma: 0.9 })).toEqual(["gamma was 0.99 and is 0.9"]);
  expect(differences({ ...CONFIG, "set.x": 1 }, CONFIG)).toEqual(["set.x was 1 and is not given"]);
});

test("values of a config nested 100,000 deep are refused in a few words", () => {
  let algo: unknown = 1;
  for (let i = 0; i < 100_000; i++) algo = [algo];
  expect(() => trainOptions({ algo })).toThrow("--algo is '[[[[[...]]]]]': pass ppo, sac, sac-discrete or dqn.");
  expect(differences({ algo: "ppo", gamma: 0.5 }, { algo: "ppo", gamma: 0.9 })).toEqual(["gamma was 0.5 and is 0.9"]);
});

test("a hyperparameter of another algorithm names the ones that have it", () => {
  expect(() => trainOptions({ tau: 0.01 })).toThrow(
    'ppo has no option "tau", which is of sac, sac-discrete, dqn. Pass --algo sac, or leave it out.',
  );
  expect(() => trainOptions({ algo: "dqn", epochs: 3 })).toThrow(
    'dqn has no option "epochs", which is of ppo. Pass --algo ppo, or leave it out.',
  );
});

test("a memory is refused by name where learners have none", () => {
  for (const algo of ["sac-discrete", "dqn"]) {
    const wanted = { code: "unsupported-recurrent", message: expect.stringContaining("recurrent is of PPO and SAC") };
    expect(() => trainOptions({ algo, recurrent: "gru" })).toThrow(expect.objectContaining(wanted));
  }
  const given = { recurrentSize: 8 } as Parameters<typeof sacDiscreteConfig>[0];
  expect(() => sacDiscreteConfig(given)).toThrow(expect.objectContaining({ code: "unsupported-recurrent" }));
  for (const algo of ["ppo", "sac"])
    expect(trainOptions({ algo, recurrent: "gru" }).config).toEqual({ recurrent: "gru" });
});

test("a memory takes returns of one step where the environment has more, and those that are given", () => {
  const nSteps = (config: object) => hyperparameters("InvertedPendulum-v5", { algo: "sac", config });
  expect(nSteps({})).toMatchObject({ nSteps: 2, tau: 0.03 });
  expect(nSteps({ recurrent: "none" })).toMatchObject({ nSteps: 2 });
  expect(nSteps({ recurrent: "gru" })).toMatchObject({ tau: 0.03 });
  expect(nSteps({ recurrent: "gru" })).not.toHaveProperty("nSteps");
  expect(nSteps({ recurrent: "gru", nSteps: 3 })).toMatchObject({ nSteps: 3 });
});
