// bodies of many geoms, which the broad phase meets in clusters beside their bodies: contacts are MuJoCo's, and frames that are made
// late are those of every geom
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { geomPairs } from "../../src/model/pairs.ts";
import { fixedIn } from "../../src/physics/collision/fixed-boxes.ts";
import { geomClusters } from "../../src/physics/collision/geom-clusters.ts";
import { modelView } from "../../src/physics/view.ts";
import { program } from "../support/trace-runner.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { stepAsMuJoCo } from "../support/contacts-as-mujocos.ts";
import { envBounds } from "../support/tolerances.ts";

const STEPS = 60;
const WORLDS = 2;
const FIXED = 34;

/** A tray of many geoms on a tilted plane and fixed boxes, a crate of some that falls into it, and a chain that meets both. */
function scene(seed: number, trayGeoms: number, crateGeoms: number): string {
  const r = createRandom(seed);
  const numbers = (count: number, low: number, high: number) =>
    Array.from({ length: count }, () => r.between(low, high).toFixed(4)).join(" ");
  const kinds = [
    () => `type="sphere" size="${numbers(1, 0.04, 0.08)}"`,
    () => `type="capsule" size="${numbers(2, 0.03, 0.07)}"`,
    () => `type="box" size="${numbers(3, 0.03, 0.08)}"`,
  ];
  const geoms = (count: number, wide: number, low: number, high: number) =>
    Array.from(
      { length: count },
      (_, i) =>
        `<geom ${kinds[i % 3]()} pos="${numbers(2, -wide, wide)} ${numbers(1, low, high)}" quat="${numbers(4, -1, 1)}"/>`,
    ).join("\n");
  const chain = [0, 1, 2].reduceRight(
    (inner, i) =>
      `<body pos="${i === 0 ? "-.5 .1 .55" : ".22 0 0"}"><joint axis="0 1 ${i % 2}" damping=".3"/><geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/>${inner}</body>`,
    "",
  );
  return `<mujoco><option timestep="0.004"/><worldbody><geom type="plane" size="3 3 1" euler="4 -3 0" pos="0 0 -.25"/>
    ${geoms(FIXED, 0.7, -0.2, -0.12)}
    <body pos="0 0 .1" quat="1 .1 .2 .4"><freejoint/>${geoms(trayGeoms, 0.4, -0.04, 0.04)}</body>
    <body pos="0 0 .5" quat="1 -.3 .1 0"><freejoint/>${geoms(crateGeoms, 0.12, -0.1, 0.1)}</body>
    ${chain}</worldbody></mujoco>`;
}

test.each([
  ["a tray in clusters", 1, 24, 5, undefined, [false, false]],
  ["a tray and a crate, whose geoms meet", 2, 20, 9, undefined, [true, true, false]],
  ["frames that are kept", 3, 24, 4, false, [false, false]],
] as const)("%s", async (_, seed, trayGeoms, crateGeoms, unroll, rows) => {
  const model = await loadModel(scene(seed, trayGeoms, crateGeoms));
  const hasRows: boolean[] = [];
  program(
    1,
    1,
    () => {
      const m = modelView(model);
      const pairs = geomPairs(model);
      hasRows.push(...geomClusters(m, pairs, fixedIn(m, pairs)).map((cluster) => cluster.hasRows));
      return [0];
    },
    { roomy: true },
  );
  expect(hasRows).toEqual(rows);

  const r = createRandom(seed + 10);
  const start = Float64Array.from({ length: WORLDS * model.nq }, (_unused, i) => {
    const at = model.qpos0[i % model.nq];
    return i % model.nq < 14 && (i % model.nq) % 7 < 3 ? at + r.between(-0.1, 0.1) : at;
  });
  const met = await stepAsMuJoCo(model, start, { steps: STEPS, unroll });
  expect(met).toBeGreaterThan((STEPS * WORLDS) / 2);
});

test("none beside a plane that explicit pairs join with more fixed geoms than clusters have columns for", async () => {
  const fixed = Array.from({ length: 241 }, (_, i) => `<geom name="f${i}" size=".02" pos="5 ${i} .5"/>`);
  const feet = Array.from({ length: 12 }, (_, i) => `<geom size=".03" pos="${0.08 * (i % 4)} ${0.02 * i} 0"/>`);
  const named = fixed.map((_, i) => `<pair geom1="floor" geom2="f${i}"/>`);
  const model = await loadModel(`<mujoco><worldbody><geom name="floor" type="plane" size="3 3 1"/>${fixed.join("")}
    <body pos="0 0 .028"><freejoint/>${feet.join("")}</body></worldbody><contact>${named.join("")}</contact></mujoco>`);
  await using simulation = await createSimulation(model, { numEnvs: 1, device: "cpu-f64", outputs: ["ncon"] });
  simulation.step(1);
  const { ncon, qpos } = await simulation.getState(["ncon", "qpos"]);
  await withMuJoCo(model, ({ mujoco, model: mj, data }) => {
    mujoco.mj_step(mj, data);
    expect(ncon[0]).toBe(data.ncon);
    expect(Math.abs(qpos[2] - data.qpos[2])).toBeLessThan(envBounds.randomised.value);
  });
});
