// searches that worlds of a vector share: each world has the bits that it has elsewhere, and alone
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createRandom } from "../support/mjcf-random.ts";

const WORLDS = 7;
const STEPS = 12;

/** A lump of 14 vertices. */
const LUMP =
  "1 1 1 -1 1 1 1 -1 1 -1 -1 1 1 1 -1 -1 1 -1 1 -1 -1 -1 -1 -1 1.3 0 0 -1.3 0 0 0 1.4 0 0 -1.4 0 0 0 1.2 0 0 -1.5";
const FLAT = ['type="mesh" mesh="lump"', 'type="box" size=".1 .08 .06"', 'type="cylinder" size=".08 .1"'];

/** Ten bodies whose 45 pairs are all searched, or go by steps about a cylinder; with capsules some are turned for further contacts. */
const modelOf = (kinds: readonly string[]) => `<mujoco>
  <option timestep="0.002"/>
  <asset><mesh name="lump" scale=".08 .08 .08" vertex="${LUMP}"/></asset>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    ${Array.from({ length: 10 }, (_, i) => `<body pos="0 0 .5"><freejoint/><geom ${kinds[i % kinds.length]}/></body>`).join("\n")}
  </worldbody>
</mujoco>`;

/** Bodies on a spiral: in one heap, where more pairs are near than are searched at once, or far from each other. */
function starts(nq: number): Float64Array {
  const qpos = new Float64Array(WORLDS * nq);
  for (let w = 0; w < WORLDS; w++)
    for (let i = 0; i < nq / 7; i++) {
      const [far, angle] = [[0.02, 0.1, 0.5, 0.05, 0.02, 0.3, 0.09][w], 2.4 * i + w];
      const at = [far * i * Math.cos(angle), far * i * Math.sin(angle), 0.3 + 0.1 * far * i];
      const turn = [Math.cos(0.3 * i + w), 0.5 * Math.sin(i), Math.sin(0.3 * i + w), 0.1];
      const norm = Math.hypot(...turn);
      qpos.set([...at, ...turn.map((x) => x / norm)], w * nq + 7 * i);
    }
  return qpos;
}

interface Case {
  readonly kinds: readonly string[];
  readonly arithmetic: "float32" | "float64";
}

async function run(device: "wasm" | "cpu", { kinds, arithmetic }: Case, only?: number) {
  const model = await loadModel(modelOf(kinds));
  const numEnvs = only === undefined ? WORLDS : 1;
  await using simulation = await createSimulation(model, {
    numEnvs,
    device,
    arithmetic,
    nconmax: 200,
    ...(device === "wasm" ? { threads: 1 } : {}),
    outputs: ["ncon"],
  });
  const { nq } = model;
  const qpos = starts(nq);
  await simulation.setState({ qpos: only === undefined ? qpos : qpos.subarray(only * nq, (only + 1) * nq) });
  const contacts: number[] = [];
  for (let k = 0; k < STEPS; k++) {
    simulation.step(1);
    const { ncon } = await simulation.getState(["ncon"]);
    contacts.push(...Array.from(ncon));
  }
  const state = await simulation.getState(["qpos", "qvel"]);
  return { contacts, qpos: Array.from(state.qpos), qvel: Array.from(state.qvel) };
}

const ROUND = ['type="capsule" size=".05 .09"', 'type="ellipsoid" size=".1 .06 .08"'];

test.each([
  ["flat, float32", { kinds: FLAT, arithmetic: "float32" }],
  ["flat, float64", { kinds: FLAT, arithmetic: "float64" }],
  ["turned, float32", { kinds: [...FLAT, ...ROUND], arithmetic: "float32" }],
  ["turned, float64", { kinds: [FLAT[0], ROUND[0]], arithmetic: "float64" }],
] satisfies [string, Case][])("worlds with many and few pairs, %s", async (_, of) => {
  const together = await run("wasm", of);
  expect(Math.max(...together.contacts)).toBeGreaterThan(32);
  expect(together).toEqual(await run("cpu", of));
  const { qpos } = await run("wasm", of, 4);
  expect(together.qpos.slice(4 * qpos.length, 5 * qpos.length)).toEqual(qpos);
});

test("where all pairs overlap, some lane comes to more searches than a world has at once", async () => {
  const [worlds, bodies] = [8, 12];
  const body = `<body><freejoint/><geom ${ROUND[1]}/></body>`;
  const model = await loadModel(`<mujoco><worldbody>${body.repeat(bodies)}</worldbody></mujoco>`);
  const random = createRandom(3);
  const qpos = Float64Array.from(
    { length: worlds * model.nq },
    (_, i) => random.between(-1, 1) * (i % 7 < 3 ? 0.06 : 1),
  );
  const stepped = async (device: "wasm" | "cpu") => {
    const threads = device === "wasm" ? { threads: 1 } : {};
    const options = { numEnvs: worlds, device, nconmax: 200, arithmetic: "float32", ...threads } as const;
    await using simulation = await createSimulation(model, options);
    await simulation.setState({ qpos });
    simulation.step(1);
    return (await simulation.getState(["qvel"])).qvel;
  };
  expect(await stepped("wasm")).toEqual(await stepped("cpu"));
});
