// boxes, hulls and cylinders with a margin, against MuJoCo at its default tolerance: where its search ends hangs on its path
import { describe, expect, test } from "vitest";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { convexContacts } from "../../src/physics/collision/convex/index.ts";
import { toF32, type Scalar } from "../../src/trace/scalar.ts";
import type { Precision } from "../../src/trace/javascript.ts";
import { apart, pairOf, pairRow, PAIR_INPUTS } from "../support/convex-pairs.ts";
import { ConvexScene, packHulls, quatToMat, type Body, type Kind } from "../support/convex-scene.ts";
import { createRandom, type Random } from "../support/mjcf-random.ts";
import { runJs, program } from "../support/trace-runner.ts";
import { marginBounds as bounds } from "../support/tolerances.ts";

const POSES = 60;
const MARGIN = 2e-3;
const HALF = 0.02;
const DEFAULTS = { iterations: 35, tolerance: 1e-6 };
const MOST = 5;

function body(kind: Kind, size: number): Body {
  if (kind === "box") return { kind, size: [size, 0.7 * size, HALF] };
  if (kind === "cylinder") return { kind, size: [size, HALF, 0] };
  const points = [-HALF, HALF].flatMap((z) =>
    Array.from({ length: 7 }, (_, i) => {
      const angle = (2 * Math.PI * i) / 7;
      return [size * Math.cos(angle), 0.8 * size * Math.sin(angle), z];
    }).flat(),
  );
  return { kind: "mesh", size: [0, 0, 0], points };
}

/** The second on top of the first, about level or on its side, nearer than the margin; all numbers are float32's. */
function lying(r: Random, onSide: boolean, radius: number): number[] {
  const tilt = r.pick([0, 1e-7, 1e-5, 1e-3]) + (onSide ? Math.PI / 2 : 0);
  const yaw = r.between(-Math.PI, Math.PI);
  const [c, s, x] = [Math.cos(yaw / 2), Math.sin(yaw / 2), Math.sin(tilt / 2)];
  const mat = quatToMat([c * Math.cos(tilt / 2), x * c, x * s, s * Math.cos(tilt / 2)]);
  const rise = HALF + (onSide ? radius : HALF) + r.between(-3e-4, 5e-4);
  const pos = [r.between(-0.01, 0.01), r.between(-0.01, 0.01), rise];
  return [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, ...pos, ...mat].map(Math.fround);
}

/** Of poses with contacts: whether counts are MuJoCo's, and whether all places are. */
async function compared(kinds: readonly [Kind, Kind], onSide: boolean, precision: Precision) {
  using scene = new ConvexScene(await getMuJoCo(), [body(kinds[0], 0.04), body(kinds[1], 0.03)]);
  Object.assign(scene.model.opt, { ccd_tolerance: DEFAULTS.tolerance, ccd_iterations: DEFAULTS.iterations });
  const hulls = packHulls([scene]);
  const made = program(
    PAIR_INPUTS,
    1 + 3 * MOST,
    (x: Scalar[]) => {
      const { shapes, margin } = pairOf(x, [[kinds[0]], [kinds[1]]], hulls);
      const found = convexContacts(...shapes, margin, { ...DEFAULTS, multiccd: true, margins: true });
      return [toF32(found.count), ...Array.from({ length: MOST }, (_, i) => found.at(i).pos).flat()];
    },
    { exact: precision === "f64" },
  );
  const r = createRandom(3);
  const out: { isCounted: boolean; isPlaced: boolean }[] = [];
  for (let i = 0; i < POSES; i++) {
    const frames = lying(r, onSide, 0.03);
    const theirs = scene.contacts(frames, MARGIN);
    if (theirs.length === 0) continue;
    const [count, ...places] = Array.from(runJs(made, precision, [pairRow(scene, frames, hulls, MARGIN)])[0]);
    const off = theirs.map(({ pos }, k) => apart(pos, places.slice(3 * k, 3 * k + 3)));
    const isCounted = count === theirs.length;
    out.push({ isCounted, isPlaced: isCounted && Math.max(...off) <= bounds.place.value });
  }
  return out;
}

const share = (of: readonly boolean[]): number => of.filter(Boolean).length / of.length;

describe.each([
  ["mesh", "mesh", "level"],
  ["box", "mesh", "level"],
  ["cylinder", "box", "level"],
  ["cylinder", "mesh", "level"],
  ["cylinder", "cylinder", "level"],
  ["cylinder", "cylinder", "on its side"],
] as const)("%s and %s, %s", (one, other, lies) => {
  test.each(["f64", "f32"] as const)("have MuJoCo's contacts, in %s", async (precision) => {
    const all = await compared([one, other], lies === "on its side", precision);
    expect(all.length).toBeGreaterThan(POSES / 2);
    expect(share(all.map((x) => x.isCounted))).toBeGreaterThanOrEqual(bounds.counted.value);
    expect(share(all.map((x) => x.isPlaced))).toBeGreaterThanOrEqual(
      precision === "f64" ? bounds.placed64.value : bounds.placed32.value,
    );
  });
});
