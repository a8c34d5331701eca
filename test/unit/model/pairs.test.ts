import { describe, expect, test } from "vitest";
import { mjtGeom } from "../../../src/model/enums.ts";
import { loadModel, withOptions, type Model } from "../../../src/model/model.ts";
import { withMuJoCo, type Oracle } from "../../../src/model/oracle.ts";
import { constraintBound, geomPairs, type GeomPair } from "../../../src/model/pairs.ts";
import { ENV_MODELS, loadTestModel, randomState, TEST_MODELS } from "../../support/mjcf.ts";
import { createMjcf } from "../../support/random-mjcf.ts";

const names = [...TEST_MODELS, ...ENV_MODELS.map((n) => `envs/${n}`)];
const seeds = Array.from({ length: 40 }, (_, i) => i);

/** Margins so wide that every pair that is tested makes a contact. */
function widen(oracle: Oracle): void {
  for (const name of ["geom_margin", "body_margin", "pair_margin"] as const) oracle.model[name].fill(50);
}

function put(model: Model, oracle: Oracle, seed: number, spread: number): void {
  const state = randomState(model, seed, spread);
  for (const name of ["qpos", "qvel", "act", "ctrl"] as const) oracle.write(name, state[name]);
  oracle.mujoco.mj_forward(oracle.model, oracle.data);
}

const label = (p: { geom1: number; geom2: number }) => `${p.geom1}-${p.geom2}`;

/** The pairs that have contacts, each once, in the order of the contacts. */
function contactPairs(oracle: Oracle): string[] {
  const all = oracle.contacts().map((c) => `${c.geom[0]}-${c.geom[1]}`);
  return all.filter((p, i) => i === 0 || p !== all[i - 1]);
}

async function hasMuJoCosPairs(given: Model): Promise<void> {
  // an overridden margin would hide the wide ones
  const model = withOptions(given, { enableflags: 0 });
  await withMuJoCo(model, (oracle) => {
    widen(oracle);
    put(model, oracle, 1, 0.1);
    const made = contactPairs(oracle);
    // boxes whose faces do not overlap make no contact however wide the margin
    const mayMiss = (p: GeomPair) => [p.geom1, p.geom2].every((g) => model.geom_type[g] === mjtGeom.BOX);
    const pairs = geomPairs(model).filter((p) => !mayMiss(p) || made.includes(label(p)));
    // an explicit pair is listed again by its bodies only where MuJoCo does so
    expect(made).toEqual(pairs.map(label));
  });
}

async function hasMuJoCosParameters(model: Model, seed: number): Promise<void> {
  const pairs = geomPairs(model);
  const bound = constraintBound(model, pairs);
  await withMuJoCo(model, (oracle) => {
    for (const spread of [0, 0.03, 0.2]) {
      put(model, oracle, seed, spread);
      expect(oracle.data.ncon).toBeLessThanOrEqual(bound.nconmax);
      expect(oracle.data.nefc).toBeLessThanOrEqual(bound.njmax);
      expect(oracle.data.nf).toBeLessThanOrEqual(bound.nf);
      expect(oracle.data.nl).toBeLessThanOrEqual(bound.nl);

      let at = 0;
      const used = new Map<number, number>();
      for (const contact of oracle.contacts()) {
        while (at < pairs.length && label(pairs.at(at)) !== `${contact.geom[0]}-${contact.geom[1]}`) at++;
        // a contact of no pair, or one out of order
        expect([contact.geom, at < pairs.length]).toEqual([contact.geom, true]);
        const pair = pairs.at(at);
        used.set(at, (used.get(at) ?? 0) + 1);
        expect(contact.dim).toBe(pair.condim);
        expect(contact.includemargin).toBe(pair.margin);
        expect(contact.dist).toBeLessThanOrEqual(pair.margin + pair.gap);
        for (const name of ["friction", "solref", "solreffriction", "solimp"] as const) {
          expect([name, ...contact[name]]).toEqual([name, ...pair[name]]);
        }
      }
      for (const [k, count] of used) expect([k, count <= pairs.at(k).ncon]).toEqual([k, true]);
    }
  });
}

describe("candidate geom pairs", () => {
  test.each(names)("%s: all of MuJoCo's, in its contact order", async (name) => {
    await hasMuJoCosPairs(await loadTestModel(name));
  });

  test.each(names)("%s: contact parameters and bounds are MuJoCo's", async (name) => {
    await hasMuJoCosParameters(await loadTestModel(name), 7);
  });

  test.each(seeds)("random model, seed %i: pairs, parameters and bounds are MuJoCo's", async (seed) => {
    const model = await loadModel(createMjcf(seed));
    await hasMuJoCosPairs(model);
    await hasMuJoCosParameters(model, seed);
  });

  test("there are none without contacts or constraints", async () => {
    const model = await loadTestModel("contact_order");
    const contact = 1 << 4;
    expect(geomPairs(withOptions(model, { disableflags: contact })).length).toBe(0);
    expect(geomPairs(withOptions(model, { disableflags: 1 })).length).toBe(0);
  });

  test("the override flag replaces the parameters", async () => {
    const model = withOptions(await loadTestModel("contact_params"), {
      enableflags: 1,
      o_margin: 0.02,
      o_solref: [0.04, 0.9],
      o_friction: [0.3, 0.3, 0.01, 0.001, 0],
    });
    await hasMuJoCosParameters(model, 3);
  });

  test("planes pair with no plane, and types come in order", async () => {
    for (const pair of geomPairs(await loadTestModel("contact_order"))) {
      const model = await loadTestModel("contact_order");
      expect(model.geom_type[pair.geom1]).toBeLessThanOrEqual(model.geom_type[pair.geom2]);
      expect(model.geom_type[pair.geom2]).not.toBe(mjtGeom.PLANE);
    }
  });
});
