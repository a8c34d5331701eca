// small models, each of one feature, by all of the pipeline and along a way on every kind of device
import { describe, expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { fieldSize, type FieldName } from "../../src/model/fields.ts";
import { loadModel } from "../../src/model/model.ts";
import { MuJoCoWorld } from "../../src/monitor/mujoco-world.ts";
import type { Precision } from "../../src/trace/javascript.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { drawState, fixture, type Fixture, type Values } from "./fixture.ts";
import {
  boundOf,
  constrainedBound,
  describeHow,
  difference,
  fieldDifference,
  inputsOf,
  STAGE_HOWS,
} from "./oracle-suite.ts";
import { isFull } from "./sweep.ts";
import { forwardStage, STEP } from "./stage-table.ts";
import { evaluate, type How } from "./stages.ts";
import { featureBounds } from "./tolerances.ts";

const SMOOTH: readonly FieldName[] = [
  "actuator_length",
  "actuator_velocity",
  "act_dot",
  "actuator_force",
  "qfrc_actuator",
  "qfrc_passive",
  "qacc_smooth",
];
const FORWARD = forwardStage([...SMOOTH, "qacc", "qfrc_constraint", "sensordata"]);

/** A model, and how long it is followed. */
export interface Feature {
  readonly xml: string;
  /** Default: 1, 2, 3, 4. */
  readonly seeds?: readonly number[];
  /** Whether equalities are switched from state to state. */
  readonly switches?: boolean;
  /** Steps along a way beside MuJoCo. Default: 20. */
  readonly steps?: number;
  /** Whether the way is gone on the driver too, which compiles for long; with `test:full` all are. */
  readonly driver?: boolean;
}

async function compare(f: Fixture, how: How): Promise<void> {
  const precision = how.on as Precision;
  const inputs = f.truths.map((t) => inputsOf(f, t));
  const forward = await evaluate(f.model, FORWARD, inputs, how);
  const stepped = await evaluate(f.model, STEP, inputs, how);
  f.truths.forEach((truth, i) => {
    const label = `${truth.label}, ${describeHow(how)}`;
    expect(forward[i].ncon[0], `${label}: ncon`).toBe(truth.fields.ncon[0]);
    expect(forward[i].nefc[0], `${label}: nefc`).toBe(truth.fields.nefc[0]);
    for (const field of FORWARD.writes) {
      const bound = SMOOTH.includes(field)
        ? boundOf("forward_smooth", precision)
        : constrainedBound("forward", precision, truth);
      expect(fieldDifference(field, forward[i][field], truth), `${label}: ${field}`).toBeLessThanOrEqual(bound);
    }
    for (const field of STEP.writes) {
      const error = fieldDifference(field, stepped[i][field], { ...truth, fields: truth.next });
      const bound = constrainedBound("forward", precision, truth);
      expect(error, `${label}: ${field} after a step`).toBeLessThanOrEqual(bound);
    }
  });
}

const COMPARED: readonly FieldName[] = ["qpos", "qvel", "act", "sensordata", "history"];

/** Steps of both sides from the start, under controls that change; each step of ours begins where MuJoCo is. */
async function follow(
  { xml, steps = 20, switches = false }: Feature,
  device: "wasm" | "cpu" | undefined,
  unroll: boolean,
): Promise<void> {
  const model = await loadModel(xml);
  const outputs = (["sensordata"] as const).filter((name) => fieldSize(model, name) > 0);
  const world = await MuJoCoWorld.create(model);
  await using sim = await createSimulation(model, { numEnvs: 1, outputs, unroll, ...(device ? { device } : {}) });
  try {
    for (let k = 0; k < steps; k++) {
      const ctrl = Float64Array.from({ length: model.nu }, (_, u) => Math.fround(0.8 * Math.sin(0.7 * k + u)));
      if (model.nu > 0) await sim.setState({ ctrl });
      if (switches) {
        const eq_active = switched(model.neq, k);
        await sim.setState({ eq_active });
        world.oracle.write("eq_active", eq_active);
      }
      sim.step();
      const ours = await sim.getState(COMPARED.filter((name) => fieldSize(model, name) > 0));
      const theirs = world.step({ ...world.state(), ctrl });
      const held = { ...theirs, history: world.state().history };
      for (const name of Object.keys(ours) as (keyof typeof ours)[]) {
        const ref = held[name as "qpos"];
        const label = `${device ?? "gpu"}, ${unroll ? "straight" : "rolled"}: ${name} after ${k + 1} steps`;
        expect(difference(ours[name], ref), label).toBeLessThanOrEqual(featureBounds.path.value);
      }
    }
  } finally {
    world.delete();
  }
}

/** Which equalities are active, by turns. */
const switched = (neq: number, turn: number): Float64Array =>
  Float64Array.from({ length: neq }, (_, e) => ((turn >> (e % 3)) + (e >> 1)) & 1);

/** States of seeds with equalities switched. */
async function switchedStates(xml: string, seeds: readonly number[]): Promise<Values[]> {
  const model = await loadModel(xml);
  return withMuJoCo(model, (oracle) =>
    seeds.map((seed) => ({ ...drawState(model, oracle, seed), eq_active: switched(model.neq, seed) })),
  );
}

/** Compares each model with MuJoCo: all stages in both precisions and both forms, then along a way on kinds of devices. */
export function describeFeatures(name: string, features: Readonly<Record<string, Feature>>): void {
  describe(name, () => {
    for (const [title, feature] of Object.entries(features)) {
      test(title, async () => {
        const { xml, seeds = [1, 2, 3, 4], switches, driver = isFull } = feature;
        const f = await fixture(xml, seeds, switches ? await switchedStates(xml, seeds) : undefined);
        for (const how of STAGE_HOWS) await compare(f, how);
        if (driver) await follow(feature, undefined, true);
        await follow(feature, "wasm", false);
        await follow(feature, "cpu", true);
      });
    }
  });
}
