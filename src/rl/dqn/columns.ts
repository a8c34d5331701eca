// learning single columns of a head over many actions: the gradient of the one that was taken of each row, and the derivative
// by what it is multiplied with
import type { DeviceCore } from "../device/device-core.ts";
import type { JobPass } from "../device/kernels.ts";
import { bindNorms } from "../device/layer-norms.ts";
import type { Bind } from "../device/kernel-table.ts";
import { ACTIVATIONS } from "../networks/activations.ts";
import type { Rows } from "../networks/networks.ts";
import { lastOf, type QNetwork } from "./arenas.ts";

/** Numbers that an invocation clears of the head's gradient. */
const CLEARED = 8;

/** Where the numbers of a head begin, in floats, and how many there are. */
export function headAt({ head }: QNetwork): { readonly at: number; readonly size: number } {
  const { embedding, blocks, width } = head;
  const { k } = blocks[0];
  if (embedding) return { at: 4 * embedding.at, size: embedding.features * k };
  return { at: 4 * blocks[0].w, size: blocks.length * (k + 1) * width };
}

/** The numbers of kernels that take columns of a network whose rows lie so; `kept`: a QRow of each, in vec4s. */
export function columnsJob(network: QNetwork, rows: Rows, kept: number) {
  const { blocks, width, embedding } = network.head;
  const { at, size } = headAt(network);
  const below = network.layers.at(-1);
  return {
    x: 4 * lastOf(network, rows),
    inputs: blocks[0].inputs,
    k: blocks[0].k,
    activation: below ? ACTIVATIONS[below.activation].code : 0,
    kept: 4 * kept,
    head: at,
    head_size: size,
    width,
    features: embedding?.features ?? 0,
  };
}

/** Binds what learns the columns of a network whose rows lie so. */
export function bindColumns(bind: Bind, network: QNetwork, rows: Rows, kept: number): void {
  const { layers, head } = network;
  const { name } = head;
  const job = columnsJob(network, rows, kept);
  bind(`${name} clear head`, "column_clear", job);
  bind(`${name} head gradient`, "column_gradient", job);
  bind(`${name} map gradient`, "column_map_gradient", job);
  bind(`${name} head slope`, "column_slope", job);
  const below = layers.at(-1);
  if (below) bindNorms(bind, `${name} head slope`, "layer_norm_back", [[below, rows.outputs.get(below)!]]);
}

/** Gradients of the head, from derivatives in what is kept of each row; derivatives by its inputs in their place. */
export function descendColumns(
  core: Pick<DeviceCore, "run" | "runNorms">,
  pass: JobPass,
  network: QNetwork,
  rows: number,
): void {
  const { layers, head } = network;
  const { name } = head;
  const { k } = head.blocks[0];
  if (head.embedding) core.run(pass, `${name} map gradient`, head.embedding.features * k);
  else {
    core.run(pass, `${name} clear head`, headAt(network).size / CLEARED);
    core.run(pass, `${name} head gradient`, rows * (k + 1));
  }
  if (layers.length === 0) return;
  core.run(pass, `${name} head slope`, rows * k);
  core.runNorms(pass, `${name} head slope`, rows);
}
