// hulls that lie level on a plane: of corners that tie the contacts are at MuJoCo's
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { colliderBounds, cylinderPlaces as bounds } from "../support/tolerances.ts";

const [POSES, SIDES, HALF] = [100, 80, 0.03];
const VERTICES = [-HALF, HALF].flatMap((z) =>
  Array.from({ length: SIDES }, (_, i) => {
    const angle = (2 * Math.PI * i) / SIDES;
    return `${0.05 * Math.cos(angle)} ${0.05 * Math.sin(angle)} ${z}`;
  }),
);

test("a prism of many sides has MuJoCo's contacts with the plane under it", async () => {
  const model = await loadModel(`<mujoco><asset><mesh name="m" vertex="${VERTICES.join(" ")}"/></asset><worldbody>
    <geom type="plane" size="1 1 1"/><body><freejoint/><geom type="mesh" mesh="m" mass="1"/></body></worldbody></mujoco>`);
  const r = createRandom(7);
  const qpos = Array.from({ length: POSES }, () => {
    const half = r.between(-1.5, 1.5);
    const z = HALF - r.between(1e-5, 1e-3);
    return [r.between(-0.3, 0.3), r.between(-0.3, 0.3), z, Math.cos(half), 0, 0, Math.sin(half)];
  });
  const outputs = ["ncon", "contact_pos"] as const;
  await using simulation = await createSimulation(model, { numEnvs: POSES, device: "cpu-f64", outputs });
  await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
  simulation.forward();
  const { ncon, contact_pos } = await simulation.getState(outputs);
  using oracle = await createOracle(model);
  const inPlace = qpos.filter((q, world) => {
    oracle.write("qpos", q);
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    const theirs = oracle.contacts().flatMap(({ pos }) => Array.from(pos));
    expect(3 * ncon[world], `pose ${world}`).toBe(theirs.length);
    const first = (world * contact_pos.length) / POSES;
    return theirs.every((x, i) => Math.abs(contact_pos[first + i] - x) < colliderBounds.singleNudge.value);
  });
  expect(inPlace.length / POSES).toBeGreaterThanOrEqual(bounds.share.value);
});
