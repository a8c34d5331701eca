// chains of many light links: M is beyond what float32 factors, so that articulated bodies solve them in either form
import { expect, test } from "vitest";
import { unrollByDefault } from "../../src/batch/kernel/form.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { hasLightChain } from "../../src/physics/smooth/light-chains.ts";

const LINKS = 12;

/** A snake of links that servos bend, in a medium or on a floor. */
function snake(integrator: string, floor: boolean): string {
  const bodies = Array.from({ length: LINKS }, (_, k) => k).reduceRight((rest, k) => {
    const joint = k === 0 ? `<freejoint/>` : `<joint name="j${k}" axis="0 0 1" range="-60 60" damping="1e-4"/>`;
    return `<body name="b${k}" pos="${k === 0 ? "0 0 0.03" : "0.1 0 0"}">${joint}<geom type="capsule" size="0.02" fromto="0 0 0 0.09 0 0"/>${rest}</body>`;
  }, "");
  const servos = Array.from(
    { length: LINKS - 1 },
    (_, k) => `<position joint="j${k + 1}" kp="0.05" ctrlrange="-1 1"/>`,
  );
  const near = Array.from({ length: LINKS - 1 }, (_, k) => `<exclude body1="b${k}" body2="b${k + 1}"/>`);
  const medium = floor ? "" : ` density="3000" viscosity="0.1" gravity="0 0 0"`;
  const touch = floor ? "" : `<default><geom contype="0" conaffinity="0"/></default>`;
  return `<mujoco><compiler autolimits="true"/><option timestep="0.004" integrator="${integrator}"${medium}/>${touch}
<worldbody>${floor ? '<geom type="plane" size="3 3 0.1"/>' : ""}${bodies}</worldbody>
<contact>${near.join("")}</contact><actuator>${servos.join("")}</actuator></mujoco>`;
}

// under implicitfast a medium's derivatives couple dofs, which bodies do not solve: M it is, as it rounds
test.each([
  { integrator: "Euler", floor: true },
  { integrator: "Euler", floor: false },
  { integrator: "implicitfast", floor: true },
  { integrator: "RK4", floor: true },
  { integrator: "RK4", floor: false },
])("a snake, $integrator, on a floor: $floor", async ({ integrator, floor }) => {
  const model = await loadModel(snake(integrator, floor));
  expect(hasLightChain(model)).toBe(true);
  expect(unrollByDefault(model, "none")).toBe(!floor);
  for (const device of ["cpu-f64", "wasm"] as const) {
    const { verdict } = await compareWithMuJoCo(model, { device, steps: 30, envs: 4 });
    expect({ device, reasons: verdict.reasons }).toEqual({ device, reasons: [] });
  }
});
