// boxes about geoms: what they say is apart is so for MuJoCo, and they spare most pairs that bounding spheres do not
import { expect, test } from "vitest";
import { boxTest } from "../../src/physics/collision/bounding-boxes.ts";
import { overlap, worldBoxes } from "../../src/physics/collision/world-boxes.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { loadModel } from "../../src/index.ts";
import { modelView } from "../../src/physics/view.ts";
import { not, or, select, type Bool, type Scalar } from "../../src/trace/scalar.ts";
import { ZERO3, type Mat3, type Vec3 } from "../../src/trace/vector.ts";
import { geomPairs, type GeomPair } from "../../src/model/pairs.ts";
import { mjtGeom } from "../../src/model/enums.ts";
import { framesIn } from "../support/collider-scene.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { program, runJs } from "../support/trace-runner.ts";

const POSES = 300;
const { PLANE } = mjtGeom;

const MODEL = `<mujoco><default><geom margin="0.01"/></default><asset><mesh name="wedge" vertex="0 0 0  .5 0 0  0 .1 0  0 0 .2  .5 .1 .05"/></asset><worldbody>
  <geom type="plane" size="1 1 1" pos="0.1 0 -.1" euler="20 10 0"/>
  ${[
    '"box" size=".3 .02 .1"',
    '"capsule" size=".03 .3"',
    '"cylinder" size=".2 .02"',
    '"ellipsoid" size=".3 .02 .1"',
    '"sphere" size=".1"',
    '"mesh" mesh="wedge"',
  ]
    .map((geom) => `<body><freejoint/><geom type=${geom}/></body>`)
    .join("")}</worldbody></mujoco>`;

test("pairs whose boxes are apart have no contact in MuJoCo, most of the others have", async () => {
  const mujoco = await getMuJoCo();
  const model = await loadModel(MODEL);
  const mj = mujoco.MjModel.from_xml_string(MODEL);
  const data = new mujoco.MjData(mj);
  const pairs = geomPairs(model);
  const verdictsOf = (x: Scalar[]): Scalar[] => {
    const frames = framesIn(x);
    const view = modelView(model);
    const isApart = boxTest(view, frames, pairs);
    const { of, inLine } = worldBoxes(view, frames, pairs)!;
    const solid = [...new Set(pairs.flatMap((p) => [p.geom1, p.geom2]))].filter((g) => model.geom_type[g] !== PLANE);
    const all = inLine(solid, solid.length, false).around(0);
    const isOutside = (p: GeomPair): Bool =>
      model.geom_type[p.geom1] === PLANE
        ? false
        : or(not(overlap(of(p.geom1), of(p.geom2))), not(overlap(of(p.geom1), all)));
    return [
      ...pairs.map((p) => select(isApart(p.geom1, p.geom2, p.margin + p.gap), 1, 0)),
      ...pairs.map((p) => select(isOutside(p), 1, 0)),
    ];
  };
  // with room edges tell boxes apart too
  const traced = program(12 * model.ngeom, 2 * pairs.length, verdictsOf, { roomy: true });
  const r = createRandom(5);
  const rows: number[][] = [];
  const touching: boolean[][] = [];
  for (let k = 0; k < POSES; k++) {
    data.qpos.set(Array.from({ length: model.nq }, (_, i) => (i % 7 < 3 ? r.between(-0.4, 0.4) : r.between(-1, 1))));
    mujoco.mj_kinematics(mj, data);
    const numbers = (of: ArrayLike<number>, g: number, n: number) => Array.from(of).slice(n * g, n * g + n);
    rows.push(
      Array.from({ length: model.ngeom }, (_, g) => [
        ...numbers(data.geom_xpos, g, 3),
        ...numbers(data.geom_xmat, g, 9),
      ]).flat(),
    );
    mujoco.mj_comPos(mj, data);
    mujoco.mj_collision(mj, data);
    const list = data.contact;
    const met = new Set<string>();
    for (let i = 0; i < list.size(); i++) {
      const contact = list.get(i)!;
      met.add(`${contact.geom[0]} ${contact.geom[1]}`);
      contact.delete();
    }
    list.delete();
    touching.push(pairs.map(({ geom1, geom2 }) => met.has(`${geom1} ${geom2}`)));
  }
  data.delete();
  mj.delete();
  const verdicts = runJs(traced, "f32", rows);
  let [near, kept, overlapping] = [0, 0, 0];
  verdicts.forEach((row, k) =>
    row.slice(0, pairs.length).forEach((apart, p) => {
      const isTouching = touching[k][p];
      const isOutside = row[pairs.length + p] === 1;
      expect(isOutside && isTouching, JSON.stringify(pairs.at(p))).toBe(false);
      if (!isOutside) overlapping++;
      expect(apart === 1 && isTouching, JSON.stringify(pairs.at(p))).toBe(false);
      if (apart === 0) kept++;
      if (isTouching) near++;
    }),
  );
  expect(near).toBeGreaterThan(POSES);
  // 0.83 with boxes about what is round
  expect(near / kept).toBeGreaterThan(0.9);
  expect(overlapping).toBeLessThan(0.6 * POSES * pairs.length);
});

test("boxes with a margin have no boxes along the world's axes", async () => {
  const pair = (margin: number) =>
    loadModel(`<mujoco><worldbody><geom type="box" size=".1 .1 .1"/><body><freejoint/>
      <geom type="box" size=".1 .1 .1" margin="${margin}"/></body></worldbody></mujoco>`);
  const hasBoxes: boolean[] = [];
  for (const model of [await pair(0), await pair(0.01)])
    program(12, 1, () => {
      const frames = {
        pos: () => [0, 0, 0] as Vec3,
        mat: () => [1, 0, 0, 0, 1, 0, 0, 0, 1] as Mat3,
        body: () => ZERO3,
        axes: () => [1, 0, 0, 0, 1, 0, 0, 0, 1] as Mat3,
      };
      hasBoxes.push(worldBoxes(modelView(model), frames, geomPairs(model)) !== undefined);
      return [0];
    });
  expect(hasBoxes).toEqual([true, false]);
});
