/**
 * Runs a policy that corral exported, on a GPUDevice of a browser or of Node. No dependencies.
 *
 *   const device = await (await navigator.gpu.requestAdapter()).requestDevice();
 *   const policy = await loadPolicy(device);
 *   const actions = await policy.act(observations); // Float32Array, rows of observations
 */

/** Fetches the files beside this one. `base`: where they are; `rows`: the most rows of observations of one call. */
export async function loadPolicy(device, { base = new URL("./", import.meta.url), rows = 1 } = {}) {
  const get = async (name) => {
    const response = await fetch(new URL(name, base));
    if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
    return response;
  };
  const [description, wgsl, weights] = await Promise.all([
    get("policy.json").then((response) => response.json()),
    get("policy.wgsl").then((response) => response.text()),
    get("policy.safetensors").then((response) => response.arrayBuffer()),
  ]);
  return Policy.create(device, { description, wgsl, weights, rows });
}

export class Policy {
  static async create(device, { description, wgsl, weights, rows = 1 }) {
    const module = device.createShaderModule({ label: "policy", code: wgsl });
    const pipeline = await device.createComputePipelineAsync({
      label: "policy",
      layout: "auto",
      compute: { module, entryPoint: "main" },
    });
    return new Policy(device, description, pipeline, weights, rows);
  }

  constructor(device, description, pipeline, weights, rows) {
    const { observations, actions, hidden = 0 } = description;
    const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = {
      MAP_READ: 1,
      COPY_SRC: 4,
      COPY_DST: 8,
      STORAGE: 128,
    };
    this.device = device;
    this.description = description;
    this.rows = rows;
    this.pipeline = pipeline;

    // safetensors: eight bytes with the length of the header, the header, the numbers
    const begin = 8 + new DataView(weights).getUint32(0, true);
    const numbers = new Uint8Array(weights, begin);
    const buffer = (label, size, usage) => device.createBuffer({ label, size, usage });
    this.weights = buffer("policy.weights", numbers.byteLength, STORAGE | COPY_DST);
    device.queue.writeBuffer(this.weights, 0, numbers);
    /** Rows of observations and of actions: bind them to your own kernels, or use `act`. */
    this.observations = buffer("policy.observations", 4 * rows * observations, STORAGE | COPY_DST | COPY_SRC);
    this.actions = buffer("policy.actions", 4 * rows * actions, STORAGE | COPY_SRC | COPY_DST);
    this.staging = buffer("policy.staging", 4 * rows * actions, MAP_READ | COPY_DST);
    /** What each row remembers, where the policy does; zeros at first. */
    this.hidden = hidden > 0 ? buffer("policy.hidden", 4 * rows * hidden, STORAGE | COPY_DST | COPY_SRC) : undefined;
    const bound = [this.weights, this.observations, this.actions, ...(this.hidden ? [this.hidden] : [])];
    this.group = device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: bound.map((one, binding) => ({ binding, resource: { buffer: one } })),
    });
  }

  /** Adds the policy to a compute pass: from `observations` to `actions`, without a copy to the host. */
  encode(pass, rows = this.rows) {
    if (!(rows >= 1 && rows <= this.rows))
      throw new RangeError(`rows is ${rows}; this policy has room for ${this.rows}`);
    pass.setPipeline(this.pipeline);
    pass.setBindGroup(0, this.group);
    pass.dispatchWorkgroups(Math.min(rows, 65535), Math.ceil(rows / 65535));
  }

  /** Forgets what rows remember, all of them or some: call it where episodes begin. */
  forget(rows = Array.from({ length: this.rows }, (_, row) => row)) {
    const { hidden = 0 } = this.description;
    if (!this.hidden) return;
    for (const row of rows) {
      if (!(row >= 0 && row < this.rows)) throw new RangeError(`row is ${row}; this policy has room for ${this.rows}`);
      this.device.queue.writeBuffer(this.hidden, 4 * row * hidden, new Float32Array(hidden));
    }
  }

  /** Actions for rows of observations. One call at a time; a policy that remembers takes a step of each row. */
  async act(observations) {
    const { device, description } = this;
    const rows = observations.length / description.observations;
    if (!Number.isInteger(rows)) {
      throw new RangeError(
        `${observations.length} numbers are no whole rows of ${description.observations} observations`,
      );
    }
    device.queue.writeBuffer(this.observations, 0, Float32Array.from(observations));
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    this.encode(pass, rows);
    pass.end();
    const bytes = 4 * rows * description.actions;
    encoder.copyBufferToBuffer(this.actions, 0, this.staging, 0, bytes);
    device.queue.submit([encoder.finish()]);
    await this.staging.mapAsync(1, 0, bytes);
    const copy = this.staging.getMappedRange(0, bytes).slice(0);
    this.staging.unmap();
    return description.kind === "box" ? new Float32Array(copy) : new Int32Array(copy);
  }

  close() {
    for (const buffer of [this.weights, this.observations, this.actions, this.staging, this.hidden]) buffer?.destroy();
  }
}
