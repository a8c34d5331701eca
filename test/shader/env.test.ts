// kernels of environments compile without a driver, straight-line in autoreset modes by turns; rolled, those of one
// environment of each kind; with `test:full` of every environment in each
import { describe, expect, test } from "vitest";
import { type Autoreset, planVecKernels } from "../../src/env/index.ts";
import { compileOnNull } from "../../src/gpu/index.ts";
import { costOf } from "../../src/trace/cost.ts";
import { ONE_OF_EACH_KIND, SHIPPED } from "../support/shipped.ts";
import { isFull, sweepBut } from "../support/sweep.ts";

const MODES: Autoreset[] = ["next-step", "same-step", "disabled"];

/** Drivers compile in time quadratic in the places of a kernel that touch memory, besides its observations. */
const MAX_MEMORY_OPERATIONS = 100;
/** Arenas of observations that a step writes. */
const OBSERVATIONS: Record<Autoreset, number> = { "next-step": 1, "same-step": 2, disabled: 1 };
/** What a default device gives a stage. */
const MAX_BUFFERS = 8;

/** What a world does when its episode ends is of no environment: the modes take turns. */
const TURNS: Autoreset[] = ["disabled", "same-step", "next-step", "next-step"];
const modesOf = (place: number): Autoreset[] => (isFull ? MODES : [TURNS[place % TURNS.length]]);

/**
 * The same robots walk on level ground, with the same terms; the humanoid of dm_control walks, at another speed. Kernels of
 * those on terrain take seconds each to trace: the Go1's compile rolled below, and as a GPU gets them in browser-limits.test.ts;
 * all three run on WebAssembly (wasm-hashes.test.ts).
 */
const LIKE_OTHERS = ["BipedRough", "G1Rough", "Go1Rough", "dm-humanoid-run"];

const PLACED = SHIPPED.map((id, place) => [id, place] as const);
describe.each(sweepBut(PLACED, LIKE_OTHERS, ([id]) => id))("%s", (id, place) => {
  test.each(modesOf(place))("%s", async (autoreset) => {
    const { kernels, traces, plan } = await planVecKernels(id, { numEnvs: 8, autoreset });
    const observation = plan.fields.find(({ name }) => name === "obs")!;
    const written = (OBSERVATIONS[autoreset] * observation.perWorld) / 4;
    expect([...kernels.keys()]).toEqual(["step", "reset", "record", "record_cut", "record_back"]);
    for (const [name, { code, buffers }] of kernels) {
      await compileOnNull(code, `${id} ${autoreset} ${name}`, ["main"]);
      expect(buffers.length).toBeLessThanOrEqual(MAX_BUFFERS);
      const { loads, stores } = costOf(traces.get(name)!);
      expect(loads + stores, name).toBeLessThanOrEqual(MAX_MEMORY_OPERATIONS + written);
    }
  });
});

test.each(ONE_OF_EACH_KIND)("%s, rolled", async (id) => {
  const { kernels } = await planVecKernels(id, { numEnvs: 8, unroll: false });
  for (const [name, { code }] of kernels) await compileOnNull(code, `${id} rolled ${name}`, ["main"]);
});
