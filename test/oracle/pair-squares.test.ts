// many contacts of two bodies in float64: they are added up to six squares about a point of theirs, for the Hessian over dofs
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { planKernels } from "../../src/batch/simulation-spec.ts";
import { onCpu, planContext } from "../../src/batch/device.ts";
import { featureBounds } from "../support/tolerances.ts";

/** An arm whose two paddles lie on those of the other, far from the origin, and a rope that lies on both and on the floor. */
const arm = (side: number): string =>
  `<body pos="${1 + 0.4 * side} 2 .2"><joint name="a${side}" axis="0 1 0" damping=".1"/><joint name="b${side}" axis="0 0 1" damping=".1"/>
  <geom type="capsule" size=".02" fromto="0 0 0 ${-0.3 * side} 0 0" mass=".3" contype="0" conaffinity="0"/>
  <body pos="${-0.3 * side} 0 0"><joint name="c${side}" axis="1 0 0" damping=".05"/><geom type="box" size=".1 .06 .06" pos="${-0.08 * side} -.07 ${0.04 * side}" mass=".2"/>
    <geom type="box" size=".1 .06 .06" pos="${-0.08 * side} .07 ${0.04 * side}" mass=".2"/>
    <body pos="${-0.09 * side} 0 ${0.02 * side}"><joint name="d${side}" type="ball" damping=".02"/><geom size=".03" mass=".1"/></body></body></body>`;
const rope = (links: number): string =>
  Array.from({ length: links }, (_, k) => k).reduceRight(
    (rest, k) =>
      `<body pos="${k === 0 ? ".8 2.07 .27" : ".05 0 0"}"><joint type="ball" damping="1e-3"/><geom type="capsule" size=".01" fromto="0 0 0 .05 0 0" mass=".02"/>${rest}</body>`,
    "",
  );
const scene = (condim: number, cone: string): string => `<mujoco><option timestep=".002" cone="${cone}" impratio="2"/>
<default><geom condim="${condim}" friction="1 .02 .001"/></default><worldbody><geom type="plane" size="9 9 .1" pos="0 0 .13"/>${arm(-1)}${arm(1)}${rope(4)}</worldbody>
<actuator>${["a", "b", "c"].flatMap((j) => [-1, 1].map((side) => `<motor joint="${j}${side}" gear=".4" ctrlrange="-1 1"/>`)).join("")}</actuator></mujoco>`;

test.each([
  [6, "elliptic"],
  [3, "pyramidal"],
  [1, "elliptic"],
])("two arms that lie on each other, of condim %i with %s cones", async (condim, cone) => {
  const model = await loadModel(scene(condim, cone));
  const { traces } = planKernels(
    model,
    { numEnvs: 1, arithmetic: "float64", unroll: false },
    onCpu(planContext({}, 1)),
  );
  expect(traces.get("step")!.arrays.map(({ name }) => name)).toContain("pair_K0");
  const { verdict, oneStep, contacts } = await compareWithMuJoCo(model, {
    device: "cpu-f64",
    steps: 20,
    envs: 1,
    unroll: false,
  });
  expect(verdict.reasons).toEqual([]);
  expect(contacts.most).toBeGreaterThan(7);
  expect(oneStep.qvel!.max).toBeLessThan(featureBounds.wideStep.value);
});
