// bodies that float free and lie on one another: their Hessian is factored in blocks, beside trees of bodies
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { planKernels } from "../../src/batch/simulation-spec.ts";
import { onCpu } from "../../src/batch/device.ts";
import { emissionFor } from "../../src/batch/kernel/emission.ts";

const SHAPES = [
  `type="box" size=".1 .08 .06"`,
  `type="sphere" size=".08" condim="6" friction="1 .01 .002"`,
  `type="capsule" size=".05 .07" condim="4"`,
  `type="box" size=".07 .07 .07" condim="1"`,
];

/** A heap in a box; of joints with damping, friction and armature, as free joints may have too. */
function heap(count: number, extra: { readonly worldbody?: string; readonly rest?: string } = {}): string {
  const bodies = Array.from({ length: count }, (_, i) => {
    const place = [0.19 * (i % 2) - 0.1 + 0.01 * (i % 5), 0.17 * ((i >> 1) % 2) - 0.09, 0.1 + 0.15 * (i >> 2)];
    const joint =
      i % 3 === 0 ? `<joint type="free" damping=".05" frictionloss=".01" armature=".002"/>` : "<freejoint/>";
    return `<body name="b${i}" pos="${place.join(" ")}" euler="${10 * i} ${25 * i} ${40 * i}">${joint}<geom ${SHAPES[i % 4]}/></body>`;
  });
  const walls = [0, 1, 2, 3].map((k) => {
    const [x, y] = [Math.round(Math.cos((k * Math.PI) / 2)), Math.round(Math.sin((k * Math.PI) / 2))];
    return `<geom type="plane" size="1 1 .1" pos="${-0.3 * x} ${-0.3 * y} 0" zaxis="${x} ${y} 0"/>`;
  });
  return `<mujoco><worldbody><geom type="plane" size="1 1 .1"/>${walls.join("")}${extra.worldbody ?? ""}${bodies.join("")}</worldbody>${extra.rest ?? ""}</mujoco>`;
}

const ARM = `<body pos="0 -.25 .45"><joint axis="1 0 0" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 0 .2 -.2"/>
  <body pos="0 .2 -.2"><joint axis="0 0 1" damping=".1"/><geom type="box" size=".05 .05 .1"/></body></body>`;
const TIES = `<equality><weld body1="b1" body2="b4" solref=".05 1"/><connect body1="b3" body2="b7" anchor=".05 0 0"/></equality>`;

/** Grains on slides with damping, some of which touch; the layers are so far apart that contacts in a gap couple nothing. */
const GRAINS = (() => {
  const grains = Array.from({ length: 48 }, (_, i) => {
    const place = [0.055 * (i % 4) - 0.08, 0.06 * ((i >> 2) % 4) - 0.09, 0.03 + 0.062 * (i >> 4)];
    const slides = ["1 0 0", "0 1 0", "0 0 1"].map((axis) => `<joint type="slide" axis="${axis}" damping=".01"/>`);
    return `<body pos="${place.join(" ")}">${slides.join("")}<geom size=".03" condim="${i % 5 === 0 ? 3 : 1}" gap=".01"/></body>`;
  });
  return `<mujoco><worldbody><geom type="plane" size="1 1 .1"/>${ARM}${grains.join("")}</worldbody></mujoco>`;
})();

const MODELS = [
  ["grains on slides, most of which touch nothing", GRAINS],
  ["bodies alone", heap(10)],
  ["more bodies than a word has bits", heap(50)],
  ["under an elliptic cone", heap(8).replace("<mujoco>", `<mujoco><option cone="elliptic"/>`)],
  ["beside an arm, and tied by equalities", heap(8, { worldbody: ARM, rest: TIES })],
  [
    "under implicitfast",
    heap(8, { worldbody: ARM }).replace("<mujoco>", `<mujoco><option integrator="implicitfast"/>`),
  ],
] as const;

test.each(MODELS)("a heap steps as in MuJoCo: %s", async (_, xml) => {
  const model = await loadModel(xml);
  for (const device of ["cpu-f64", "wasm"] as const) {
    const steps = device === "wasm" ? 90 : 25;
    const { verdict, contacts } = await compareWithMuJoCo(model, { device, steps, envs: 1, unroll: false });
    expect(verdict.reasons).toEqual([]);
    expect(contacts.most).toBeGreaterThan(8);
  }
});

test("marks of trees are of WebAssembly and JavaScript alone, and of models with many", async () => {
  const marks = async (xml: string, context: Parameters<typeof planKernels>[2]) => {
    const { traces } = planKernels(await loadModel(xml), { numEnvs: 8, unroll: false }, context);
    return traces.get("step")!.arrays.some(({ name }) => name === "tree_touched");
  };
  const emission = emissionFor(undefined);
  expect(await marks(GRAINS, onCpu({ emission }))).toBe(true);
  expect(await marks(GRAINS, { emission })).toBe(false);
  expect(await marks(heap(8), onCpu({ emission }))).toBe(false);
});

test("blocks are of WebAssembly and JavaScript alone, and of bodies that are alone", async () => {
  const holds = async (xml: string, context: Parameters<typeof planKernels>[2]) => {
    const { traces } = planKernels(await loadModel(xml), { numEnvs: 8, unroll: false }, context);
    return traces.get("step")!.arrays.some(({ name }) => name === "tied_left");
  };
  const emission = emissionFor(undefined);
  expect(await holds(heap(4), onCpu({ emission }))).toBe(true);
  expect(await holds(heap(50), onCpu({ emission }))).toBe(true);
  expect(await holds(heap(4), { emission })).toBe(false);
  expect(await holds(heap(1), onCpu({ emission }))).toBe(false);
});
