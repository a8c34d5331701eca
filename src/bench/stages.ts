// device time by stage. A timestamp query times a whole pass and all stages are in one kernel, so kernels are made that
// end an evaluation early: each sums up what it has computed into one number, which keeps a compiler from leaving it out.
// The difference of two is what the stages between them take.
import type { VectorEnv } from "../env/index.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { PassTimer } from "../gpu/timestamps.ts";
import { createBudget } from "../memory/device-budget.ts";
import { worldIndex, type ArenaLayout } from "../memory/layout.ts";
import { fieldSize, fieldsOf, isCapacity } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import { hostRecords, planOf, type BatchSpec } from "../batch/batch.ts";
import type { ContactSlots } from "../physics/collision/contact-slots.ts";
import { evaluate } from "../physics/forward.ts";
import type { StageName } from "../physics/stages.ts";
import { emissionFor } from "../batch/kernel/emission.ts";
import { GpuBatch } from "../batch/gpu-batch.ts";
import { WorldKernel } from "../batch/kernel/simulation-kernel.ts";
import { simParams } from "../batch/params.ts";
import { defaultContacts } from "../batch/kernel/form.ts";
import { fieldRequest, RecordIO, stateFields } from "../batch/kernel/record-io.ts";
import type { WorldData } from "../physics/view.ts";
import { variable } from "../trace/control.ts";
import { trace, type Trace } from "../trace/graph.ts";
import { add, type Scalar } from "../trace/scalar.ts";

export interface Stages {
  readonly numEnvs: number;
  /** One evaluation of the forward dynamics of one world; a step by RK4 makes four. */
  readonly evaluationNs: number;
  readonly parts: readonly { readonly name: string; readonly nanoseconds: number }[];
  readonly note: string;
}

/** Where kernels end, and what a part up to there is called. */
const CUTS = [
  ["load", "load and store"],
  ["factor_m", "positions, inertia"],
  ["collision", "collision"],
  ["acceleration", "velocities, forces"],
  ["solver", "constraints, solver"],
] as const satisfies readonly (readonly ["load" | StageName, string])[];

type Cut = (typeof CUTS)[number][0];

const REPETITIONS = 15;
/** So many worlds at least, whose states are those of the environment over and over: a short pass is mostly its start. */
const WORLDS = 8192;

/**
 * Times one evaluation of the forward dynamics of all worlds of an environment in their present states.
 * @throws CorralError no-timestamps; errors of the device
 */
export async function measureStages(gpu: GpuDevice, model: Model, env: VectorEnv, unroll: boolean): Promise<Stages> {
  const numEnvs = Math.max(WORLDS, env.numEnvs);
  const planned = planOf(specOf(model, numEnvs, unroll), { limits: gpu.limits, emission: emissionFor(gpu.info) });
  const timer = await PassTimer.create(gpu, CUTS.length);
  const times: number[] = [];
  try {
    await using batch = await GpuBatch.create(gpu, planned, await createBudget(gpu));
    const layout = planned.plan.arenas.find((a) => a.name === "state")!;
    const state = await env.getState(layout.fields.map((f) => f.name));
    for (const { index, firstWorld, worlds, paddedWorlds } of planned.plan.shards) {
      const records = hostRecords((layout.bytesPerWorld / 4) * paddedWorlds, false);
      fill(records.f32, layout, state, { firstWorld, worlds, paddedWorlds });
      await batch.write("state", index, records);
    }
    await batch.sync();

    // by turns, and the first round is not counted
    for (let r = 0; r <= REPETITIONS; r++) {
      for (const [cut] of CUTS) batch.submit(cut, (_, run) => run(cut), timer.next());
      const encoder = gpu.device.createCommandEncoder();
      timer.resolve(encoder);
      gpu.device.queue.submit([encoder.finish()]);
      await batch.sync();
      const found = await timer.read();
      if (r > 0) found.forEach((ns, k) => (times[k] = Math.min(times[k] ?? Infinity, ns / numEnvs)));
    }
  } finally {
    timer.close();
  }

  const parts = CUTS.map(([, name], k) => ({ name, nanoseconds: times[k] - (times[k - 1] ?? 0) }));
  const evaluationNs = times[times.length - 1];
  return {
    numEnvs,
    evaluationNs,
    parts,
    note:
      `stages: one evaluation of the forward dynamics from the states of ${numEnvs} worlds takes ${evaluationNs.toFixed(0)} ns a world ` +
      `of device time (RK4 makes four a step). Each part is the difference between kernels that end after one stage and after ` +
      `another, the fastest of ${REPETITIONS} timestamp queries each; a kernel of all stages schedules them together, so read shares, not sums.`,
  };
}

function fill(
  into: Float32Array | Float64Array,
  layout: ArenaLayout,
  state: Readonly<Record<string, Float64Array>>,
  shard: { readonly firstWorld: number; readonly worlds: number; readonly paddedWorlds: number },
): void {
  for (const field of layout.fields) {
    const values = state[field.name];
    for (let local = 0; local < shard.worlds; local++) {
      const row = ((shard.firstWorld + local) * field.perWorld) % values.length;
      for (let e = 0; e < field.perWorld; e++)
        into[worldIndex(layout, field, shard.paddedWorlds, local, e)] = values[row + e];
    }
  }
}

function specOf(model: Model, numEnvs: number, isUnrolled: boolean): BatchSpec {
  const params = simParams(model);
  const nconmax = defaultContacts(model);
  const fields = stateFields(model, false).map((name) => fieldRequest(name, "state", fieldSize(model, name)));
  return {
    name: `${model.name || "model"} by stage`,
    numEnvs,
    params,
    unrolled: () => isUnrolled,
    arenas: [
      { name: "state", access: "read_write", fields },
      { name: "sum", access: "read_write", fields: [fieldRequest("sum", "task", 1)] },
    ],
    kernels: CUTS.map(([cut]) => ({
      name: cut,
      trace: (arenas, form): Trace =>
        trace(
          () => {
            const names = params.map(({ name, type }) => ({ name, type }));
            const w = new WorldKernel({
              model,
              nconmax,
              applied: false,
              outputs: [],
              params: names,
              state: arenas.state,
            });
            w.load();
            const sum = variable("sum", 0);
            sumUntil(cut, w, nconmax, (x) => sum.set(add(sum.get(), x)));
            new RecordIO(arenas.sum).store("sum", [sum.get()]);
          },
          { ...form, params: params.map(({ name, type }) => ({ name, type })) },
        ),
    })),
  };
}

/** Traces an evaluation up to a stage, and what sums up all that it has computed so far. */
function sumUntil(cut: Cut, w: WorldKernel, nconmax: number, take: (x: Scalar) => void): void {
  let slots: ContactSlots | undefined;
  if (cut !== "load") {
    for (const reached of evaluate(w.m, w.d, { nconmax })) {
      ({ slots } = reached);
      if (reached.stage === cut) break;
    }
  }
  for (const x of computed(w.m.model, w.d)) take(x);
  slots?.each((_, slot) => {
    take(slots.dist(slot));
    for (const x of [...slots.pos(slot), ...slots.frame(slot)]) take(x);
  });
}

/** All numbers of the data; those that no stage has set are zeros, which fold away. */
function computed(model: Model, d: WorldData): Scalar[] {
  // rows and contacts are no fields of a kernel
  const held = fieldsOf("derived").filter(({ shape }) => !shape.some((dim) => isCapacity(dim)));
  return [...stateFields(model, false), ...held.map(({ name }) => name)].flatMap((name) => d[name].all());
}
