// chains of equal hulls that lie on each other: which corners meet is less than float32 tells, so that simulations compute in float64
import { expect, test } from "vitest";
import { isWide } from "../../src/batch/kernel/wide.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

const LINKS = 5;
const [RADIUS, HEIGHT] = [0.02, 0.005];

const prism = (sides: number, height: number, radius = RADIUS): string =>
  [-height, height]
    .flatMap((z) =>
      Array.from({ length: sides }, (_, i) => {
        const angle = (2 * Math.PI * i) / sides;
        return [radius * Math.cos(angle), radius * Math.sin(angle), z].join(" ");
      }),
    )
    .join("  ");

/** Prisms on each other, with hinges where they touch. */
function chain(sides: number, radiusOf: (link: number) => number = () => RADIUS): string {
  let links = "";
  for (let k = LINKS - 1; k > 0; k--)
    links = `<body pos="0 0 ${2 * HEIGHT - 1e-5}"><joint name="j${k}" axis="0 1 0" pos="0 0 ${-HEIGHT}" stiffness=".02" damping=".001"/>
      <geom type="mesh" mesh="m${k}" mass=".02"/>${links}</body>`;
  const numbers = Array.from({ length: LINKS }, (_, k) => k);
  return `<mujoco><option timestep=".001"><flag filterparent="disable"/></option>
    <asset>${numbers.map((k) => `<mesh name="m${k}" vertex="${prism(sides, HEIGHT, radiusOf(k))}"/>`).join("")}</asset>
    <worldbody><body pos="0 0 .5"><geom type="mesh" mesh="m0"/>${links}</body></worldbody>
    <actuator>${numbers
      .slice(1)
      .map((k) => `<motor joint="j${k}" gear=".02"/>`)
      .join("")}</actuator></mujoco>`;
}

// of four corners all are kept: there it is which of them are cut off that turns by half a last place change
test.each([12, 4])(
  "a chain of equal prisms of %i sides is stepped in float64, within bounds that float32 is beyond",
  async (sides) => {
    const model = await loadModel(chain(sides));
    expect(model.restRounding).toBeGreaterThan(1e-4);
    // a task may start it elsewhere
    expect(isWide(model, undefined, "none")).toBe(false);
    const settings = { steps: 30, envs: 3, device: "wasm" } as const;
    const { arithmetic, verdict } = await compareWithMuJoCo(model, settings);
    expect(arithmetic).toBe("float64");
    expect(verdict.reasons).toEqual([]);
    expect((await compareWithMuJoCo(model, { ...settings, arithmetic: "float32" })).verdict.reasons).not.toEqual([]);
  },
);

// no sides tie where it starts; where links have turned some do
test("a chain of prisms of outlines that float32 tells comes to where it does not", async () => {
  const model = await loadModel(chain(12, (link) => RADIUS * (1 - 0.01 * link)));
  expect(model.restRounding).toBeGreaterThan(1e-4);
  const settings = { steps: 30, envs: 3, device: "wasm" } as const;
  const { arithmetic, verdict } = await compareWithMuJoCo(model, settings);
  expect(arithmetic).toBe("float64");
  expect(verdict.reasons).toEqual([]);
  expect((await compareWithMuJoCo(model, { ...settings, arithmetic: "float32" })).verdict.reasons).not.toEqual([]);
});
