// fewer places for contacts than there are contacts: which worlds, how many were needed, and nobody else touched
import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { createSimulation } from "../../../src/batch/simulation.ts";

// two balls over a floor, which they alone can touch
const BALLS = `<mujoco><option timestep="0.002"/><default><geom contype="2" conaffinity="1"/></default>
<worldbody><geom type="plane" size="5 5 0.1" contype="1" conaffinity="2"/>
<body pos="0 0 0.099"><freejoint/><geom size="0.1"/></body>
<body pos="1 0 0.099"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>`;

test.each(["cpu", "system"])(
  "overflow of contacts on %s names worlds and needs, and touches no other",
  async (where) => {
    const model = await loadModel(BALLS);
    const device = where === "cpu" ? ({ device: "cpu" } as const) : ({} as const);
    await using roomy = await createSimulation(model, { numEnvs: 3, ...device });
    await using tight = await createSimulation(model, { numEnvs: 3, nconmax: 1, ...device });

    // world 1 has both balls on the floor, the others have one in the air
    const { qpos } = await roomy.getState(["qpos"]);
    for (const world of [0, 2]) qpos[world * model.nq + 2] = 3;
    for (const simulation of [roomy, tight]) {
      await simulation.setState({ qpos });
      simulation.step(4);
    }

    expect(await roomy.status()).toEqual([]);
    expect(await tight.status()).toEqual([{ world: 1, names: ["CONTACT_OVERFLOW"], contactsNeeded: 2 }]);
    const [all, few] = [await roomy.getState(["qpos"], [0, 2]), await tight.getState(["qpos"], [0, 2])];
    expect(few.qpos.every((x, i) => Math.abs(x - all.qpos[i]) < 1e-6)).toBe(true);
  },
);
