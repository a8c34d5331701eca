// a Simulation for a peer
import type { Simulation, Snapshot } from "../batch/simulation.ts";
import { fieldShape, fieldSize, fieldsOf, type FieldName } from "../model/fields.ts";
import { planTable } from "../memory/table.ts";
import { arrayTable, type ArrayTable } from "./mapped-file.ts";
import { Kept, Served, type Calls } from "./served.ts";
import { StateExchange } from "./state-exchange.ts";

export class ServedSimulation extends Served {
  readonly arrays: ArrayTable;
  readonly facts: object;
  protected readonly calls: Calls;
  readonly #simulation: Simulation;
  readonly #snapshots = new Kept<Snapshot>();

  constructor(simulation: Simulation) {
    super();
    this.#simulation = simulation;
    const { model, numEnvs, outputNames } = simulation;
    const names = [...fieldsOf("state").map(({ name }) => name), ...outputNames] as FieldName[];
    const fields = names.map((name) => ({ name, shape: fieldShape(model, name), size: fieldSize(model, name) }));
    const state = new StateExchange(simulation, fields, () => this.file);
    this.arrays = arrayTable([state.array]);
    this.facts = { numEnvs, fields, outputs: outputNames, device: simulation.deviceName, timestep: model.opt.timestep };
    this.calls = {
      ...state.calls,
      step: async ({ nstep = 1 }) => {
        simulation.step(nstep as number);
        await simulation.sync();
      },
      forward: async () => {
        simulation.forward();
        await simulation.sync();
      },
      reset: () => simulation.reset(),
      setOptions: ({ values }) => simulation.setOptions(values as object),
      status: async () => ({ worlds: await simulation.status() }),
      snapshot: async () => ({ snapshot: this.#snapshots.add(await simulation.snapshot()) }),
      restore: ({ snapshot }) => simulation.restore(this.#snapshots.get(snapshot)),
      drop: ({ snapshots }) => this.#snapshots.drop(snapshots as number[]),
      plan: () => ({ plan: simulation.plan, table: planTable(simulation.plan) }),
    };
  }

  protected release(): Promise<void> {
    return this.#simulation.close();
  }
}
