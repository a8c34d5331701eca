// tendons whose straight way just meets, or just misses, the geom that they go around: float32 must not take them around its other side
import { expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { stageBounds } from "../support/tolerances.ts";

const RADIUS = 0.075;
/** Both sites slide past the geom; their ends are near it and far from it. */
const tendon = (name: string, geom: string, side: string, near: number, far: number) => ({
  sites: `<site name="${name}0" pos="${-near} 0 0"/><site name="${name}1" pos="${far} 0 .02"/>`,
  path: `<spatial name="${name}"><site site="${name}0"/><geom geom="${geom}" ${side}/><site site="${name}1"/></spatial>`,
});
const TENDONS = ["cylinder", "ball"].flatMap((geom) =>
  ["", `sidesite="above"`].flatMap((side, s) =>
    [
      [0.2, 0.13],
      [0.08, 0.3],
    ].map(([near, far], k) => tendon(`${geom}${s}${k}`, geom, side, near, far)),
  ),
);
const xml = `<mujoco><worldbody><body pos=".31 -.2 .7" euler="17 31 53">
<geom name="cylinder" type="cylinder" pos="0 ${-RADIUS} 0" size="${RADIUS} .1"/>
<geom name="ball" pos="0 ${-RADIUS} 0" size="${RADIUS}"/><site name="above" pos="-.04 ${RADIUS} .01"/>
<body><joint type="slide" axis="0 1 0"/><geom pos="0 1 0" size=".01" mass="1"/>${TENDONS.map((t) => t.sites).join("")}</body>
</body></worldbody><tendon>${TENDONS.map((t) => t.path).join("")}</tendon></mujoco>`;

/** How far the straight way is from the geom, or in it: from a last place of float32 to a tenth of a millimetre. */
const DEPTHS = Array.from({ length: 60 }, (_, k) => 10 ** (-9 + k / 12)).flatMap((depth) => [depth, -depth]);

test("a tendon that grazes a geom is as long as MuJoCo's, and changes as fast", async () => {
  const model = await loadModel(xml);
  using oracle = await createOracle(model);
  const names = ["ten_length", "ten_velocity"] as const;
  await using simulation = await createSimulation(model, { numEnvs: DEPTHS.length, device: "wasm", outputs: names });
  await simulation.setState({ qpos: DEPTHS, qvel: DEPTHS.map(() => 1) });
  simulation.forward();
  const ours = await simulation.getState(names);
  DEPTHS.forEach((depth, world) => {
    oracle.write("qpos", [depth]);
    oracle.write("qvel", [1]);
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    for (const name of names) {
      const theirs = oracle.read(name);
      TENDONS.forEach((_, t) => {
        const off = Math.abs(ours[name][world * TENDONS.length + t] - theirs[t]);
        expect(off, `${name} of tendon ${t}, ${depth} m off`).toBeLessThan(stageBounds.any32.value);
      });
    }
  });
});
