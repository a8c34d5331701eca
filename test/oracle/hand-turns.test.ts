// HandTurnCube: what it sees of the cube, and that a motion which fingers repeat turns it, beside MuJoCo
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec } from "../../src/env/index.ts";

const { default: gait } = (await import(new URL("../../examples/hand/gait.mjs", import.meta.url).href)) as {
  readonly default: (observations: ArrayLike<number>) => Float32Array;
};
const HAND = { device: "wasm", autoreset: "next-step", recorder: false } as const;

test("HandTurnCube can be done: the motion of examples/hand/gait.mjs turns the cube, steps beside MuJoCo", async () => {
  const [worlds, steps] = [16, 60];
  await using env = await makeVec("HandTurnCube", {
    ...HAND,
    numEnvs: worlds,
    monitor: { worlds: [0], everySteps: 10 },
  });
  let { observations } = await env.reset({ seed: 3 });
  const first = new Set(Array.from({ length: worlds }, (_, world) => world));
  let turned: readonly number[] = [];
  for (let t = 0; t < steps; t++) {
    const { observations: seen, terminated } = await env.step(gait(observations));
    observations = seen;
    terminated.forEach((over: number, world: number) => over && first.delete(world));
    turned = Array.from(first, (world) => env.infos.get("turned")!.values[world]);
  }
  // open-loop, and it drops none: forces that are not solved would throw the cube
  expect(first.size).toBe(worlds);
  expect(turned.reduce((sum, x) => sum + x, 0) / turned.length).toBeGreaterThan(2);
  expect(env.health().drift).toMatchObject({ checks: steps / 10, notOk: 0 });
});

test("a cube looks the same to the hand after a quarter turn, and not after less", async () => {
  const turns = [0.3, 0.3 + Math.PI / 2, 0.3 - Math.PI / 2, 0.3 + Math.PI, 0.8];
  await using env = await makeVec("HandTurnCube", { ...HAND, numEnvs: turns.length });
  await env.reset({ seed: 3 });
  const { qpos } = await env.getState(["qpos"]);
  const nq = qpos.length / turns.length;
  // in the air, where nothing touches it
  turns.forEach((yaw, world) => {
    const place = [0.1, 0, 0.4, Math.cos(yaw / 2), 0, 0, Math.sin(yaw / 2)];
    qpos.set([...qpos.subarray(0, 16), ...place], world * nq);
  });
  await env.setState({ qpos, qvel: new Float64Array(22 * turns.length) });
  const { observations } = await env.step(new Float32Array(16 * turns.length));
  const size = env.singleObservationSpace.size;
  const cube = turns.map((_, world) => Array.from(observations.subarray(world * size + 48, world * size + 56)));
  for (const same of cube.slice(1, 4)) same.forEach((x, i) => expect(x).toBeCloseTo(cube[0][i], 5));
  expect(cube[0].slice(3)).toEqual([0, 0, 1, expect.closeTo(Math.cos(1.2), 5), expect.closeTo(Math.sin(1.2), 5)]);
  expect(cube[4][6]).toBeCloseTo(Math.cos(3.2), 5);
});
