// policies back from the files that exports are
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import { decodeSafetensors } from "../io/safetensors.ts";
import { HIDDEN_ACTIVATIONS, type HiddenActivation } from "../rl/networks/activations.ts";
import type { NamedArray } from "../rl/networks/networks.ts";
import { policyOf, type ActionFacts, type Policy } from "../rl/networks/policy.ts";

/**
 * The policy of a file of `corral export --format safetensors` (in a folder for the browser, `policy.safetensors`).
 * @throws CorralError bad-safetensors, bad-policy
 */
export function readPolicy(bytes: Uint8Array, what = "the policy"): Policy {
  if (!(bytes instanceof Uint8Array))
    throw new CorralError("bad-policy", `${what} is ${show(bytes)}; pass the bytes of its file, a Uint8Array.`, {
      what,
    });
  const { tensors, metadata } = decodeSafetensors(bytes, what);
  const bad = (why: string) =>
    new CorralError("bad-policy", `${what} ${why}. Export one with corral export --format safetensors.`, { what });
  const { env, algo, activation, head, clip_observations: clip } = metadata;
  if (metadata.producer !== "corral" || env === undefined || algo === undefined)
    throw bad("was not exported by corral");
  const numbers = (name: string) => (metadata[name] ?? "").split(",").map(Number);
  const isHidden = (name: string): name is HiddenActivation => (HIDDEN_ACTIVATIONS as readonly string[]).includes(name);
  if (activation !== "none" && !isHidden(activation)) throw bad(`has the unknown activation "${activation}"`);
  for (const [name, { data, shape }] of tensors)
    if (!(data instanceof Float32Array) || shape.length === 0 || !data.every(Number.isFinite))
      throw bad(`holds ${name}, which is no array of finite floats`);
  const named = Object.fromEntries(tensors) as Record<string, NamedArray>;
  const space = spaceOf(head, numbers, Number(metadata.start));
  if (!space || Number.isNaN(Number(clip))) throw bad("does not say what its actions are");
  const policy = policyOf(named, {
    id: env,
    algo,
    space,
    activation: activation === "none" ? HIDDEN_ACTIVATIONS[0] : activation,
    squash: metadata.squash === "true",
    clipObservations: Number(clip),
  });
  return checked(policy, bad);
}

/** The space of actions that a file tells of; undefined if it does not. */
function spaceOf(head: string, numbers: (name: string) => number[], start: number): ActionFacts | undefined {
  if (head === "gaussian") {
    const [low, high] = ["low", "high"].map((name) => Float32Array.from(numbers(name)));
    const isWhole = low.length === high.length && low.every((x, i) => x <= high[i]);
    return isWhole ? { kind: "box", low, high, size: low.length } : undefined;
  }
  const nvec = numbers("alternatives");
  if (head !== "categorical" || !Number.isInteger(start) || !nvec.every((n) => Number.isInteger(n) && n > 0)) return;
  if (nvec.length === 1) return { kind: "discrete", n: nvec[0], start };
  return { kind: "multi-discrete", nvec: Int32Array.from(nvec), size: nvec.length };
}

/** Holds every layer against the one before it, since the file may come from anyone. */
function checked(policy: Policy, bad: (why: string) => CorralError): Policy {
  let width = policy.observations;
  policy.layers.forEach(({ inputs, outputs, weight, bias }, i) => {
    if (i === policy.layers.length - 1 && policy.cell) width = policy.cell.size;
    if (inputs !== width || weight.length !== inputs * outputs || bias.length !== outputs)
      throw bad(`has a layer ${i} that does not fit the one before it`);
    width = outputs;
  });
  const { mean, inverseStd } = policy.normalizer;
  if (mean.length !== policy.observations || inverseStd.length !== policy.observations)
    throw bad(`has a normaliser of ${mean.length} numbers for ${policy.observations} observations`);
  return policy;
}
