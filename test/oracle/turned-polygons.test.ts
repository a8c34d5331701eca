// polygons whose normal in MuJoCo's model looks inwards, as some of fine meshes: what is clipped against them is lost
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createRandom } from "../support/mjcf-random.ts";

const POSES = 100;
const CUBE = [-0.1, 0.1].flatMap((x) => [-0.1, 0.1].flatMap((y) => [-0.1, 0.1].map((z) => `${x} ${y} ${z}`)));

// MuJoCo finds that the two faces meet, and of all that it clips nothing is below a face that looks inwards: it keeps the deepest points
test.each(["cpu-f64", "wasm"] as const)("on %s faces that look inwards meet, and keep no corner", async (device) => {
  const model = await loadModel(`
    <mujoco>
      <asset><mesh name="cube" vertex="${CUBE.join("  ")}"/></asset>
      <worldbody>
        <geom type="mesh" mesh="cube"/>
        <body><freejoint/><geom type="mesh" mesh="cube" mass="1"/></body>
      </worldbody>
    </mujoco>`);
  const { polynormal } = model.hulls!;
  for (let at = 0; at < polynormal.length; at += 3) if (Math.abs(polynormal[at + 2]) > 0.5) polynormal[at + 2] *= -1;
  // the lower edge of one nearly along the upper edge of the other
  const r = createRandom(7);
  const qpos = Array.from({ length: POSES }, () => {
    const [x, y, z] = [0.006, 0.002, 0.03].map((most) => r.between(-most, most));
    return [r.between(-0.02, 0.02), 0.2 - r.between(0.004, 0.01), 0.2 - r.between(0.0003, 0.0015), 1, x, y, z];
  });
  await using simulation = await createSimulation(model, { numEnvs: POSES, device, outputs: ["ncon"] });
  await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
  simulation.forward();
  const { ncon } = await simulation.getState(["ncon"]);
  expect(ncon.filter((n) => n === 1).length).toBeGreaterThan(0.9 * POSES);
  expect(Array.from(ncon).filter((n) => n > 1)).toEqual([]);
});
