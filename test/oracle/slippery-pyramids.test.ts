// pyramids of next to no friction, whose edges are all but one: stiffer together than float32 tells from M
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

const wheel = (x: number, y: number, rest: string, friction: number) =>
  `<geom ${rest} pos="${x} ${y} -.04" friction="${friction} 0 0"/>`;

/** A base on two wheels and two casters, all of which slip. */
const base = (friction: number) => `<mujoco><worldbody><geom type="plane" size="5 5 .1" friction="${friction} 0 0"/>
<body pos="0 0 .1"><joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/><joint axis="0 1 0"/><joint axis="1 0 0"/>
<geom type="box" size=".2 .15 .05" mass="5"/>
${[0.15, -0.15].map((x) => wheel(x, 0.15, 'type="cylinder" size=".06 .02" euler="90 0 0"', friction) + wheel(x, -0.15, 'size=".06"', friction)).join("\n")}
</body></worldbody></mujoco>`;

// MuJoCo's R of an edge is 2 mu^2 of the normal's: 2e-10 of it with the least friction that there is
test.each([0, 1e-4, 1e-3])("a base that slips on friction of %s stops as MuJoCo's does", async (friction) => {
  const compared = await compareWithMuJoCo(await loadModel(base(friction)), { steps: 60, envs: 3, device: "wasm" });
  expect(compared.contacts.most).toBeGreaterThan(3);
  expect(compared.arithmetic).toBe("float32");
  expect(compared.verdict.reasons).toEqual([]);
});
