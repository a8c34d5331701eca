// straight-line code or loops: chosen by what compiling is expected to cost, the same on every machine
import { describe, expect, test } from "vitest";
import { compileSeconds, mostCompileSeconds } from "../../../src/batch/kernel/compile-cost.ts";
import { MOST_COMPILE_SECONDS, simulationCost, unrollByDefault } from "../../../src/batch/kernel/form.ts";
import { planKernels } from "../../../src/batch/simulation.ts";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { ENV_MODELS, loadTestModel } from "../../support/mjcf.ts";

/** A free trunk with limbs of hinges, each link with a geom; `touching`: whether limbs meet each other. */
const robot = (limbs: number, links: number, touching: boolean): Promise<Model> => {
  const bits = touching ? "" : `contype="0"`;
  const limb = (k: number) =>
    `${Array.from(
      { length: links },
      (_, i) =>
        `<body pos="${i ? 0.1 : 0.1 * k} 0 0"><joint axis="${i % 3 === 0 ? "1 0 0" : i % 3 === 1 ? "0 1 0" : "0 0 1"}" range="-60 60"/>
         <geom type="capsule" size="0.02" fromto="0 0 0 0.1 0 0" ${bits}/>`,
    ).join("")}${"</body>".repeat(links)}`;
  return loadModel(`<mujoco><worldbody><geom type="plane" size="5 5 0.1"/><body pos="0 0 1"><freejoint/><geom size="0.1" ${bits}/>
    ${Array.from({ length: limbs }, (_, k) => limb(k)).join("")}</body></worldbody></mujoco>`);
};

describe("the form of kernels", () => {
  test.each(ENV_MODELS)("%s is straight-line code, and short", async (name) => {
    const model = await loadTestModel(`envs/${name}`);
    expect(unrollByDefault(model)).toBe(true);
    expect(mostCompileSeconds(simulationCost(model, true))).toBeLessThan(MOST_COMPILE_SECONDS);
  });

  test("a robot of four legs is straight-line code, one of five limbs of seven hinges that may all touch is loops", async () => {
    expect(unrollByDefault(await robot(4, 3, true))).toBe(true);
    const large = await robot(5, 7, true);
    expect(unrollByDefault(large)).toBe(false);
    expect(mostCompileSeconds(simulationCost(large, false))).toBeLessThan(20);
  });

  test("what decides is what is estimated, of models that are neither small nor huge", async () => {
    for (const [limbs, links] of [
      [4, 5],
      [5, 5],
      [4, 7],
    ] as const) {
      for (const touching of [true, false]) {
        const model = await robot(limbs, links, touching);
        const seconds = mostCompileSeconds(simulationCost(model, true));
        expect([limbs, links, unrollByDefault(model)]).toEqual([limbs, links, seconds <= MOST_COMPILE_SECONDS]);
      }
    }
  });

  test("where no driver compiles more models are straight-line code, and all that are where one does", async () => {
    for (const [limbs, links, software, none] of [
      [4, 5, true, true],
      [4, 7, false, true],
      [7, 7, false, false],
    ] as const) {
      const model = await robot(limbs, links, true);
      expect([unrollByDefault(model), unrollByDefault(model, "none")]).toEqual([software, none]);
    }
  });

  test("an option overrides it", async () => {
    const large = await robot(5, 7, false);
    const loops = (unroll: boolean | undefined) => planKernels(large, { numEnvs: 8, unroll }).kernels.get("step")!.code;
    expect(loops(true)).not.toBe(loops(false));
    expect(loops(undefined)).toBe(loops(unrollByDefault(large)));
  });
});

test("arrays and what reads them at run time cost, on every driver", () => {
  const kernel = { arithmetic: 20_000, indexed: 100, squares: 1e6 };
  for (const driver of ["lavapipe", "swiftshader"] as const) {
    const base = compileSeconds(kernel, driver);
    expect(compileSeconds({ ...kernel, squares: 1e8 }, driver)).toBeGreaterThan(10 * base);
    expect(compileSeconds({ ...kernel, arithmetic: 40_000 }, driver)).toBeGreaterThan(1.3 * base);
    expect(compileSeconds({ ...kernel, indexed: 1000 }, driver)).toBeGreaterThan(base + 3);
  }
});
