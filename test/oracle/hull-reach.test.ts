// hulls told apart before a search by how far they reach: never where MuJoCo has a contact, and mostly where it has none
import { expect, test } from "vitest";
import { loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { geomPairs } from "../../src/model/pairs.ts";
import { boxTest } from "../../src/physics/collision/bounding-boxes.ts";
import { hullReach } from "../../src/physics/collision/hull-reach.ts";
import { modelView } from "../../src/physics/view.ts";
import { select } from "../../src/trace/scalar.ts";
import { framesIn } from "../support/collider-scene.ts";
import { unit } from "../support/collider-poses.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { program, runJs } from "../support/trace-runner.ts";

const POSES = 3_000;
const r = createRandom(5);
/** Vertices on an ellipsoid, away from its centre. */
const lump = (half: readonly number[], at: number): string =>
  Array.from({ length: 60 }, () => unit(r, 3).map((x, k) => x * half[k] + at))
    .flat()
    .join(" ");
const long = lump([0.12, 0.03, 0.05], 0.02);
const round = lump([0.06, 0.07, 0.05], -0.04);
const LONG = 'type="mesh" mesh="long"';
const scene = (second: string, margin: number) => `<mujoco><asset>
  <mesh name="long" vertex="${long}"/><mesh name="round" vertex="${round}"/></asset>
  <worldbody><body><freejoint/><geom ${LONG} margin="${margin}"/></body>
  <body><freejoint/><geom ${second}/></body></worldbody></mujoco>`;

test.each([
  { second: 'type="mesh" mesh="round"', margin: 0 },
  { second: 'type="mesh" mesh="round"', margin: 0.01 },
  { second: 'type="cylinder" size=".03 .08"', margin: 0 },
  { second: 'type="ellipsoid" size=".03 .05 .08"', margin: 0 },
])("$second, margin $margin", async ({ second, margin }) => {
  const model = await loadModel(scene(second, margin));
  const pairs = geomPairs(model);
  const { geom1, geom2 } = pairs.at(0);
  const told = [false, true].map((roomy) =>
    program(24, 1, (x) => [select(boxTest(modelView(model), framesIn(x), pairs)(geom1, geom2, margin), 1, 0)], {
      roomy,
    }),
  );
  using oracle = await createOracle(model);
  const { mujoco, model: m, data } = oracle;
  const touches: boolean[] = [];
  const rows = Array.from({ length: POSES }, () => {
    const way = unit(r, 3).map((x) => x * r.between(0.02, 0.22));
    oracle.write("qpos", [0, 0, 0, ...unit(r, 4), ...way, ...unit(r, 4)]);
    mujoco.mj_kinematics(m, data);
    mujoco.mj_comPos(m, data);
    mujoco.mj_collision(m, data);
    touches.push(data.ncon > 0);
    const [pos, mat] = [oracle.read("geom_xpos"), oracle.read("geom_xmat")];
    return [0, 1].flatMap((g) => [...pos.subarray(3 * g, 3 * g + 3), ...mat.subarray(9 * g, 9 * g + 9)]);
  });
  const [boxes, all] = told.map((of) => runJs(of, "f32", rows).map(([apart]) => apart === 1));
  all.forEach((apart, i) => apart && expect(touches[i], `pose ${i}`).toBe(false));
  const count = (list: readonly boolean[]) => list.filter((x) => x).length;
  const free = POSES - count(touches);
  expect(count(all)).toBeGreaterThan(0.85 * free);
  expect(count(boxes)).toBeLessThan(0.8 * free);
});

test.each(["f32", "f64"] as const)(
  "a hull reaches no farther than its table says, nor much less, %s",
  async (precision) => {
    const model = await loadModel(scene(LONG, 0));
    const { vert, vertadr, vertnum, mesh } = model.hulls!;
    const h = mesh[model.geom_dataid[0]];
    const traced = program(3, 1, (x) => [hullReach(modelView(model))!.along(0, [x[0], x[1], x[2]], 1e9)], {
      roomy: true,
    });
    const rows = Array.from({ length: POSES }, (_, i) => {
      const d = unit(r, 3).map((x) => Math.fround(x * 10 ** r.between(-2, 2)));
      // along edges and corners of the cube too
      return i % 3 === 0 ? d : d.map((x) => (i % 3 === 1 ? Math.sign(x) : Math.round(3 * x) / 3));
    }).filter((d) => Math.hypot(...d) > 0);
    runJs(traced, precision, rows).forEach(([reach], i) => {
      let exact = -Infinity;
      for (let v = 3 * vertadr[h]; v < 3 * (vertadr[h] + vertnum[h]); v += 3)
        exact = Math.max(
          exact,
          rows[i].reduce((s, x, k) => s + x * vert[v + k], 0),
        );
      const length = Math.hypot(...rows[i]);
      expect((reach - exact) / length, rows[i].join()).toBeGreaterThan(precision === "f32" ? -1e-7 : -1e-14);
      expect((reach - exact) / length, rows[i].join()).toBeLessThan(0.01);
    });
  },
);
