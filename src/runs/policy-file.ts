// a policy that stands in a safetensors file: what `corral export` writes, and the Python package from other learners' networks
import { readFileSync } from "node:fs";
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import { reasonOf } from "../core/write-bytes.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { isRegistered } from "../env/registry.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { decodeSafetensors } from "../io/safetensors.ts";
import { HIDDEN_ACTIVATIONS, type HiddenActivation } from "../rl/networks/activations.ts";
import type { NamedArray } from "../rl/networks/networks.ts";
import { cellKindOf, policyOf, type Policy } from "../rl/networks/policy.ts";

export const isPolicyFile = (path: string): boolean => /\.safetensors$/i.test(path);

/** Arrays by name, and what the file says of them. */
export interface PolicyFile {
  readonly path: string;
  /** The environment that it was trained in. */
  readonly env: string;
  readonly named: Readonly<Record<string, NamedArray>>;
  readonly metadata: Readonly<Record<string, string>>;
}

const refuse = (path: string, text: string): CorralError =>
  new CorralError(
    "bad-policy",
    `${path} is no policy: ${text}. Pass a file of corral export, or of corral.policies in Python.`,
    {
      path,
    },
  );

/**
 * Reads a file of a policy.
 * @throws CorralError bad-safetensors, bad-policy; no-policy if it cannot be read
 */
export function policyFile(path: string): PolicyFile {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const why = reasonOf(error);
    const help =
      why === "EISDIR"
        ? `Pass the path of a policy: corral export ${path} --format safetensors writes that of a run.`
        : "Pass the path of a policy.";
    throw new CorralError("no-policy", `${path === "" ? '""' : path} cannot be read: ${why}. ${help}`, { path });
  }
  const { tensors, metadata } = decodeSafetensors(bytes, path);
  const named: Record<string, NamedArray> = {};
  for (const [name, { shape, data }] of tensors) {
    if (!(data instanceof Float32Array)) throw refuse(path, `${name} is no float32`);
    const at = data.findIndex((x) => !Number.isFinite(x));
    if (at >= 0) throw refuse(path, `${name}[${at}] is ${data[at]}`);
    named[name] = { shape, data: Float32Array.from(data) };
  }
  const { env } = metadata;
  if (env === undefined) throw refuse(path, "its metadata names no env");
  return { path, env, named, metadata };
}

/**
 * The environment that a policy was trained in: one that is registered, never a path, since files come from elsewhere.
 * @throws CorralError unknown-env
 */
export function envOfPolicy({ path, env }: PolicyFile): string {
  if (isRegistered(env)) return env;
  const text = `${path} is a policy of ${show(env)}, which is no environment here. If that is a task of yours, pass its file: --env FILE of corral play and evaluate, corral render FILE --policy ${path}.`;
  throw new CorralError("unknown-env", text, { path, id: env });
}

/** A file of corral export; undefined for any other, such as a checkpoint. Throws what `policyFile` throws. */
export function exportedPolicy(path: string): PolicyFile | undefined {
  if (!isPolicyFile(path)) return undefined;
  try {
    const { metadata } = decodeSafetensors(readFileSync(path), path);
    if (metadata.producer === undefined) return undefined;
  } catch {
    return undefined;
  }
  return policyFile(path);
}

/**
 * The policy of a file for an environment, whose actions and observations it has to fit.
 * @throws CorralError bad-policy
 */
export function policyOfFile(file: PolicyFile, env: VectorEnv): Policy {
  return policyIn(file, env, env.observationGroups.policy?.size ?? env.singleObservationSpace.size);
}

/**
 * The same, of `seen` numbers of observations; by default whatever it sees.
 * @throws CorralError bad-policy
 */
export function policyIn({ path, named, metadata }: PolicyFile, env: VectorEnv, seen?: number): Policy {
  const { algo = "unknown", activation = "tanh", squash = "false", clip_observations: clip = "Infinity" } = metadata;
  const known = ["none", ...HIDDEN_ACTIVATIONS] as string[];
  if (!known.includes(activation))
    throw refuse(path, `its activation is ${show(activation)}, which is none of ${known.join(", ")}`);
  const clipObservations = Number(clip);
  if (!(clipObservations > 0)) throw refuse(path, `clip_observations is ${show(clip)}, which is no bound`);
  assertShapes(path, named);
  const policy = policyOf(named, {
    id: env.id,
    algo,
    space: env.singleActionSpace,
    activation: (activation === "none" ? "tanh" : activation) as HiddenActivation,
    squash: squash === "true",
    clipObservations,
  });
  const { observations, normalizer } = policy;
  if (observations !== (seen ?? observations))
    throw new CorralError(
      "bad-policy",
      `${path} does not fit ${env.id}: it sees ${observations} numbers, and ${seen} are shown. Pass the environment that it was trained in.`,
      { path, observations, seen },
    );
  if (normalizer.mean.length !== observations || normalizer.inverseStd.length !== observations)
    throw refuse(path, `it normalises ${normalizer.mean.length} numbers, and sees ${observations}`);
  return policy;
}

/**
 * The policy of a file for an environment, by default the one that it names: a world on the CPU knows what actions are; no
 * device is opened.
 * @throws CorralError no-policy, bad-safetensors, bad-policy, unknown-env
 */
export async function readPolicy(path: string, id?: string): Promise<Policy> {
  const file = policyFile(path);
  await using env = await makeVec(id ?? file.env, { numEnvs: 1, device: "cpu" } as NamedOptions);
  return policyOfFile(file, env);
}

/** Every layer takes what the one below it puts out. */
function assertShapes(path: string, named: PolicyFile["named"]): void {
  const kind = cellKindOf(named);
  const cell = kind && named[`policy.${kind}.hh.weight`]?.shape[1];
  const count = Object.keys(named).filter((name) => /^policy\.\d+\.weight$/.test(name)).length;
  let below: number | undefined;
  for (let i = 0; i < count; i++) {
    const weight = `policy.${i}.weight`;
    const bias = `policy.${i}.bias`;
    if (!Object.hasOwn(named, weight) || !Object.hasOwn(named, bias))
      throw refuse(path, `it has no ${weight} or no ${bias}`);
    const { shape } = named[weight];
    const inputs = cell !== undefined && i === count - 1 ? cell : below;
    if (shape.length !== 2 || (inputs !== undefined && shape[1] !== inputs))
      throw refuse(
        path,
        `${weight} has shape ${shape.join(" x ")}, and the layer below puts out ${inputs ?? "nothing"}`,
      );
    if (named[bias].data.length !== shape[0])
      throw refuse(path, `${bias} has ${named[bias].data.length} numbers for ${shape[0]} rows`);
    [below] = shape;
  }
}
