// a policy as the exported ONNX, run by onnxruntime where it is installed
import { CorralError } from "../core/errors.ts";
import type { Policy } from "../rl/networks/policy.ts";

interface OrtTensor {
  readonly data: Float32Array | BigInt64Array;
  readonly dims: readonly number[];
}
/** What is used of onnxruntime. */
interface Ort {
  readonly InferenceSession: { create(bytes: Uint8Array): Promise<OrtSession> };
  readonly Tensor: new (type: "float32", data: Float32Array, dims: readonly number[]) => OrtTensor;
}
interface OrtSession {
  readonly inputNames: readonly string[];
  run(inputs: Readonly<Record<string, OrtTensor>>): Promise<Readonly<Record<string, OrtTensor>>>;
  release(): Promise<void>;
}

const PACKAGES: readonly string[] = ["onnxruntime-node", "onnxruntime-web"];

/** @throws CorralError no-onnxruntime */
export async function onnxruntime(): Promise<Ort> {
  for (const name of PACKAGES) {
    try {
      const found = (await import(name)) as Ort & { readonly default?: Ort };
      return found.InferenceSession ? found : found.default!;
    } catch {
      // the next may be there
    }
  }
  const text = `ONNX takes a runtime that corral does not bring along: npm install onnxruntime-web (or onnxruntime-node).`;
  throw new CorralError("no-onnxruntime", text, {});
}

/** Acts in worlds side by side; keeps what a policy with a memory remembers of each. */
export class OnnxActor implements AsyncDisposable {
  readonly #ort: Ort;
  readonly #session: OrtSession;
  readonly #seen: number;
  readonly #worlds: number;
  #hidden: OrtTensor | undefined;

  private constructor(ort: Ort, session: OrtSession, policy: Policy, worlds: number) {
    this.#ort = ort;
    this.#session = session;
    this.#seen = policy.observations;
    this.#worlds = worlds;
    const size = policy.cell?.stateSize ?? 0;
    if (size > 0) this.#hidden = new ort.Tensor("float32", new Float32Array(worlds * size), [worlds, size]);
  }

  /** @throws CorralError no-onnxruntime, and what the runtime throws for the bytes */
  static async create(bytes: Uint8Array, policy: Policy, worlds: number): Promise<OnnxActor> {
    const ort = await onnxruntime();
    return new OnnxActor(ort, await ort.InferenceSession.create(bytes), policy, worlds);
  }

  /** Observations [worlds, width] to actions [worlds, ...]; what the policy sees comes first in each row. */
  async act(observations: ArrayLike<number>): Promise<number[]> {
    const width = observations.length / this.#worlds;
    const seen = Float32Array.from(
      { length: this.#worlds * this.#seen },
      (_, i) => observations[Math.floor(i / this.#seen) * width + (i % this.#seen)],
    );
    const observation = new this.#ort.Tensor("float32", seen, [this.#worlds, this.#seen]);
    const out = await this.#session.run({ observation, ...(this.#hidden ? { hidden: this.#hidden } : {}) });
    if (this.#hidden) this.#hidden = out.next_hidden;
    return Array.from(out.action.data, Number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.release();
  }
}
