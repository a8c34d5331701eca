// the three autoreset modes against every call and answer of Gymnasium's SyncVectorEnv in `autoreset.json`
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { makeVec, type Autoreset, type StepResult } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { countdown, type Plan } from "../support/countdown.ts";
import { expectedInfos, plainInfos, rows, type Call } from "../support/recorded-calls.ts";

interface Scenario {
  readonly name: string;
  readonly autoreset_mode: "NEXT_STEP" | "SAME_STEP" | "DISABLED";
  readonly plan: readonly Plan[];
  readonly max_episode_steps: number;
  readonly statistics: boolean;
  readonly calls: readonly Call[];
}

const { scenarios } = JSON.parse(
  readFileSync(new URL("../fixtures/gymnasium/autoreset.json", import.meta.url), "utf8"),
) as { scenarios: Scenario[] };

const modeOf = (s: Scenario) => s.autoreset_mode.toLowerCase().replace("_", "-") as Autoreset;
const named = (...names: string[]): [string, Scenario][] =>
  scenarios.filter((s) => names.includes(s.name)).map((s) => [`${s.name}, ${modeOf(s)}`, s]);

describe.each(["cpu", undefined] as const)("on device %s", (device) => {
  test.each(named("countdown", "countdown_statistics", "countdown_resets"))("%s", async (_, scenario) => {
    const numEnvs = scenario.plan.length;
    await using env = await makeVec(countdown(scenario.plan), {
      numEnvs,
      autoreset: modeOf(scenario),
      ...(device ? { device } : {}),
    });

    for (const [k, call] of scenario.calls.entries()) {
      const mask = call.reset_mask ?? undefined;
      const result: StepResult =
        call.call === "reset"
          ? await env.reset({ ...(call.seed === null ? {} : { seed: call.seed }), options: mask ? { mask } : {} })
          : await env.step(call.actions as number[]);
      const at = `call ${k} (${call.call})`;
      expect(rows(result.observations, 2), at).toEqual(call.observations.data);
      const infos = plainInfos(result.infos, ["step", "episode_index"]);
      if (!scenario.statistics) {
        delete infos.episode;
        delete infos._episode;
      }
      expect(infos, at).toEqual(expectedInfos(call.infos));
      if (call.call === "reset") continue;
      expect([...result.rewards], at).toEqual(call.rewards.data);
      expect([...result.terminated].map(Boolean), at).toEqual(call.terminated.data);
      expect([...result.truncated].map(Boolean), at).toEqual(call.truncated.data);
    }
  });
});

test.each(named("hopper"))("keys and masks of a MuJoCo environment: %s", async (_, scenario) => {
  await using env = await makeVec("Hopper-v5", {
    numEnvs: 2,
    autoreset: modeOf(scenario),
    maxEpisodeSteps: scenario.max_episode_steps,
    device: "cpu",
  });
  const masks = (infos: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(infos)
        .filter(([key]) => key.startsWith("_") || key === "final_info")
        .map(([key, value]) => [key, key === "final_info" ? masks(value as Record<string, unknown>) : value]),
    );
  for (const [k, call] of scenario.calls.entries()) {
    const result =
      call.call === "reset"
        ? await env.reset({ options: call.reset_mask ? { mask: call.reset_mask } : {} })
        : await env.step(call.actions as number[][]);
    const names = [...new Set([...result.infos.names(), ...(result.infos.final_info?.names() ?? [])])];
    const got = masks(plainInfos(result.infos, names));
    expect(got, `call ${k} (${call.call})`).toEqual(masks(expectedInfos(call.infos)));
  }
});
