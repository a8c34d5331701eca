// the colliders as WGSL: every one compiles, and computes on each software adapter what JavaScript does in float32
import { afterAll, describe, expect, test } from "vitest";

import { compileOnNull, type GpuDevice, openDevice } from "../../../src/gpu/index.ts";
import { colliders, type ColliderName } from "../../../src/physics/collision/colliders/index.ts";
import { EXACT_KINDS, randomPoses, randomSizes } from "../../support/collider-poses.ts";
import { framesOf, slotsOf, traceCollider } from "../../support/collider-scene.ts";
import { createRandom } from "../../support/mjcf-random.ts";
import { softwareAdapters } from "../../support/software-adapters.ts";
import { colliderBounds as bounds } from "../../support/tolerances.ts";
import { runGpu, runJs, testKernel } from "../../support/trace-runner.ts";

const KINDS = Object.keys(colliders) as ColliderName[];
const MARGIN = 0.02;

function scene(kind: ColliderName) {
  const r = createRandom(11);
  const sizes = randomSizes(r, kind);
  const frames = Array.from({ length: 1024 }, () => framesOf(...randomPoses(r)));
  return { program: traceCollider(kind, ...sizes, MARGIN), sizes, frames };
}

test.each(KINDS)("%s compiles on the null adapter", async (kind) => {
  await compileOnNull(testKernel(scene(kind).program).code, kind, ["main"]);
});

describe.each(await softwareAdapters())("on the %s adapter", (adapter) => {
  let gpu: GpuDevice | undefined;
  afterAll(() => gpu?.close());

  test.each(EXACT_KINDS)("%s is what JavaScript makes of it", async (kind) => {
    gpu ??= await openDevice({ adapter });
    const { program, sizes, frames } = scene(kind);
    const ours = (await runGpu(gpu, program, frames)).map(slotsOf);
    const expected = runJs(program, "f32", frames).map(slotsOf);
    const [first, both] = [sizes[0][0], sizes[0][0] + sizes[1][0]];

    expected.forEach((slots, i) => {
      slots.forEach((c, k) => {
        const label = `${kind}, pose ${i}, slot ${k}`;
        if (Math.abs(c.dist - MARGIN) > bounds.singleMargin.value) expect(ours[i][k].active, label).toBe(c.active);
        if (!c.active) return;

        // a normal between two points is known as well as their distance
        const lever = kind.startsWith("plane") ? 1 : Math.min(1, Math.abs(c.dist + first), Math.abs(c.dist + both));
        const numbers = (x: typeof c) => [x.dist, ...x.pos, ...x.frame];
        const worst = Math.max(...numbers(c).map((x, n) => Math.abs(x - numbers(ours[i][k])[n])));
        expect(worst * lever, label).toBeLessThanOrEqual(2 * bounds.single.value);
      });
    });
  });
});
