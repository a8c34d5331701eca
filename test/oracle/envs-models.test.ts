import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { fieldsOf, SIZES } from "../../src/model/fields.ts";
import { loadModel } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { checkSupported } from "../../src/model/supported.ts";

const at = (path: string) => new URL(path, import.meta.url);

// how a model looks is ours
const LOOKS = new Set(["nmat", "nlight", "geom_rgba", "geom_matid", "mat_rgba"]);

const GYMNASIUM = {
  ant: "ant",
  half_cheetah: "half_cheetah",
  hopper: "hopper",
  walker2d: "walker2d_v5",
  inverted_pendulum: "inverted_pendulum",
  inverted_double_pendulum: "inverted_double_pendulum",
  reacher: "reacher",
  humanoid: "humanoid",
  humanoid_standup: "humanoidstandup",
  swimmer: "swimmer",
  pusher: "pusher_v5",
};

describe.each(Object.entries(GYMNASIUM))("envs/%s", (name, reference) => {
  const file = at(`../../../shared/reference/gymnasium/${reference}.xml`);

  test.skipIf(!existsSync(file))(
    `compiles to every number of Gymnasium's ${reference}.xml (skipped where ../shared is absent)`,
    async () => {
      const ours = await loadModel(at(`../../envs/${name}/model.xml`));
      const theirs = await loadModel(file);

      for (const size of SIZES) if (!LOOKS.has(size)) expect([size, ours[size]]).toEqual([size, theirs[size]]);
      for (const { name: array } of fieldsOf("model")) {
        if (!LOOKS.has(array)) expect([array, ...ours[array]]).toEqual([array, ...theirs[array]]);
      }
      expect(ours.opt).toEqual(theirs.opt);
      expect(ours.stat).toEqual(theirs.stat);
      expect(ours.names).toEqual(theirs.names);
      expect(ours.name).toBe(theirs.name);
    },
  );
});

test.each([...Object.keys(GYMNASIUM), "cartpole"])("envs/%s loads without a warning and is supported", async (name) => {
  const model = await loadModel(at(`../../envs/${name}/model.xml`));
  expect(model.warnings).toEqual([]);
  expect(() => checkSupported(model)).not.toThrow();
});

/** Accelerations of the cart and the pole by the equations of Barto, Sutton and Anderson, without friction. */
function cartPole(force: number, theta: number, thetaDot: number): [number, number] {
  const [gravity, cart, pole, length] = [9.8, 1, 0.1, 0.5];
  const total = cart + pole;
  const temp = (force + pole * length * thetaDot ** 2 * Math.sin(theta)) / total;
  const denominator = length * (4 / 3 - (pole * Math.cos(theta) ** 2) / total);
  const thetaAcc = (gravity * Math.sin(theta) - Math.cos(theta) * temp) / denominator;
  return [temp - (pole * length * thetaAcc * Math.cos(theta)) / total, thetaAcc];
}

test("envs/cartpole accelerates as the classic equations say", async () => {
  const model = await loadModel(at("../../envs/cartpole/model.xml"));
  await withMuJoCo(model, ({ mujoco, model: m, data, read, write }) => {
    for (const [force, theta, thetaDot] of [
      [10, 0, 0],
      [-10, 0.2, 1.5],
      [10, -0.1, -3],
      [0, 1.2, 0.4],
      [-10, 3, 8],
    ]) {
      write("qpos", [0.7, theta]);
      write("qvel", [-1.3, thetaDot]);
      write("ctrl", [force / 10]);
      mujoco.mj_forward(m, data);
      const expected = cartPole(force, theta, thetaDot);
      read("qacc").forEach((x, i) => expect(x).toBeCloseTo(expected[i], 10));
    }
  });
});
