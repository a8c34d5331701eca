// a model that starts with thousands of contacts is read in as much memory as one of them takes, not as their square does
import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { getMuJoCo } from "../../../src/model/mujoco.ts";

const BALLS = 60;
/** Bytes of MuJoCo's memory, which never shrinks. */
const HEAP = 512 * 2 ** 20;

test("contacts of a start are listed once", async () => {
  const balls = Array.from(
    { length: BALLS },
    (_, i) => `<body pos="0 0 ${i / 1000}"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body>`,
  );
  const { restContacts, restRounding } = await loadModel(`<mujoco><worldbody>${balls.join("")}</worldbody></mujoco>`);
  expect(restContacts).toBe((BALLS * (BALLS - 1)) / 2);
  expect(restRounding).toBeGreaterThan(0);
  const empty = (await getMuJoCo()).MjModel.from_xml_string("<mujoco/>");
  expect((empty.body_mass as Float64Array).buffer.byteLength).toBeLessThan(HEAP);
});
