// chains of equal hulls that lie on each other: which corners meet is less than float32 tells, so that simulations compute in float64
import { test } from "vitest";
import { loadModel } from "../../src/model/model.ts";
import { expectFloat64ByDefault } from "../support/float64-by-default.ts";

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
    await expectFloat64ByDefault(await loadModel(chain(sides)));
  },
);

// no sides tie where it starts; where links have turned some do, and areas by which four corners are kept, as states round
test("a chain of prisms of outlines that float32 tells comes to where it does not", async () => {
  await expectFloat64ByDefault(await loadModel(chain(12, (link) => RADIUS * (1 - 0.01 * link))), "cpu-f64");
});
