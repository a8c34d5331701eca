// a categorical policy over many actions: logits are made in blocks, used and forgotten, so that no matrix of rows times
// actions is ever held. Two passes: the first keeps of each row the largest logit, the sum of exponentials, the entropy's
// sum and the action (streaming softmax, Milakov and Gimelshein 2018); the second makes each block again, turns it into
// derivatives, and adds up what they mean for weights and inputs.
import type { LearnerShape } from "./arenas.ts";
import type { DeviceCore } from "../device/device-core.ts";
import type { JobPass } from "../device/kernels.ts";
import { bindNorms } from "../device/layer-norms.ts";
import type { Bind } from "../device/kernel-table.ts";
import { ACTIVATIONS } from "../networks/activations.ts";
import { padTo, TILE } from "../networks/networks.ts";
import type { Instead } from "../networks/policy.ts";

/** `mode` of the first and of the last block, when derivatives by the inputs are added up over blocks. */
const FIRST_BLOCK = 1;
const LAST_BLOCK = 2;

/** Binds every job of the head. `value`: where the value of a row lies, and vec4s of its rows. */
export function bindHead(
  bind: Bind,
  shape: LearnerShape,
  { value, value4 }: { readonly value: number; readonly value4: number },
): void {
  const { nets, head, work, actions4 } = shape;
  const { blocks, width, embedding } = nets.head!;
  const { x, k4, logits, slopes, kept } = head!;
  const below = nets.policy.at(-1);
  const of = embedding ? "_embedded" : "";
  blocks.forEach(({ w, b, outputs: count }, i) => {
    const layer = { x, k4, w, b, y: logits, n4: width / 4, activation: 0, mode: 0 };
    bind(`head ${i}`, `forward${of}`, [layer]);
    const block = { logits, width: width / 4, kept, index: i, first: i * width, count, action_words: 4 * actions4 };
    bind(`head act ${i}`, "head_act", block);
    bind(`head loss ${i}`, "head_loss", block);
    bind(`head slope ${i}`, "head_slope", block);
    bind(`head gradient ${i}`, embedding ? "gradient_embedded" : "gradient_whole", [layer]);
    if (!below) return;
    const mode = (i === 0 ? FIRST_BLOCK : 0) | (i === blocks.length - 1 ? LAST_BLOCK : 0);
    const activation = ACTIVATIONS[below.activation].code;
    bind(`head backward ${i}`, `head_backward${of}`, [{ ...layer, b: slopes, activation, mode }]);
    // with the last block derivatives are whole
    if (mode & LAST_BLOCK)
      bindNorms(bind, `head backward ${i}`, "layer_norm_back", [[below, work.outputs.get(below)!]]);
  });
  bind("loss", "loss_streamed", { kept, value, value4, statistics: work.statistics });
  if (!embedding) return;
  const { at, dims, features } = embedding;
  const job = {
    map: 4 * at,
    dims,
    features,
    width,
    blocks: blocks.length,
    actions: nets.head!.actions,
    k: blocks[0].k,
    to: 0,
  };
  bind("embed", "embed", job);
  bind("embed gradient", "embed_gradient", job);
}

/** Runs jobs of a learner. */
interface Runner extends Pick<DeviceCore, "run" | "runRows" | "runWeights"> {
  readonly shape: LearnerShape;
}

function makeBlock(core: Runner, pass: JobPass, i: number, rows: number): void {
  core.runRows(pass, `head ${i}`, rows, core.shape.nets.head!.width);
}

/** Embeddings of all actions from the parameters as they are: before the first block of an update or a step. */
export function embedActions(core: Runner, pass: JobPass): void {
  const { embedding, blocks, width } = core.shape.nets.head!;
  if (embedding) core.run(pass, "embed", blocks.length * width);
}

/** Chooses an action for each row, or for the loss looks at the action of the rollout. */
export function foldBlocks(core: Runner, pass: JobPass, rows: number, how: "act" | "loss"): void {
  core.shape.nets.head!.blocks.forEach((_, i) => {
    makeBlock(core, pass, i, rows);
    core.run(pass, `head ${how} ${i}`, rows);
  });
}

/** Derivatives of the loss by weights, and by the inputs in their place. */
export function descendBlocks(core: Runner, pass: JobPass, rows: number): void {
  const { nets } = core.shape;
  const { blocks, width, embedding } = nets.head!;
  blocks.forEach(({ k }, i) => {
    makeBlock(core, pass, i, rows);
    core.run(pass, `head slope ${i}`, (rows * width) / 4);
    core.runWeights(pass, `head gradient ${i}`, 1, [{ k, n: width }]);
    if (nets.policy.length > 0) core.runRows(pass, `head backward ${i}`, rows, k);
  });
  if (embedding) core.run(pass, "embed gradient", embedding.dims * embedding.features);
}

/** What one-hot actions and whole matrices of logits would have needed; nothing for continuous actions. */
export function insteadOf({ env, samples, minibatch }: LearnerShape): Instead[] {
  if (env.head !== "categorical") return [];
  return [
    { what: "one-hot actions of the rollout, in float32", bytes: 4 * samples * env.outputs },
    { what: "logits of a whole minibatch", bytes: 4 * padTo(minibatch, TILE) * padTo(env.outputs, TILE) },
  ];
}
