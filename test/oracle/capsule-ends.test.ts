// a capsule as long as it is thick whose end lies on a flat face: turns move the contact by as much as makes another one
import { describe, expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { createRandom, type Random } from "../support/mjcf-random.ts";

const PAIRS = 40;
const RADIUS = 0.04;

const text = (v: readonly number[]): string => v.map((x) => x.toPrecision(17)).join(" ");

/** A plate of eight corners. */
const CORNERS = [-1, 1].flatMap((x) => [-1, 1].flatMap((y) => [-1, 1].map((z) => text([0.3 * x, 0.3 * y, 0.05 * z]))));

/** Pairs of a capsule and what it lies on, with their places: an end of the capsule in the face by 1 to 100 micrometres. */
function scene(r: Random, face: "cylinder" | "mesh"): string {
  const pairs = Array.from({ length: PAIRS }, (_, i) => {
    const at = [0, 1, 2].map(() => r.between(-2, 2));
    const tilt = r.pick(face === "mesh" ? [0, 0.3, 1.2, Math.PI / 2] : [0, 0.3, 1.2, 1.5]);
    const deep = 10 ** r.between(-6, -4);
    // in the frame of the face, whose top is at 0.05 m
    const reach = RADIUS + RADIUS * Math.abs(Math.cos(tilt));
    const turn = `euler="${text([r.between(-3, 3), r.between(-3, 3), r.between(-3, 3)])}"`;
    const place = text([r.between(-0.05, 0.05), r.between(-0.05, 0.05), 0.05 + reach - deep]);
    const flat = face === "mesh" ? `type="mesh" mesh="plate"` : `type="cylinder" size="0.3 0.05"`;
    return `<body pos="${text(at)}" ${turn}><joint type="slide"/><geom name="face${i}" ${flat} mass="1"/>
      <body pos="${place}" euler="${text([tilt, 0, r.between(-3, 3)])}"><joint type="slide"/>
        <geom name="capsule${i}" type="capsule" size="${RADIUS} ${RADIUS}" mass="1"/></body></body>`;
  });
  const meet = pairs.map((_, i) => `<pair geom1="capsule${i}" geom2="face${i}"/>`).join("");
  return `<mujoco><compiler angle="radian"/><option gravity="0 0 0"/>
    <default><geom contype="0" conaffinity="0"/></default>
    <asset><mesh name="plate" vertex="${CORNERS.join(" ")}"/></asset><worldbody>${pairs.join("")}</worldbody>
    <contact>${meet}</contact></mujoco>`;
}

const countOf = (firstGeoms: Iterable<number>): number[] => {
  const counts = Array.from({ length: PAIRS }, () => 0);
  for (const geom of firstGeoms) counts[geom >> 1]++;
  return counts;
};

describe.each(["cylinder", "mesh"] as const)("on a %s", (face) => {
  test("has as many contacts as MuJoCo", async () => {
    for (let seed = 1; seed <= 2; seed++) {
      const model = await loadModel(scene(createRandom(seed), face));
      const oracle = await createOracle(model);
      oracle.mujoco.mj_forward(oracle.model, oracle.data);
      const theirs: number[] = [];
      for (let i = 0; i < oracle.data.ncon; i++) {
        const contact = oracle.data.contact.get(i)!;
        theirs.push(Math.min(contact.geom1, contact.geom2));
        contact.delete();
      }
      oracle.delete();
      await using simulation = await createSimulation(model, {
        numEnvs: 1,
        device: "wasm",
        arithmetic: "float32",
        outputs: ["ncon", "contact_geom"],
      });
      simulation.step(1);
      const { ncon, contact_geom: geoms } = await simulation.getState(["ncon", "contact_geom"]);
      const ours = Array.from({ length: ncon[0] }, (_, i) => Math.min(geoms[2 * i], geoms[2 * i + 1]));
      expect(theirs.length).toBeGreaterThanOrEqual(PAIRS);
      expect(countOf(ours), `seed ${seed}`).toEqual(countOf(theirs));
    }
  });
});
