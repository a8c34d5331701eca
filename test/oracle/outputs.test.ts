// contacts, rows, inverse dynamics and matrices that simulations read, against MuJoCo's
import { describe, expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { fullM, jacobian } from "../../src/model/dense.ts";
import type { FieldName } from "../../src/model/fields.ts";
import { loadModel, withOptions } from "../../src/model/model.ts";
import { withMuJoCo, type Oracle } from "../../src/model/oracle.ts";
import { drawState } from "../support/fixture.ts";
import { readRows } from "../support/efc.ts";
import { difference } from "../support/oracle-suite.ts";
import { isFull } from "../support/sweep.ts";
import { featureBounds } from "../support/tolerances.ts";

const scene = (cone: string) => `<mujoco model="read">
  <option cone="${cone}"/>
  <worldbody><geom name="floor" type="plane" size="2 2 0.1" gap="0.02"/>
    <body name="box" pos="0 0 0.095"><freejoint/><geom type="box" size="0.1 0.1 0.1" condim="4"/><site name="corner" pos="0.1 0.1 0.1"/></body>
    <body name="ball" pos="0.5 0 0.058"><freejoint/><geom name="ball" size="0.06" condim="1" adhesion="0.5"/></body>
    <body name="arm" pos="0 0 1"><joint name="a" axis="0 1 0" range="-0.01 0.2" limited="true" frictionloss="0.1"/><geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0"/>
      <body pos="0.3 0 0"><joint name="b" axis="1 0 0"/><geom name="hand" type="box" size="0.05 0.02 0.1" pos="0.1 0 0"/></body></body></worldbody>
  <equality><joint joint1="a" joint2="b"/></equality><actuator><motor joint="a"/><motor joint="b"/></actuator></mujoco>`;

const CONTACT: readonly FieldName[] = [
  "contact_dist",
  "contact_pos",
  "contact_frame",
  "contact_geom",
  "contact_dim",
  "contact_includemargin",
  "contact_friction",
  "contact_efc_address",
  "contact_force",
];
const ROWS = ["type", "id", "J", "pos", "margin", "D", "R", "aref", "force"] as const;
const OUTPUTS: readonly FieldName[] = [
  "ncon",
  "nefc",
  "ne",
  "nf",
  "nl",
  ...CONTACT,
  ...ROWS.map((name) => `efc_${name}` as FieldName),
  "qfrc_inverse",
  "M",
  "cdof",
  "subtree_com",
  "xpos",
  "site_xpos",
  "geom_xpos",
];

/** What MuJoCo's contact holds under the name of a field. */
function contactsOf({ mujoco, model, data, contacts }: Oracle): Record<string, number[]>[] {
  const buffer = new mujoco.DoubleBuffer(6);
  const all = contacts().map((c, i) => {
    mujoco.mj_contactForce(model, data, i, buffer);
    const force = Array.from(buffer.GetView() as Float64Array);
    return {
      contact_dist: [c.dist],
      contact_pos: [...c.pos],
      contact_frame: [...c.frame],
      contact_geom: [...c.geom],
      contact_dim: [c.dim],
      contact_includemargin: [c.includemargin],
      // MuJoCo keeps what it does not use too
      contact_friction: Array.from(c.friction as ArrayLike<number>, (x, k) => (c.dim > k + 1 ? x : 0)),
      contact_efc_address: [c.efc_address],
      contact_force: force,
    };
  });
  buffer.delete();
  return all;
}

describe.each(["elliptic", "pyramidal"])("%s contacts, rows and matrices equal MuJoCo's", (cone) => {
  test.each([
    ["cpu", true],
    ["wasm", true],
    // drivers take long to compile what is read here
    ...(isFull ? ([[undefined, true]] as const) : []),
  ] as const)("on %s, straight-line: %s", async (device, unroll) => {
    const model = withOptions(await loadModel(scene(cone)), { iterations: 200, tolerance: 1e-12 });
    const bound: number = featureBounds.path.value;
    await using sim = await createSimulation(model, {
      numEnvs: 2,
      outputs: OUTPUTS,
      unroll,
      ...(device ? { device } : {}),
    });
    await withMuJoCo(model, async (oracle) => {
      const { mujoco, model: m, data, write, read } = oracle;
      const states: Record<string, ArrayLike<number>>[] = [0, 2].map((seed) => drawState(model, oracle, seed));
      states[0].qpos = Float64Array.from(model.qpos0, Math.fround);
      const names = ["qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied", "qacc_warmstart"] as const;
      const joined = (name: string) => states.flatMap((s) => Array.from(s[name]));
      await sim.setState(Object.fromEntries(names.map((name) => [name, joined(name)])));
      sim.forward();
      const ours = await sim.getState(OUTPUTS);
      const part = (name: FieldName, w: number) =>
        ours[name].subarray((w * ours[name].length) / 2, ((w + 1) * ours[name].length) / 2);
      const Mfull = fullM(model, ours.M);
      const jacs = ([{ body: "arm" }, { site: "corner" }, { geom: "hand" }] as const).map((of) =>
        jacobian(model, ours, of),
      );

      states.forEach((state, w) => {
        mujoco.mj_resetData(m, data);
        for (const name of names) write(name, state[name]);
        mujoco.mj_forward(m, data);
        const close = (got: ArrayLike<number>, want: ArrayLike<number>, what: string, to = bound) =>
          expect(difference(got, want), `world ${w}: ${what}`).toBeLessThanOrEqual(to);
        const contacts = contactsOf(oracle);
        expect(part("ncon", w)[0]).toBe(contacts.length);
        for (const [i, contact] of contacts.entries()) {
          for (const name of CONTACT) {
            const size = contact[name].length;
            close(part(name, w).subarray(i * size, (i + 1) * size), contact[name], `${name} of contact ${i}`);
          }
        }
        expect(
          part("contact_geom", w)
            .subarray(2 * contacts.length)
            .every((g) => g === -1),
        ).toBe(true);
        const rows = readRows(model, oracle);
        expect(part("nefc", w)[0]).toBe(rows.length);
        expect(part("ne", w)[0] + part("nf", w)[0] + part("nl", w)[0]).toBe(data.ne + data.nf + data.nl);
        for (const [i, row] of rows.entries()) {
          for (const name of ROWS) {
            const want = [row[name]].flat();
            const got = part(`efc_${name}`, w).subarray(i * want.length, (i + 1) * want.length);
            close(got, want, `efc_${name} of row ${i}`);
          }
        }
        mujoco.mj_inverse(m, data);
        close(part("qfrc_inverse", w), read("qfrc_inverse"), "qfrc_inverse");
        const { nv } = model;
        const buffer = new mujoco.DoubleBuffer(nv * nv);
        mujoco.mj_fullM(m, data, buffer);
        close(
          Mfull.subarray(w * nv * nv, (w + 1) * nv * nv),
          buffer.GetView() as Float64Array,
          "full M",
          featureBounds.geometry.value,
        );
        buffer.delete();
        const [p, r] = [0, 1].map(() => new mujoco.DoubleBuffer(3 * nv));
        const theirs = [
          () => mujoco.mj_jacBody(m, data, p, r, model.names.body.indexOf("arm")),
          () => mujoco.mj_jacSite(m, data, p, r, model.names.site.indexOf("corner")),
          () => mujoco.mj_jacGeom(m, data, p, r, model.names.geom.indexOf("hand")),
        ];
        theirs.forEach((make, k) => {
          make();
          const own = (x: Float64Array) => x.subarray(w * 3 * nv, (w + 1) * 3 * nv);
          close(own(jacs[k].jacp), p.GetView() as Float64Array, `jacp ${k}`, featureBounds.geometry.value);
          close(own(jacs[k].jacr), r.GetView() as Float64Array, `jacr ${k}`, featureBounds.geometry.value);
        });
        p.delete();
        r.delete();
      });
    });
  });
});

test("R of a pyramid may be less than mjMINVAL: MuJoCo bounds it before it takes 2 mu² of it", async () => {
  const hard = `friction="0 0 0" solimp="0.995 0.995 0.001"`;
  const model = await loadModel(`<mujoco><worldbody><geom type="plane" size="5 5 0.1" ${hard}/>
    <body pos="0 0 0.199"><freejoint/><geom size="0.2" mass="3000" ${hard}/></body>
    <body pos="1 0 0.199"><freejoint/><geom size="0.2" mass="3"/></body></worldbody></mujoco>`);
  await using sim = await createSimulation(model, { numEnvs: 1, outputs: ["efc_D"], device: "cpu-f64" });
  sim.forward();
  const { efc_D } = await sim.getState(["efc_D"]);
  await withMuJoCo(model, async (oracle) => {
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    const rows = readRows(model, oracle);
    expect(Math.max(...rows.map((row) => row.D))).toBeGreaterThan(1e15);
    // in ratios: the rows of the other ball are smaller by many orders
    const ratios = rows.map((row, i) => efc_D[i] / row.D);
    expect(difference(ratios, Array(rows.length).fill(1))).toBeLessThanOrEqual(featureBounds.geometry.value);
  });
});
