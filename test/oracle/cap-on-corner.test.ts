// a corner or an edge of a box deep in the cap of a cylinder, straight along its axis: one contact, as MuJoCo mostly has it
import { expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { RandomStream, streams } from "../../src/core/rng.ts";
import { loadModel } from "../../src/model/model.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { capsOnCorners } from "../support/tolerances.ts";

const scene = (option: string): string => `<mujoco>${option}<worldbody>
<body><freejoint/><geom type="cylinder" size=".026 .035" mass="1"/></body>
<body><freejoint/><geom type="box" size=".03 .03 .03" mass="1"/></body></worldbody></mujoco>`;
const POSES = 400;

/** A cylinder that stands on a box tilted by more than what faces that meet may be, turned about the vertical. */
function pose(i: number): number[] {
  const random = new RandomStream(5, i, 0, streams.user);
  const draw = (k: number, low: number, high: number) => low + (high - low) * random.uniform(k);
  const [tilt, turn] = [(draw(0, 5.2, 7.7) * Math.PI) / 180, draw(1, 0, 2 * Math.PI)];
  const about = (Math.PI / 2) * Math.floor(draw(2, 0, 4)) + draw(3, -0.4, 0.4);
  const [c, s, ct, st] = [Math.cos(tilt / 2), Math.sin(tilt / 2), Math.cos(turn / 2), Math.sin(turn / 2)];
  const [r, at] = [draw(4, 0.02, 0.045), draw(5, 0, 2 * Math.PI)];
  const place = [r * Math.cos(at), r * Math.sin(at), -0.0295 - draw(6, 0, 0.002)];
  return [
    0,
    0,
    0.035,
    1,
    0,
    0,
    0,
    ...place,
    ct * c,
    s * Math.cos(about + turn / 2),
    s * Math.sin(about + turn / 2),
    st * c,
  ];
}

test("corners of a box straight in a cylinder's cap make MuJoCo's contact", async () => {
  const model = await loadModel(scene(""));
  using oracle = await createOracle(model);
  using searched = await createOracle(await loadModel(scene('<option><flag multiccd="disable"/></option>')));
  const poses = Array.from({ length: POSES }, (_, i) => pose(i));
  await using simulation = await createSimulation(model, {
    numEnvs: POSES,
    device: "cpu",
    outputs: ["ncon", "contact_frame"],
  });
  await simulation.setState({ qpos: Float64Array.from(poses.flat()) });
  simulation.forward();
  const { ncon, contact_frame: frames } = await simulation.getState(["ncon", "contact_frame"]);
  const width = frames.length / POSES;
  let [straight, same] = [0, 0];
  poses.forEach((qpos, i) => {
    for (const { write, mujoco, model: mj, data } of [oracle, searched]) {
      write("qpos", qpos);
      mujoco.mj_forward(mj, data);
    }
    const [plain] = searched.contacts();
    if (!plain || Math.abs(plain.frame[2]) < 1 - 1e-9) return;
    straight++;
    const theirs = oracle.contacts();
    const isSame = theirs.length === ncon[i] && Math.abs(theirs[0].frame[2] - frames[i * width + 2]) < 1e-3;
    if (isSame) same++;
  });
  expect(straight).toBeGreaterThan(50);
  expect(same / straight).toBeGreaterThan(capsOnCorners.value);
});
