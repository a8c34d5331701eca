// a capsule that lies exactly level beside a box, which only slides: MuJoCo makes a second contact by the signs of axes
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/index.ts";

const HALF = 0.2;
const DIRECTIONS = ["1 0 0", "-1 0 0", "0 1 0", "0 -1 0", "0 0 1", "0 0 -1"];

/** A capsule along `direction`, and a box shorter than it on one side. */
function scene(direction: string, side: 1 | -1, seen: "one pair" | "in a loop"): string {
  const axis = direction.split(" ").map(Number);
  const along = axis.findIndex((x) => x !== 0);
  const place = [0.03, 0.03, 0.03].map((x, k) => (k === along ? x : k === (along + 1) % 3 ? side * 0.12 : 0.01));
  const ends = [-HALF, HALF].map((t) => axis.map((x) => t * x).join(" "));
  const box = (name: string, at: readonly number[]) =>
    `<body name="${name}" pos="${at.join(" ")}"><joint type="slide" axis="1 0 0" damping="2"/>
      <joint type="slide" axis="0 1 0" damping="2"/><geom type="box" size=".1 .09 .08" mass="1"/></body>`;
  // boxes that are far share their collider's code
  const far = Array.from({ length: seen === "one pair" ? 0 : 8 }, (_, i) => box(`far${i}`, [2 * i + 4, 0, 0])).join("");
  return `<mujoco><option gravity="0 0 0"/><worldbody><geom type="capsule" fromto="${ends.join(" ")}" size=".05"/>
    ${box("near", place)}${far}</worldbody></mujoco>`;
}

describe.each(["cpu-f64", "wasm"] as const)("on %s", (device) => {
  test.each(["one pair", "in a loop"] as const)("has MuJoCo's counts of contacts, %s", async (seen) => {
    for (const direction of DIRECTIONS) {
      for (const side of [1, -1] as const) {
        const model = await loadModel(scene(direction, side, seen));
        const { contacts, verdict } = await compareWithMuJoCo(model, { steps: 5, envs: 2, device });
        expect(contacts.most, direction).toBeGreaterThan(0);
        expect(verdict.reasons, `${direction}, side ${side}`).toEqual([]);
      }
    }
  });
});
