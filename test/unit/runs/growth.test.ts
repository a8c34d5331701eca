// warnings of losses, values and gradients that grow by orders of magnitude while they are finite
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import "../../../envs/index.ts";
import { defineTask, register, startAround } from "../../../src/env/index.ts";
import type { AnyMetrics } from "../../../src/rl/device/metrics.ts";
import { GrowthWatch } from "../../../src/runs/growth.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { logOf } from "../../support/runs.ts";

worldsOnWasm();

const root = mkdtempSync(join(tmpdir(), "corral-growth-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Updates at which a series of value losses is told of. */
function toldAt(updates: number, valueLoss: (update: number) => number): number[] {
  const watch = new GrowthWatch();
  const at: number[] = [];
  for (let i = 0; i < updates; i++) {
    const grown = watch.look({ minibatches: 1, policyLoss: 0, gradNorm: 0.5, valueLoss: valueLoss(i) } as AnyMetrics);
    if (grown.length > 0) at.push(i);
  }
  return at;
}

test("what grows with time, or as its square, and noise over two orders are as usual", () => {
  expect(toldAt(5000, (i) => i)).toEqual([]);
  expect(toldAt(5000, (i) => i * i)).toEqual([]);
  expect(toldAt(500, () => 0)).toEqual([]);
  const noise = fc.array(fc.double({ min: 0.1, max: 10, noNaN: true }), { minLength: 20, maxLength: 600 });
  fc.assert(fc.property(noise, (values) => toldAt(values.length, (i) => values[i]).length === 0));
});

test("a jump and slow exponential growth are told of once, at any length of a run", () => {
  for (const at of [30, 300, 3000]) expect(toldAt(2 * at, (i) => (i < at ? 0.2 : -900))).toEqual([at]);
  const [at, ...more] = toldAt(3000, (i) => 0.1 * 1.01 ** i);
  expect(more).toEqual([]);
  expect(at).toBeLessThan(1200);
});

test("what it has seen is plain data that a run goes on from", () => {
  const [whole, part] = [new GrowthWatch(), new GrowthWatch()];
  const metrics = (i: number) => ({ minibatches: 1, policyLoss: 0, gradNorm: 2 ** i, valueLoss: 1 }) as AnyMetrics;
  for (let i = 0; i < 10; i++) {
    whole.look(metrics(i));
    part.look(metrics(i));
  }
  const other = new GrowthWatch();
  other.put(JSON.parse(JSON.stringify(part.copy())) as ReturnType<GrowthWatch["copy"]>);
  for (let i = 10; i < 40; i++) expect(other.look(metrics(i))).toEqual(whole.look(metrics(i)));
});

/** Falls for ever; its reward is the fourth power of how far. */
const FALLING = defineTask({
  id: "Falling",
  model: `<mujoco><worldbody><body><joint name="z" type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/></body></worldbody>
    <actuator><motor joint="z" ctrlrange="-1 1"/></actuator></mujoco>`,
  frameSkip: 10,
  maxEpisodeSteps: Infinity,
  observe: { z: "qpos" },
  reward: { far: "square(square(qpos[0]))" },
  reset: startAround({ qpos: 0.01, qvel: 0.01 }),
});

test("corral train tells of a loss that runs away, in its lines, its log and its JSON", async () => {
  register(FALLING);
  const out = join(root, "run");
  const args = "train Falling --envs 4 --hidden 8 --rollout-steps 8 --minibatches 1 --epochs 1 --eval-envs 1 --json";
  const more = "--normalize-rewards false --clip-rewards Infinity --eval-every 10000 --steps 1600 --out";
  const { code, stdout, stderr } = await corral([...args.split(" "), ...more.split(" "), out]);
  expect(code, stderr).toBe(0);
  const { warnings } = JSON.parse(stdout) as { warnings: string[] };
  expect(warnings[0]).toMatch(/^update \d+: the .* is .*, [\d,]+ times what was usual \(.*\), and still finite\./);
  expect(stderr).toContain(warnings[0]);
  const told = logOf(out).filter(({ event }) => event === "growing");
  expect(told.map(({ message }) => message)).toEqual(warnings);
  const names = warnings.map((text) => /the (.*?) is/.exec(text)![1]);
  expect(names).toContain("value loss");
  expect(new Set(names).size).toBe(names.length);
});
