// links that come deep into hulls, where two ways out tie at every pose: float32 takes either, so that simulations compute in float64
import { expect, test } from "vitest";
import { loadModel } from "../../src/model/model.ts";
import { expectFloat64ByDefault } from "../support/float64-by-default.ts";

const [SIDES, RADIUS, WIDTH] = [4, 0.02, 0.04];
/** Half sizes of the rod (m). */
const [THICK, LONG] = [0.005, 0.04];
/** Where the rod's middle is when the way out along it is as long as the ways across it (m). */
const DEEP = LONG - THICK;

const housing = [-WIDTH, WIDTH]
  .flatMap((y) =>
    Array.from({ length: SIDES }, (_, i) => {
      const angle = (2 * Math.PI * i) / SIDES;
      return [RADIUS * Math.cos(angle), y, RADIUS * Math.sin(angle)].join(" ");
    }),
  )
  .join("  ");

/** A rod that turns about the middle of a motor's housing, `aside` of it, and slides along itself from `start` on. */
const robot = (start: number, aside = 0): string => `
  <mujoco>
    <option timestep=".001"><flag filterparent="disable"/></option>
    <asset><mesh name="housing" vertex="${housing}"/></asset>
    <worldbody>
      <body>
        <joint type="slide" axis="0 0 1" damping="10"/>
        <geom type="mesh" mesh="housing" mass="1"/>
        <body>
          <joint name="turn" axis="0 1 0" damping=".01"/>
          <geom type="sphere" size=".01" mass=".1" contype="0" conaffinity="0"/>
          <body pos="${aside} 0 ${-start}">
            <joint name="out" type="slide" axis="0 0 -1" range="-.01 .1"/>
            <geom type="box" size="${THICK} ${THICK} ${LONG}" mass=".1"/>
          </body>
        </body>
      </body>
    </worldbody>
    <actuator>
      <motor joint="turn" ctrllimited="true" ctrlrange="-1 1"/>
      <motor joint="out" ctrllimited="true" ctrlrange="-100 0"/>
    </actuator>
  </mujoco>`;

test("a rod that comes deep into a housing is stepped in float64, within bounds that float32 is beyond", async () => {
  await expectFloat64ByDefault(await loadModel(robot(DEEP + 0.002)));
});

test.each([
  ["that is nearer to one side", robot(DEEP + 0.002, 0.002)],
  ["that is out of reach", robot(0.2)],
])("a rod %s is stepped in float32", async (_, mjcf) => {
  expect((await loadModel(mjcf)).restRounding ?? 0).toBeLessThan(1e-4);
});
