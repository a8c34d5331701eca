// what the viewer picks is what MuJoCo's own rays meet (mj_ray): a geom of the same body, at the same distance
import { expect, test } from "vitest";
import { loadModel } from "../../src/model/model.ts";
import { Stage } from "../../src/render/poses.ts";
import { offsetOf, SHOWN } from "../../src/render/show.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { pickBounds } from "../support/tolerances.ts";
import { pick } from "../../viewer/pick.ts";

const MODEL = `<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  0.6 0 0  0 0.6 0  0 0 0.6"/>
    <hfield name="hill" nrow="5" ncol="5" size="1 1 0.4 0.1" elevation="0 0 0 0 0  0 1 1 0 0  0 0 0 .5 0  0 .3 0 0 0  0 0 0 0 0"/></asset>
  <worldbody>
    <geom type="plane" size="4 4 0.1" pos="0 0 -2"/>
    <geom type="hfield" hfield="hill" pos="2 2 0"/>
    <body pos="0 0 0.6"><freejoint/><geom size="0.3"/><geom type="capsule" fromto="0 0 0 .8 0 .3" size=".1"/></body>
    <body pos="1 -1 0.5"><joint type="ball"/><geom type="box" size="0.2 0.3 0.4" euler="20 30 40"/>
      <body pos="0 0 .6"><joint axis="1 0 0"/><geom type="cylinder" size="0.2 0.3" euler="50 0 10"/></body></body>
    <body pos="-1 0 0.5"><joint/><geom type="mesh" mesh="wedge" euler="10 20 30"/></body>
    <body pos="-1 1 0.5"><joint/><geom type="ellipsoid" size="0.2 0.3 0.15" euler="0 40 10"/></body>
  </worldbody>
</mujoco>`;
/** Rays, and the share of them that may meet an edge: float32 poses decide there. */
const RAYS = 2000;
const EDGES = 0.005;

test("picking names the body that a ray of MuJoCo's meets first", async () => {
  const model = await loadModel(MODEL, { visuals: true });
  using stage = await Stage.create(model);
  const { mujoco, model: mj, data } = stage.oracle;
  const r = createRandom(7);
  const qpos = Array.from(model.qpos0, (x) => x + r.between(-0.3, 0.3));
  const poses = stage.poses([{ qpos }, { qpos }]);
  stage.put({ qpos });
  const [geom, normal] = [new mujoco.IntBuffer(1), new mujoco.DoubleBuffer(3)];
  const seen = new Map<number, number>();
  let edges = 0;
  for (let k = 0; k < RAYS; k++) {
    const eye = [r.between(-4, 4), r.between(-4, 4), r.between(1.5, 4)];
    const at = [r.between(-1.5, 2.5), r.between(-1.5, 2.5), r.between(0, 1)];
    const far = Math.hypot(...at.map((x, i) => x - eye[i]));
    const along = at.map((x, i) => (x - eye[i]) / far);
    const distance = mujoco.mj_ray(mj, data, eye, along, [1, 1, 1, 1, 1, 1], true, -1, geom, normal);
    const [id] = geom.GetView() as Int32Array;
    const body = distance < 0 ? -1 : (mj.geom_bodyid as Int32Array)[id];
    // of two worlds in a grid, the second where it stands
    const offset = offsetOf(1, 2, stage.radius);
    const moved = eye.map((x, i) => x + offset[i]);
    const found = pick(stage.scene, poses, stage.radius, SHOWN, moved, along, undefined, new Set([0]));
    // planes are drawn once, for all worlds
    const ours = found?.body ?? -1;
    if (body <= 0 && ours <= 0) continue;
    const isSame = ours === body && Math.abs(found!.distance - distance) < pickBounds.distance.value;
    if (!isSame) edges++;
    seen.set(body, (seen.get(body) ?? 0) + 1);
    if (isSame) expect(found!.world).toBe(1);
  }
  geom.delete();
  normal.delete();
  for (let body = 1; body < mj.nbody; body++) expect(seen.get(body), `body ${body}`).toBeGreaterThan(20);
  expect(edges / RAYS).toBeLessThan(EDGES);
});
